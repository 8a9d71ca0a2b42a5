/**
 * Checks what a key may do. User keys call models and see their own account. Operator keys run the gateway
 * and cannot call models.
 */
import { BlockList, isIP } from 'node:net';
import type { Principal, Replay, Target } from '../exchange.ts';
import { GatewayError } from '../util/errors.ts';
import { modelHeader } from './reply-headers.ts';

/**
 * Throws `invalid_api_key` without a known key, `forbidden` if it is of the other kind or may only read, or
 * if the role of its person is not among `roles`.
 */
export function requireAccess(
  principal: Principal | undefined,
  access: Principal['kind'],
  method: string,
  roles: readonly string[] = ['owner'],
): Principal {
  if (!principal)
    throw new GatewayError('invalid_api_key', 'No API key was sent. Send `Authorization: Bearer <key>`.');
  if (principal.kind !== access)
    throw new GatewayError(
      'forbidden',
      `This endpoint needs ${addArticle(access)} key; ${addArticle(principal.kind)} key was sent.`,
    );
  const { role } = principal.person ?? {};
  if (access === 'operator' && role !== undefined && !roles.includes(role))
    throw new GatewayError(
      'forbidden',
      `Your role "${role}" may not do this; it takes ${roles.join(' or ')}.`,
    );
  if (principal.readOnly && method !== 'GET' && method !== 'HEAD')
    throw new GatewayError('forbidden', 'This operator key may only read. Use a key that may also change.');
  return principal;
}

/** A request, as far as a key can be limited to it. */
interface Use {
  readonly address: string;
  /** The name of its protocol; undefined if every key may send it. */
  readonly family: string | undefined;
  readonly operation: string | undefined;
}

/** An IPv4 address in IPv6 notation counts as what it is. */
function isWithin(networks: readonly string[], address: string): boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [start = '', length] = network.split('/');
    list.addSubnet(start, Number(length), isIP(start) === 6 ? 'ipv6' : 'ipv4');
  }
  const [bare = ''] = address.split('%');
  const version = isIP(bare);
  return version !== 0 && list.check(bare, version === 6 ? 'ipv6' : 'ipv4');
}

/** Throws `forbidden` if the key is limited to other networks, protocols or operations. */
export function checkPermits({ key, permits }: Principal, use: Use): void {
  if (!permits) return;
  const { networks, protocols, operations } = permits;
  const { address, family, operation } = use;
  const refuse = (fault: string): GatewayError =>
    new GatewayError('forbidden', `The API key ${key} may not be used ${fault}.`);
  // It does not name the networks: a thief of the key would learn them.
  if (networks && !isWithin(networks, address)) throw refuse(`from ${address || 'an unknown address'}`);
  if (protocols && family !== undefined && !protocols.includes(family))
    throw refuse(`with the protocol ${family}, only with ${protocols.join(', ')}`);
  if (operations && operation !== undefined && !operations.includes(operation))
    throw refuse(`for the operation ${operation}, only for ${operations.join(', ')}`);
}

function addArticle(kind: Principal['kind']): string {
  return kind === 'user' ? 'a user' : 'an operator';
}

function matchesPattern(pattern: string, model: string): boolean {
  return pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : model === pattern;
}

/** Whether the key's limits allow a model, by its id. */
export function mayCall({ models }: Pick<Principal, 'models'>, model: string): boolean {
  return !models || models.some((pattern) => matchesPattern(pattern, model));
}

function toForbiddenError({ key, models = [] }: Principal): GatewayError {
  return new GatewayError(
    'forbidden',
    `The API key ${key} may not call this model; it may call ${models.join(', ')}.`,
    { param: 'model' },
  );
}

/** The targets whose models the key may call. Throws `forbidden` if none remains. */
export function filterPermitted(targets: readonly Target[], principal: Principal): readonly Target[] {
  if (!principal.models) return targets;
  const allowed = targets.filter(({ model }) => mayCall(principal, model.id));
  if (allowed.length === 0) throw toForbiddenError(principal);
  return allowed;
}

/**
 * Throws `forbidden` if the key may not call the model that produced the stored reply. If the reply does not
 * name that model, `asked` is checked instead.
 */
export function checkReplay({ headers }: Replay, principal: Principal, asked: string): void {
  if (!mayCall(principal, headers[modelHeader] ?? asked)) throw toForbiddenError(principal);
}
