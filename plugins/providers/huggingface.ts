/** Hugging Face Inference Providers; https://huggingface.co/docs/inference-providers. */
import { defineProvider } from '../../core/index.ts';

export const huggingface = defineProvider({
  name: 'huggingface',
  env: { key: 'HF_TOKEN', baseUrl: 'HF_BASE_URL' },
  baseUrl: 'https://router.huggingface.co/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/huggingface.json', import.meta.url),
  probe: { path: '/models' },
});
