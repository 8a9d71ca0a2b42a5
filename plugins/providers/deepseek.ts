/** DeepSeek; https://api-docs.deepseek.com. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const deepseek = defineChatProvider('deepseek', 'DEEPSEEK', 'https://api.deepseek.com/v1');
