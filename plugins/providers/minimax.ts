/** MiniMax; https://platform.minimax.io/docs/api-reference/text-openai-api. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const minimax = defineChatProvider('minimax', 'MINIMAX', 'https://api.minimax.io/v1');
