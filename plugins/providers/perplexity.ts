/**
 * Perplexity; https://docs.perplexity.ai/api-reference.
 * It lists no models, so the key is probed by the list of asynchronous calls.
 */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const perplexity = defineChatProvider('perplexity', 'PERPLEXITY', 'https://api.perplexity.ai', {
  probe: { path: '/async/chat/completions' },
});
