/** Names and ids that other protocols allow and this wire does not, made anew from themselves. */
import { digest, fitByRule } from '../../shared/offered-tools.ts';

const longest = 64;
const rule = { good: /^[\w-]{1,64}$/, strange: /[^\w-]/g, longest };

export function fitName(name: string): string {
  return fitByRule(name, rule);
}

/** The id itself where the wire takes it, for the call and for its result. */
export function fitCallId(id: string): string {
  return id.length > 0 && id.length <= longest ? id : `call_${digest(id)}`;
}
