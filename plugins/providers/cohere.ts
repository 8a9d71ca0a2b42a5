/** Cohere, by its compatibility API; https://docs.cohere.com/docs/compatibility-api. */
import { defineProvider } from '../../core/index.ts';

export const cohere = defineProvider({
  name: 'cohere',
  env: { key: 'COHERE_API_KEY', baseUrl: 'COHERE_BASE_URL' },
  baseUrl: 'https://api.cohere.ai/compatibility/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/cohere.json', import.meta.url),
  probe: { path: '/models' },
});
