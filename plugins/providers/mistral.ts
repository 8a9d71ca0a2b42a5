/** Mistral; https://docs.mistral.ai/api. */
import { defineProvider } from '../../core/index.ts';

export const mistral = defineProvider({
  name: 'mistral',
  env: { key: 'MISTRAL_API_KEY', baseUrl: 'MISTRAL_BASE_URL' },
  baseUrl: 'https://api.mistral.ai/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/mistral.json', import.meta.url),
  probe: { path: '/models' },
});
