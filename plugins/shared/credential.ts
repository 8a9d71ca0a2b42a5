/**
 * What every credential scheme does: it looks for a secret in the heads of calls of its families, and asks whoever
 * knows keys, in order. A secret that nobody knows is refused here, so that it is never tried again as something else.
 */
import { z } from 'zod';
import { GatewayError, type Credential, type Host, type Principal, type Received, type TapPlace } from '../../core/index.ts';

/** The protocols, and plugins with routes, that take a credential. */
export const familiesSchema = z.array(z.string()).min(1).optional();

interface Scheme extends TapPlace, Pick<Credential, 'openapi'> {
  /** The families that the operator named. */
  readonly named: z.output<typeof familiesSchema>;
  /** Those that take it where none was named, be they there or not; all where absent. */
  readonly usual?: readonly string[];
  /** The secret a call shows; undefined or empty: none of this scheme. */
  secretIn(received: Received): string | undefined;
}

/** Lets in whoever shows a secret by this scheme. */
export function takeCredential(host: Host, { named, usual, openapi, secretIn, ...place }: Scheme): void {
  const families = named ?? usual;
  host.credentials.add({ name: place.name, families, openapi });
  host.applied(() => checkFamilies(host, named ?? []));
  host.hooks.authenticate.tapPromise(place, async (received) => {
    const secret = !families || families.includes(received.family) ? secretIn(received) : undefined;
    return secret ? principalOf(host, secret) : undefined;
  });
}

/** A family that is not there would keep everybody out, in silence. */
function checkFamilies({ protocols, routes, familyOf }: Host, named: readonly string[]): void {
  const guarded = [...routes.all()].filter(({ access }) => access !== 'public');
  const there = new Set([...[...protocols.all()].map(({ name }) => name), ...guarded.map(familyOf)]);
  const unknown = named.find((family) => !there.has(family));
  if (unknown !== undefined) throw new Error(`option "families": there is no "${unknown}"; there are: ${[...there].join(', ') || 'none'}`);
}

/** Whose secret it is. Throws `invalid_api_key`, never naming the secret, where no keyring knows it. */
async function principalOf({ keyrings }: Host, secret: string): Promise<Principal> {
  for (const keyring of keyrings.all()) {
    const principal = await keyring.verify(secret);
    if (principal) return principal;
  }
  throw new GatewayError('invalid_api_key', 'The API key is invalid, disabled or expired.');
}
