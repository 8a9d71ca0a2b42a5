/** Mistral; https://docs.mistral.ai/api. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const mistral = defineChatProvider('mistral', 'MISTRAL', 'https://api.mistral.ai/v1', {
  besides: { 'mistral-fim': '/fim/completions', 'mistral-embed': '/embeddings', moderations: '/moderations' },
  // A text to continue is no message.
  choose: ({ turns }) => (turns[0]?.at === 'prompt' ? 'mistral-fim' : 'chat-completions'),
});
