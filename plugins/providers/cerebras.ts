/** Cerebras; https://inference-docs.cerebras.ai/resources/openai. */
import { defineChatProvider } from '../shared/chat-provider.ts';

export const cerebras = defineChatProvider('cerebras', 'CEREBRAS', 'https://api.cerebras.ai/v1');
