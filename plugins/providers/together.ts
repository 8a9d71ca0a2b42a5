/**
 * Together AI; https://docs.together.ai/docs/inference/openai-compatibility. Its model ids name the owner
 * already.
 */
import { chatProvider } from '../shared/chat-provider.ts';

export const together = chatProvider('together', 'TOGETHER', 'https://api.together.ai/v1');
