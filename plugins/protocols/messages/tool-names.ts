/** Names and ids that other protocols allow and this wire does not, made anew from themselves. */
import { digest, fitByRule } from '../../shared/wire-kit/offered-tools.ts';

const rule = { good: /^[A-Za-z0-9_-]{1,128}$/, strange: /[^A-Za-z0-9_-]/g, longest: 128 };
const goodId = /^[A-Za-z0-9_-]{1,64}$/;

export function fitName(name: string): string {
  return fitByRule(name, rule);
}

/** The id itself where the wire takes it, for the call and for its result. */
export function fitCallId(id: string): string {
  return goodId.test(id) ? id : `toolu_${digest(id)}`;
}

/** An id for a call whose vendor gave none; passed the id of the reply, and which block of it the call is. */
export function makeCallId(reply: string, block: number): string {
  return `toolu_${digest(JSON.stringify([reply, block]))}`;
}
