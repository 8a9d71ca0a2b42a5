/** Moonshot AI (Kimi); https://platform.moonshot.ai/docs/api/chat. */
import { defineProvider } from '../../core/index.ts';

export const moonshot = defineProvider({
  name: 'moonshot',
  env: { key: 'MOONSHOT_API_KEY', baseUrl: 'MOONSHOT_BASE_URL' },
  baseUrl: 'https://api.moonshot.ai/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/moonshot.json', import.meta.url),
  probe: { path: '/models' },
});
