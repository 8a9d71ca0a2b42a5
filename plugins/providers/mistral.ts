/** Mistral; https://docs.mistral.ai/api. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const mistral = defineChatProvider('mistral', 'MISTRAL', 'https://api.mistral.ai/v1');
