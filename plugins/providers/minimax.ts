/** MiniMax; https://platform.minimax.io/docs/api-reference/text-openai-api. */
import { chatProvider } from '../shared/chat-provider.ts';

export const minimax = chatProvider('minimax', 'MINIMAX', 'https://api.minimax.io/v1');
