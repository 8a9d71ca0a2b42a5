/** Fireworks AI; https://docs.fireworks.ai/tools-sdks/openai-compatibility. */
import { chatProvider } from '../shared/chat-provider.ts';

export const fireworks = chatProvider('fireworks', 'FIREWORKS', 'https://api.fireworks.ai/inference/v1');
