/** Z.AI (GLM); https://docs.z.ai/api-reference. */
import { chatProvider } from '../shared/chat-provider.ts';

export const zai = chatProvider('zai', 'ZAI', 'https://api.z.ai/api/paas/v4');
