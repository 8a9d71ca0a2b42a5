/** Moonshot AI (Kimi); https://platform.moonshot.ai/docs/api/chat. */
import { chatProvider } from '../shared/chat-provider.ts';

export const moonshot = chatProvider('moonshot', 'MOONSHOT', 'https://api.moonshot.ai/v1');
