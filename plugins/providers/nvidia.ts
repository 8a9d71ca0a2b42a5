/** NVIDIA NIM; https://docs.api.nvidia.com/nim. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const nvidia = defineChatProvider('nvidia', 'NVIDIA', 'https://integrate.api.nvidia.com/v1', {
  besides: { 'nvidia-embed': '/embeddings' },
});
