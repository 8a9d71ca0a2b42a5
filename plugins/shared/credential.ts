/**
 * What every credential scheme does once it has found a secret: ask whoever knows keys, in order. A secret that
 * nobody knows is refused here, so that it is never tried again as something else.
 */
import { GatewayError, type Host, type Principal } from '../../core/index.ts';

/** Whose secret it is. Throws `invalid_api_key`, never naming the secret, where no keyring knows it. */
export async function principalOf({ keyrings }: Host, secret: string): Promise<Principal> {
  for (const keyring of keyrings.all()) {
    const principal = await keyring.verify(secret);
    if (principal) return principal;
  }
  throw new GatewayError('invalid_api_key', 'The API key is invalid, disabled or expired.');
}
