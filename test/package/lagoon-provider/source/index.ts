/**
 * Plugins as somebody else publishes them, built from TypeScript: a provider that lists its own models, and a
 * witness.
 */
import { definePlugin, GatewayError, type Endpoint } from 'tollgate';
import { defineProvider } from 'tollgate/kit';
import { protocol } from 'tollgate/plugins/protocols/chat-completions';
import { z } from 'zod';

const choosePath: Endpoint = (_target, operation) => (operation === 'count' ? '/count' : '/chat/completions');

export const lagoon = defineProvider({
  name: 'lagoon',
  env: { key: 'LAGOON_API_KEY', baseUrl: 'LAGOON_BASE_URL' },
  endpoints: { 'chat-completions': choosePath },
  models: { discover: '/models' },
});

/**
 * Tells at an address whether the core this package sees is the one that runs: its errors, and its registry's
 * protocol.
 */
export const witness = definePlugin({
  name: 'witness',
  options: z.strictObject({
    path: z.string().startsWith('/').default('/witness'),
    errorClass: z.custom<typeof GatewayError>(),
  }),
  apply({ hooks, protocols, routes }, { path, errorClass }) {
    const seen: boolean[] = [];
    hooks.observe.tapPromise('witness', async (end) => {
      if (end.type === 'refused')
        seen.push(end.error instanceof GatewayError, end.error instanceof errorClass);
    });
    routes.add({
      name: 'witness',
      method: 'GET',
      path,
      access: 'public',
      encodeError: () => ({ status: 500, body: 'failed' }),
      handle: async () => ({
        status: 200,
        body: { errors: seen, protocol: protocols.get('chat-completions') === protocol },
      }),
    });
  },
});
