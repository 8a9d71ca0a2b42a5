/** Anthropic: messages and their token count; https://docs.anthropic.com/en/api. */
import { defineProvider } from '../shared/provider/define-provider.ts';

export const anthropic = defineProvider({
  name: 'anthropic',
  env: { key: 'ANTHROPIC_API_KEY', baseUrl: 'ANTHROPIC_BASE_URL' },
  baseUrl: 'https://api.anthropic.com',
  endpoints: {
    messages: (_target, operation) => (operation === 'count' ? '/v1/messages/count_tokens' : '/v1/messages'),
  },
  models: new URL('catalogue/anthropic.json', import.meta.url),
  probe: { path: '/v1/models', headers: { 'anthropic-version': '2023-06-01' } },
  // The version header comes from the protocol, or from the client if its request passes unchanged.
  buildCredential: (key) => ({ 'x-api-key': key }),
});
