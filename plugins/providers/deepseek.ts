/** DeepSeek; https://api-docs.deepseek.com. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const deepseek = defineChatProvider('deepseek', 'DEEPSEEK', 'https://api.deepseek.com/v1', {
  // It completes texts, and fills in their middle, beside its first version.
  besides: { completions: '/../beta/completions' },
});
