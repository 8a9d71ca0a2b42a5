/**
 * Perplexity; https://docs.perplexity.ai/api-reference.
 * It lists no models, so the key is probed by the list of asynchronous calls.
 */
import { defineProvider } from '../../core/index.ts';

export const perplexity = defineProvider({
  name: 'perplexity',
  env: { key: 'PERPLEXITY_API_KEY', baseUrl: 'PERPLEXITY_BASE_URL' },
  baseUrl: 'https://api.perplexity.ai',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/perplexity.json', import.meta.url),
  probe: { path: '/async/chat/completions' },
});
