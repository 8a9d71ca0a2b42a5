/**
 * A credential of your own: this one accepts `Authorization: Basic`, as in `curl --user anyone:sk-…`, with
 * the key as the password. It asks the keyrings whose key it is, and need not know where keys are stored.
 */
import { definePlugin, GatewayError } from 'tollgate';

function readPassword(authorization = ''): string | undefined {
  const encoded = /^Basic +([\w+/=]+)$/i.exec(authorization)?.[1];
  const pair = Buffer.from(encoded ?? '', 'base64').toString();
  return pair.includes(':') ? pair.slice(pair.indexOf(':') + 1) : undefined;
}

export const basic = definePlugin({
  name: 'basic',
  apply({ hooks, keyrings, credentials }) {
    // For `/openapi.json`, which says how clients send their keys.
    credentials.add({ name: 'basic', openapi: { basic: { type: 'http', scheme: 'basic' } } });
    hooks.authenticate.tapPromise('basic', async ({ headers }) => {
      const secret = readPassword(headers.authorization);
      // Undefined: not a credential of this kind, so the next plugin looks. From here on it is, and may be
      // invalid.
      if (secret === undefined) return undefined;
      for (const keyring of keyrings.list()) {
        const principal = await keyring.verify(secret);
        if (principal) return principal;
      }
      throw new GatewayError('invalid_api_key', 'The password is not a key of this gateway.');
    });
  },
});
