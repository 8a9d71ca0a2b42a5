/** Cohere, by its compatibility API; https://docs.cohere.com/docs/compatibility-api. */
import { chatProvider } from '../shared/chat-provider.ts';

export const cohere = chatProvider('cohere', 'COHERE', 'https://api.cohere.ai/compatibility/v1');
