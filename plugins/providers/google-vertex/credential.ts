/** Signs calls for Google with an access token, of a service account or of the identity of this machine. */
import type { Provider } from '../../../core/index.ts';
import { ExpiringCredential, signWith, type Fetched } from '../../shared/cloud/expiring-credential.ts';
import { loadOptional } from '../../shared/cloud/optional-package.ts';
import type { ServiceAccount } from './options.ts';

const scope = 'https://www.googleapis.com/auth/cloud-platform';
/** For how long a token is used that came without an expiry. */
const whenUnsaid = 10 * 60_000;

async function fetchHeaders(
  account: ServiceAccount | undefined,
): Promise<Fetched<Readonly<Record<string, string>>>> {
  const { GoogleAuth, JWT } = await loadOptional(
    'google-vertex',
    'google-auth-library',
    () => import('google-auth-library'),
  );
  // Created each time: a cached one would return a token that the vendor has already refused.
  const scopes = [scope];
  const client = account
    ? new JWT({ email: account.client_email, key: account.private_key, scopes })
    : await new GoogleAuth({ scopes }).getClient();
  const headers = await client.getRequestHeaders();
  return {
    value: Object.fromEntries(headers),
    expires: client.credentials.expiry_date ?? Date.now() + whenUnsaid,
  };
}

export function signWithToken(account: ServiceAccount | undefined): Pick<Provider, 'sign' | 'unwrap'> {
  return signWith(new ExpiringCredential('google-vertex', () => fetchHeaders(account)));
}
