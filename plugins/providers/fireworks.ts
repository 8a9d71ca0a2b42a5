/** Fireworks AI; https://docs.fireworks.ai/tools-sdks/openai-compatibility. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const fireworks = defineChatProvider(
  'fireworks',
  'FIREWORKS',
  'https://api.fireworks.ai/inference/v1',
);
