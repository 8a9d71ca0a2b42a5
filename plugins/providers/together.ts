/**
 * Together AI; https://docs.together.ai/docs/inference/openai-compatibility. Its model ids name the owner
 * already.
 */
import { defineProvider } from '../../core/index.ts';

export const together = defineProvider({
  name: 'together',
  env: { key: 'TOGETHER_API_KEY', baseUrl: 'TOGETHER_BASE_URL' },
  baseUrl: 'https://api.together.ai/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/together.json', import.meta.url),
  probe: { path: '/models' },
});
