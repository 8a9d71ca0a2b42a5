/** Cohere, by its compatibility API; https://docs.cohere.com/docs/compatibility-api. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const cohere = defineChatProvider('cohere', 'COHERE', 'https://api.cohere.ai/compatibility/v1', {
  besides: { 'cohere-embed': '/../../v2/embed', 'cohere-rerank': '/../../v2/rerank' },
});
