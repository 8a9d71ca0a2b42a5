/**
 * OpenAI's models since GPT-5.4 refuse tools on the wire of chat-completions while they reason, and take them on that of
 * responses. A call that states no effort gets the model's default, which is "none" for GPT-5.4 and "medium" for GPT-5.5.
 */
import type { CanonicalRequest, Model } from '../../../core/index.ts';
import { effortFor } from './reasoning-effort.ts';

/** Whether chat-completions refuses a call of this model that has tools and asks for this much reasoning. */
export function refusesChatTools({ capabilities }: Model, reasoning: CanonicalRequest['reasoning']): boolean {
  if (capabilities.chatTools === 'always') return false;
  const effort =
    reasoning?.effort ?? (reasoning?.budget === undefined ? undefined : effortFor(reasoning.budget));
  return (effort ?? capabilities.reasoning.default ?? 'none') !== 'none';
}

/** Whether chat-completions refuses a request for its tools. */
export function hasRefusedTools({ tools = [], reasoning }: CanonicalRequest, model: Model): boolean {
  return tools.length > 0 && refusesChatTools(model, reasoning);
}
