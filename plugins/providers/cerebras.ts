/** Cerebras; https://inference-docs.cerebras.ai/resources/openai. */
import { chatProvider } from '../shared/chat-provider.ts';

export const cerebras = chatProvider('cerebras', 'CEREBRAS', 'https://api.cerebras.ai/v1');
