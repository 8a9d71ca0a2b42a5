/** Meta (Muse); https://dev.meta.ai/docs. */
import { defineChatProvider } from '../shared/chat-provider.ts';
import { chooseWire } from '../shared/openai/choose-wire.ts';

export const meta = defineChatProvider('meta', 'META', 'https://api.meta.ai/v1', {
  endpoints: { responses: '/responses', 'chat-completions': '/chat/completions' },
  choose: chooseWire,
});
