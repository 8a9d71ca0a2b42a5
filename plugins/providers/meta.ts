/** Meta (Muse); https://dev.meta.ai/docs. */
import { defineProvider } from '../../core/index.ts';
import { chooseWire } from '../shared/wire-kit/choose-openai-wire.ts';

export const meta = defineProvider({
  name: 'meta',
  env: { key: 'META_API_KEY', baseUrl: 'META_BASE_URL' },
  baseUrl: 'https://api.meta.ai/v1',
  endpoints: { responses: '/responses', 'chat-completions': '/chat/completions' },
  choose: chooseWire,
  models: new URL('catalogue/meta.json', import.meta.url),
  probe: { path: '/models' },
});
