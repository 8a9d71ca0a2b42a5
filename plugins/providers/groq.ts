/**
 * Groq; https://console.groq.com/docs/openai. Its responses endpoint is in beta and refuses fields it lacks,
 * so chat-completions alone is used.
 */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const groq = defineChatProvider('groq', 'GROQ', 'https://api.groq.com/openai/v1');
