/**
 * What all credential schemes share: each looks for a secret in the headers of its families' calls, and asks
 * the keyrings in order. An unknown secret is refused here, so that no other scheme tries it again.
 */
import { z } from 'zod';
import {
  definePlugin,
  GatewayError,
  type Credential,
  type Host,
  type Keyring,
  type Principal,
  type Received,
  type TapPlace,
} from '../../core/index.ts';

const options = z.strictObject({
  /** Names of protocols, and of plugins with routes, that accept the credential. */
  families: z.array(z.string()).min(1).optional(),
});

interface Scheme extends TapPlace, Pick<Credential, 'openapi'> {
  /** The families that accept it if the operator names none, installed or not; all families if absent. */
  readonly usual?: readonly string[];
  /** The secret that a call shows; undefined or empty if it shows none of this scheme. */
  findSecret(received: Received): string | undefined;
}

/** Makes a plugin that authenticates callers who show a secret by this scheme. */
export function defineCredential({ usual, openapi, findSecret, ...place }: Scheme) {
  return definePlugin({
    name: place.name,
    options,
    apply(host, { families: named }) {
      const families = named ?? usual;
      host.credentials.add({ name: place.name, families, openapi });
      host.onApplied(() => checkFamilies(host, named ?? []));
      host.hooks.authenticate.tapPromise(place, (received) => {
        const secret = !families || families.includes(received.family) ? findSecret(received) : undefined;
        return secret ? findPrincipal(host.keyrings.list(), secret) : undefined;
      });
    },
  });
}

/** Throws if a family does not exist: a typing error would lock everybody out, and nothing would say why. */
function checkFamilies({ protocols, routes }: Host, named: readonly string[]): void {
  const guarded = [...routes.list()].filter(({ access }) => access !== 'public');
  const existing = new Set([
    ...[...protocols.list()].map(({ name }) => name),
    ...guarded.map((route) => routes.getOwner(route)),
  ]);
  const unknown = named.find((family) => !existing.has(family));
  if (unknown !== undefined)
    throw new Error(
      `option "families": "${unknown}" does not exist; these do: ${[...existing].join(', ') || 'none'}`,
    );
}

/**
 * The owner of the secret; a promise only if a keyring has to look. Throws `invalid_api_key` without the
 * secret if no keyring knows it.
 */
function findPrincipal(keyrings: Iterator<Keyring>, secret: string): Principal | Promise<Principal> {
  for (let next = keyrings.next(); !next.done; next = keyrings.next()) {
    const found = next.value.verify(secret);
    if (found instanceof Promise)
      return found.then((principal) => principal ?? findPrincipal(keyrings, secret));
    if (found) return found;
  }
  throw new GatewayError('invalid_api_key', 'The API key is invalid, disabled or expired.');
}
