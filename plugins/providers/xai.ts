/**
 * xAI; https://docs.x.ai/docs/api-reference. Its multi-agent model is served by the responses endpoint alone.
 */
import { defineChatProvider } from '../shared/chat-provider.ts';
import { chooseWire } from '../shared/openai/choose-wire.ts';

export const xai = defineChatProvider('xai', 'XAI', 'https://api.x.ai/v1', {
  endpoints: { 'chat-completions': '/chat/completions', responses: '/responses' },
  choose: chooseWire,
});
