/** Z.AI (GLM); https://docs.z.ai/api-reference. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const zai = defineChatProvider('zai', 'ZAI', 'https://api.z.ai/api/paas/v4');
