/** OpenAI: chat-completions, responses and images; https://platform.openai.com/docs/api-reference. */
import { chooseWire } from '../shared/openai/choose-wire.ts';
import { responsesPaths } from '../shared/openai/responses-paths.ts';
import { defineProvider } from '../shared/provider/define-provider.ts';

export const openai = defineProvider({
  name: 'openai',
  env: { key: 'OPENAI_API_KEY', baseUrl: 'OPENAI_BASE_URL' },
  baseUrl: 'https://api.openai.com/v1',
  endpoints: {
    'chat-completions': '/chat/completions',
    responses: (_target, operation) => `/responses${responsesPaths[operation] ?? ''}`,
    images: (_target, operation) => (operation === 'edit' ? '/images/edits' : '/images/generations'),
    embeddings: '/embeddings',
    completions: '/completions',
    moderations: '/moderations',
  },
  choose: chooseWire,
  // https://eu.api.openai.com/v1 and its like keep data in a region.
  isRegional: (baseUrl) => /^https:\/\/[a-z]{2}\.api\.openai\.com(\/|$)/.test(baseUrl),
  models: new URL('catalogue/openai.json', import.meta.url),
  probe: { path: '/models' },
});
