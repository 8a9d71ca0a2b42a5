/** Mistral; https://docs.mistral.ai/api. */
import { chatProvider } from '../shared/chat-provider.ts';

export const mistral = chatProvider('mistral', 'MISTRAL', 'https://api.mistral.ai/v1');
