/** Replaces tool names and call ids that this protocol does not accept. */
import { hashText, fitNameByRule } from '../../shared/wire-kit/offered-tools.ts';

const rule = { good: /^[A-Za-z0-9_-]{1,128}$/, strange: /[^A-Za-z0-9_-]/g, longest: 128 };
const goodId = /^[A-Za-z0-9_-]{1,64}$/;

export function fitName(name: string): string {
  return fitNameByRule(name, rule);
}

/** Returns the id itself if Anthropic accepts it, or else a hash of it: a call and its result stay paired. */
export function fitCallId(id: string): string {
  return goodId.test(id) ? id : `toolu_${hashText(id)}`;
}

/** Makes the id of a call without one, from the id of the reply and the number of the block. */
export function makeCallId(reply: string, block: number): string {
  return `toolu_${hashText(JSON.stringify([reply, block]))}`;
}
