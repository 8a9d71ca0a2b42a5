/** Names and ids that other protocols allow and this wire does not, made anew from themselves. */
import type { Capabilities } from '../../../core/index.ts';
import { chatFlags } from '../../shared/wire-kit/chat-flags.ts';
import { digest, fitByRule } from '../../shared/wire-kit/offered-tools.ts';

const longest = 64;
const rule = { good: /^[\w-]{1,64}$/, strange: /[^\w-]/g, longest };

export function fitName(name: string): string {
  return fitByRule(name, rule);
}

/** Whether a model takes an id as it stands. */
export function takesCallId(id: string, capabilities: Capabilities): boolean {
  return chatFlags(capabilities).callIds === 'nine'
    ? /^[A-Za-z0-9]{9}$/.test(id)
    : id.length > 0 && id.length <= longest;
}

/** The id itself where the model takes it, for the call and for its result. */
export function fitCallId(id: string, capabilities: Capabilities): string {
  if (takesCallId(id, capabilities)) return id;
  return chatFlags(capabilities).callIds === 'nine' ? digest(id).slice(0, 9) : `call_${digest(id)}`;
}
