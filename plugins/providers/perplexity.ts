/**
 * Perplexity's Agent API, which is OpenAI's responses with tools and items of its own;
 * https://docs.perplexity.ai/api-reference/agent-post. Its list of models needs no key, so the key is probed
 * by a response that does not exist.
 */
import { defineProvider } from '../shared/provider/define-provider.ts';

export const perplexity = defineProvider({
  name: 'perplexity',
  env: { key: 'PERPLEXITY_API_KEY', baseUrl: 'PERPLEXITY_BASE_URL' },
  baseUrl: 'https://api.perplexity.ai/v1',
  endpoints: { responses: '/responses' },
  models: new URL('catalogue/perplexity.json', import.meta.url),
  probe: { path: '/agent/resp_none', missing: true },
});
