/**
 * Signs calls for Azure: with the resource's key, or with a token of Entra ID for the identity of this
 * machine.
 */
import type { Provider } from '../../../core/index.ts';
import { Lapsing, type Fetched } from '../../shared/cloud/lapsing.ts';
import { loadOptional } from '../../shared/cloud/optional-package.ts';

const scope = 'https://cognitiveservices.azure.com/.default';

type Signing = Pick<Provider, 'sign' | 'unwrap'>;

export function withKey(key: string): Signing {
  return { sign: (request) => ({ ...request, headers: { ...request.headers, 'api-key': key } }) };
}

async function fetchToken(): Promise<Fetched<string>> {
  const { DefaultAzureCredential } = await loadOptional(
    'azure',
    '@azure/identity',
    () => import('@azure/identity'),
  );
  const { token, expiresOnTimestamp } = await new DefaultAzureCredential().getToken(scope);
  return { value: token, expires: expiresOnTimestamp };
}

export function signedIn(): Signing {
  const token = new Lapsing('azure', fetchToken);
  return {
    sign: async (request) => ({
      ...request,
      headers: { ...request.headers, authorization: `Bearer ${await token.get()}` },
    }),
    unwrap(response) {
      if (response.status === 401) token.forget();
      return response;
    },
  };
}
