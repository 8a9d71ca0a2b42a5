/**
 * Groq; https://console.groq.com/docs/openai. Its responses endpoint is in beta and refuses fields it lacks,
 * so chat-completions alone is used.
 */
import { chatProvider } from '../shared/chat-provider.ts';

export const groq = chatProvider('groq', 'GROQ', 'https://api.groq.com/openai/v1');
