/** Who may use an address, and which models: user keys call models and see their own account, operator keys run the gateway and spend nothing. */
import { GatewayError } from '../errors.ts';
import type { Principal, Replay, Target } from '../exchange.ts';
import { modelHeader } from './reply-headers.ts';

/** Throws `invalid_api_key` where nobody was recognised, and `forbidden` where the key is of the other kind. */
export function admitted(principal: Principal | undefined, access: Principal['kind']): Principal {
  if (!principal)
    throw new GatewayError('invalid_api_key', 'No API key was sent. Send `Authorization: Bearer <key>`.');
  if (principal.kind !== access)
    throw new GatewayError(
      'forbidden',
      `This address is for ${access} keys, and this is one of the other kind.`,
    );
  return principal;
}

function covers(pattern: string, model: string): boolean {
  return pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : model === pattern;
}

function mayCall({ models }: Principal, model: string): boolean {
  return !models || models.some((pattern) => covers(pattern, model));
}

function forbidden({ key, models = [] }: Principal): GatewayError {
  return new GatewayError(
    'forbidden',
    `The API key ${key} may not call this model; it may call ${models.join(', ')}.`,
    { param: 'model' },
  );
}

/** The targets whose models the principal may call. Throws `forbidden` where none is left. */
export function permitted(targets: readonly Target[], principal: Principal): readonly Target[] {
  if (!principal.models) return targets;
  const left = targets.filter(({ model }) => mayCall(principal, model.id));
  if (left.length === 0) throw forbidden(principal);
  return left;
}

/** Throws `forbidden` where the principal may not call the model that gave a stored reply; it is `asked` where the reply does not name it. */
export function checkReplay({ headers }: Replay, principal: Principal, asked: string): void {
  if (!mayCall(principal, headers[modelHeader] ?? asked)) throw forbidden(principal);
}
