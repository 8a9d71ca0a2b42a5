/**
 * Signs calls for Azure: with the resource's key, or with a token of Entra ID for the identity of this
 * machine.
 */
import type { Provider } from '../../../core/index.ts';
import { ExpiringCredential, signWith, type Fetched } from '../../shared/cloud/expiring-credential.ts';
import { loadOptional } from '../../shared/cloud/optional-package.ts';

const scope = 'https://cognitiveservices.azure.com/.default';

type Signing = Pick<Provider, 'sign' | 'unwrap'>;

export function signWithKey(key: string): Signing {
  return { sign: (request) => ({ ...request, headers: { ...request.headers, 'api-key': key } }) };
}

async function fetchHeaders(): Promise<Fetched<Record<string, string>>> {
  const { DefaultAzureCredential } = await loadOptional(
    'azure',
    '@azure/identity',
    () => import('@azure/identity'),
  );
  const { token, expiresOnTimestamp } = await new DefaultAzureCredential().getToken(scope);
  return { value: { authorization: `Bearer ${token}` }, expires: expiresOnTimestamp };
}

export function signWithToken(): Signing {
  return signWith(new ExpiringCredential('azure', fetchHeaders));
}
