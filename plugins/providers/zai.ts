/** Z.AI (GLM); https://docs.z.ai/api-reference. */
import { defineProvider } from '../../core/index.ts';

export const zai = defineProvider({
  name: 'zai',
  env: { key: 'ZAI_API_KEY', baseUrl: 'ZAI_BASE_URL' },
  baseUrl: 'https://api.z.ai/api/paas/v4',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/zai.json', import.meta.url),
  probe: { path: '/models' },
});
