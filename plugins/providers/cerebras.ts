/** Cerebras; https://inference-docs.cerebras.ai/resources/openai. */
import { defineProvider } from '../../core/index.ts';

export const cerebras = defineProvider({
  name: 'cerebras',
  env: { key: 'CEREBRAS_API_KEY', baseUrl: 'CEREBRAS_BASE_URL' },
  baseUrl: 'https://api.cerebras.ai/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/cerebras.json', import.meta.url),
  probe: { path: '/models' },
});
