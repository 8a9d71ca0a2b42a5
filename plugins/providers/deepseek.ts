/** DeepSeek; https://api-docs.deepseek.com. */
import { chatProvider } from '../shared/chat-provider.ts';

export const deepseek = chatProvider('deepseek', 'DEEPSEEK', 'https://api.deepseek.com/v1');
