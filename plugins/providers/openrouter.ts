/**
 * OpenRouter; https://openrouter.ai/docs/api-reference. Its list of models states their prices and changes
 * daily, so it is read from the vendor.
 */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const openrouter = defineChatProvider('openrouter', 'OPENROUTER', 'https://openrouter.ai/api/v1', {
  besides: { embeddings: '/embeddings' },
  models: { discover: '/models' },
  routes: true,
  // Its list of models is public, so the key is probed at another address.
  probe: { path: '/key' },
});
