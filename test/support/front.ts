/** What most gateways of tests begin with: every text protocol, and every header that a key may come in. */
import type { Plugin } from '../../core/index.ts';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';

export const textProtocols = (): Plugin[] => [chatCompletions(), responses(), messages(), generateContent()];
export const keyHeaders = (): Plugin[] => [bearer(), apiKeyHeader(), googleApiKey()];
