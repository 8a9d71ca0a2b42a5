/**
 * A credential scheme of your own: this one takes `Authorization: Basic`, as in `curl --user anyone:sk-…`,
 * with the key as the password. It finds the secret and asks the keyrings whose it is; where keys are kept is
 * not its concern.
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
    // For /openapi.json, where clients read how to show their keys.
    credentials.add({ name: 'basic', openapi: { basic: { type: 'http', scheme: 'basic' } } });
    hooks.authenticate.tapPromise('basic', async ({ headers }) => {
      const secret = readPassword(headers.authorization);
      // Undefined: not a credential of this scheme, let another look. From here on it is ours, and may be
      // bad.
      if (secret === undefined) return undefined;
      for (const keyring of keyrings.list()) {
        const principal = await keyring.verify(secret);
        if (principal) return principal;
      }
      throw new GatewayError('invalid_api_key', 'The password is not a key of this gateway.');
    });
  },
});
