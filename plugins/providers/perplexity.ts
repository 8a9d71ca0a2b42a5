/**
 * Perplexity; https://docs.perplexity.ai/api-reference.
 * It lists no models, so the key is probed by the list of asynchronous calls.
 */
import { chatProvider } from '../shared/chat-provider.ts';

export const perplexity = chatProvider('perplexity', 'PERPLEXITY', 'https://api.perplexity.ai', {
  probe: { path: '/async/chat/completions' },
});
