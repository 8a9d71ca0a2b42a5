/**
 * xAI; https://docs.x.ai/docs/api-reference. Its multi-agent model is served by the responses endpoint alone.
 */
import { defineProvider } from '../../core/index.ts';
import { chooseWire } from '../shared/wire-kit/choose-openai-wire.ts';

export const xai = defineProvider({
  name: 'xai',
  env: { key: 'XAI_API_KEY', baseUrl: 'XAI_BASE_URL' },
  baseUrl: 'https://api.x.ai/v1',
  endpoints: { 'chat-completions': '/chat/completions', responses: '/responses' },
  choose: chooseWire,
  models: new URL('catalogue/xai.json', import.meta.url),
  probe: { path: '/models' },
});
