/** Fireworks AI; https://docs.fireworks.ai/tools-sdks/openai-compatibility. */
import { defineProvider } from '../../core/index.ts';

export const fireworks = defineProvider({
  name: 'fireworks',
  env: { key: 'FIREWORKS_API_KEY', baseUrl: 'FIREWORKS_BASE_URL' },
  baseUrl: 'https://api.fireworks.ai/inference/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/fireworks.json', import.meta.url),
  probe: { path: '/models' },
});
