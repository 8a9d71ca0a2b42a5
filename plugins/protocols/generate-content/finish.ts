/**
 * Maps finish reasons, in both directions. Gemini sends `STOP` after a tool call too, so only the content
 * shows whether tools were called. A cut, filtered or failed reply keeps its reason, since a call in it may
 * be broken.
 */
import type { FinishReason, EventOf } from '../../../core/index.ts';

const reasons: ReadonlyMap<string, FinishReason> = new Map([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['SAFETY', 'content-filter'],
  ['RECITATION', 'content-filter'],
  ['BLOCKLIST', 'content-filter'],
  ['PROHIBITED_CONTENT', 'content-filter'],
  ['SPII', 'content-filter'],
  ['IMAGE_SAFETY', 'content-filter'],
  ['IMAGE_PROHIBITED_CONTENT', 'content-filter'],
  ['IMAGE_RECITATION', 'content-filter'],
  ['MODEL_ARMOR', 'content-filter'],
  ['JAILBREAK', 'content-filter'],
  ['LANGUAGE', 'error'],
  ['OTHER', 'error'],
  ['MALFORMED_FUNCTION_CALL', 'error'],
  ['MALFORMED_RESPONSE', 'error'],
  ['MISSING_THOUGHT_SIGNATURE', 'error'],
  ['UNEXPECTED_TOOL_CALL', 'error'],
  ['TOO_MANY_TOOL_CALLS', 'error'],
  ['IMAGE_OTHER', 'error'],
  ['NO_IMAGE', 'error'],
  ['CONTINUATION', 'pause'],
]);

export function decodeFinish(raw: string, calls: boolean): FinishReason {
  // Only `STOP` is an end that the model chose. An unknown reason is read as a reply that broke off.
  const reason = reasons.get(raw) ?? 'error';
  return calls && reason === 'stop' ? 'tool-calls' : reason;
}

const wireReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  'stop-sequence': 'STOP',
  length: 'MAX_TOKENS',
  'context-length': 'MAX_TOKENS',
  'tool-calls': 'STOP',
  'content-filter': 'SAFETY',
  refusal: 'SAFETY',
  // Claude's `pause_turn` asks the client to continue the turn. This protocol has no such reason.
  pause: 'MAX_TOKENS',
  error: 'OTHER',
  other: 'OTHER',
};

/** Returns the vendor's own reason if this protocol has it with the same meaning. */
export function encodeFinish({ unified, raw }: EventOf<'finish'>['reason']): string {
  return reasons.get(raw) === unified ? raw : wireReasons[unified];
}
