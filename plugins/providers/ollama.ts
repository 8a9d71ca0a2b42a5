/** Ollama on your own machine. Set `OLLAMA_BASE_URL`, with `/v1`: `http://127.0.0.1:11434/v1`. */
import { defineProvider } from '../../core/index.ts';

export const ollama = defineProvider({
  name: 'ollama',
  env: { key: 'OLLAMA_API_KEY', baseUrl: 'OLLAMA_BASE_URL' },
  endpoints: { 'chat-completions': '/chat/completions' },
  models: { discover: '/models' },
  // It may load the model first.
  patience: { firstEvent: 300_000, reply: 600_000 },
});
