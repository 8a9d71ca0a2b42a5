/** MiniMax; https://platform.minimax.io/docs/api-reference/text-openai-api. */
import { defineProvider } from '../../core/index.ts';

export const minimax = defineProvider({
  name: 'minimax',
  env: { key: 'MINIMAX_API_KEY', baseUrl: 'MINIMAX_BASE_URL' },
  baseUrl: 'https://api.minimax.io/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/minimax.json', import.meta.url),
  probe: { path: '/models' },
});
