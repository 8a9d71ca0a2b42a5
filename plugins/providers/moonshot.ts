/** Moonshot AI (Kimi); https://platform.moonshot.ai/docs/api/chat. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const moonshot = defineChatProvider('moonshot', 'MOONSHOT', 'https://api.moonshot.ai/v1');
