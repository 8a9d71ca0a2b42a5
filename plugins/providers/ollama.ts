/** Ollama on your own machine. Set `OLLAMA_BASE_URL`, with `/v1`: `http://127.0.0.1:11434/v1`. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const ollama = defineChatProvider('ollama', 'OLLAMA', undefined, {
  besides: { completions: '/completions', 'ollama-embed': '/../api/embed' },
  models: { discover: '/models' },
  // It may load the model first.
  patience: { firstEvent: 300_000, reply: 600_000 },
});
