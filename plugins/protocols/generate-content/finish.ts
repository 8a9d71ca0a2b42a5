/**
 * Why a candidate ended, in both directions. Gemini says `STOP` after a call as well, so whether tools were called is
 * seen from the calls; a cut, filtered or failed reply keeps its reason, since a call in it may be broken.
 */
import type { FinishReason } from '../../../core/index.ts';

const read: Readonly<Record<string, FinishReason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content-filter',
  RECITATION: 'content-filter',
  BLOCKLIST: 'content-filter',
  PROHIBITED_CONTENT: 'content-filter',
  SPII: 'content-filter',
  IMAGE_SAFETY: 'content-filter',
  IMAGE_PROHIBITED_CONTENT: 'content-filter',
  IMAGE_RECITATION: 'content-filter',
  MODEL_ARMOR: 'content-filter',
  JAILBREAK: 'content-filter',
  LANGUAGE: 'error',
  OTHER: 'error',
  MALFORMED_FUNCTION_CALL: 'error',
  MALFORMED_RESPONSE: 'error',
  MISSING_THOUGHT_SIGNATURE: 'error',
  UNEXPECTED_TOOL_CALL: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
  IMAGE_OTHER: 'error',
  NO_IMAGE: 'error',
  CONTINUATION: 'pause',
};

export function decodeFinish(raw: string, calls: boolean): FinishReason {
  const reason = Object.hasOwn(read, raw) ? (read[raw] ?? 'other') : 'other';
  return calls && reason === 'stop' ? 'tool-calls' : reason;
}

const written: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  'stop-sequence': 'STOP',
  length: 'MAX_TOKENS',
  'context-length': 'MAX_TOKENS',
  'tool-calls': 'STOP',
  'content-filter': 'SAFETY',
  refusal: 'SAFETY',
  // Claude's `pause_turn`: the turn is to be continued, and other clients know no word for that.
  pause: 'MAX_TOKENS',
  error: 'OTHER',
  other: 'OTHER',
};

/** The vendor's own word where it is one of this wire's and means the same. */
export function encodeFinish({
  unified,
  raw,
}: {
  readonly unified: FinishReason;
  readonly raw: string;
}): string {
  return Object.hasOwn(read, raw) && read[raw] === unified ? raw : written[unified];
}
