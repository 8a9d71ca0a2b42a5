/** Hugging Face Inference Providers; https://huggingface.co/docs/inference-providers. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const huggingface = defineChatProvider('huggingface', 'HF', 'https://router.huggingface.co/v1', {
  env: { key: 'HF_TOKEN', baseUrl: 'HF_BASE_URL' },
});
