/** DeepSeek; https://api-docs.deepseek.com. */
import { defineProvider } from '../../core/index.ts';

export const deepseek = defineProvider({
  name: 'deepseek',
  env: { key: 'DEEPSEEK_API_KEY', baseUrl: 'DEEPSEEK_BASE_URL' },
  baseUrl: 'https://api.deepseek.com/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/deepseek.json', import.meta.url),
  probe: { path: '/models' },
});
