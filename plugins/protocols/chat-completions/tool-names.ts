/** Tool names and call ids: replaces those that this protocol does not allow, and makes missing ids. */
import { createHash } from 'node:crypto';
import type { Capabilities } from '../../../core/index.ts';
import { chatFlags } from '../../shared/wire-kit/chat-flags.ts';
import { hashText, fitNameByRule } from '../../shared/wire-kit/offered-tools.ts';

const longest = 64;
const rule = { good: /^[\w-]{1,64}$/, strange: /[^\w-]/g, longest };

export function fitName(name: string): string {
  return fitNameByRule(name, rule);
}

/** Whether a model accepts an id unchanged. */
export function takesCallId(id: string, capabilities: Capabilities): boolean {
  return chatFlags(capabilities).callIds === 'nine'
    ? /^[A-Za-z0-9]{9}$/.test(id)
    : id.length > 0 && id.length <= longest;
}

/** Returns the id itself if the model accepts it, or else a hash of it: a call and its result stay paired. */
export function fitCallId(id: string, capabilities: Capabilities): string {
  if (takesCallId(id, capabilities)) return id;
  return chatFlags(capabilities).callIds === 'nine' ? hashText(id).slice(0, 9) : `call_${hashText(id)}`;
}

export function makeCallId(reply: string, candidate: number, ordinal: number): string {
  return `call_${createHash('sha256')
    .update(JSON.stringify([reply, candidate, ordinal]))
    .digest('base64url')
    .replaceAll(/[-_]/g, '0')
    .slice(0, 24)}`;
}
