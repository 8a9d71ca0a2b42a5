/**
 * Together AI; https://docs.together.ai/docs/inference/openai-compatibility. Its model ids name the owner
 * already.
 */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const together = defineChatProvider('together', 'TOGETHER', 'https://api.together.ai/v1', {
  besides: { embeddings: '/embeddings', rerank: '/rerank' },
});
