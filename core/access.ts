/** Whom an address is for: users' keys call models and see their own account, operators' run the gateway and spend nothing. */
import { GatewayError } from './errors.ts';
import type { Principal } from './exchange.ts';

/** Throws `invalid_api_key` where nobody was recognised, and `forbidden` where the key is of the other kind. */
export function admitted(principal: Principal | undefined, access: Principal['kind']): Principal {
  if (!principal) throw new GatewayError('invalid_api_key', 'No API key was sent. Send `Authorization: Bearer <key>`.');
  if (principal.kind !== access) throw new GatewayError('forbidden', `This address is for ${access} keys, and this is one of the other kind.`);
  return principal;
}
