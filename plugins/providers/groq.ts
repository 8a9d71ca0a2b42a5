/**
 * Groq; https://console.groq.com/docs/openai. Its responses endpoint is in beta and refuses fields it lacks,
 * so chat-completions alone is used.
 */
import { defineProvider } from '../../core/index.ts';

export const groq = defineProvider({
  name: 'groq',
  env: { key: 'GROQ_API_KEY', baseUrl: 'GROQ_BASE_URL' },
  baseUrl: 'https://api.groq.com/openai/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('catalogue/groq.json', import.meta.url),
  probe: { path: '/models' },
});
