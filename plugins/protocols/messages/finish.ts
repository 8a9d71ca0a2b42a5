/**
 * Why a reply ended, in both directions. Whether tools were called is seen from the calls, not from the word: other
 * vendors say they stopped beside calls. Only a cut or refused reply keeps its reason, since a call in it may be broken.
 */
import type { FinishReason } from '../../../core/index.ts';

const read: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  max_tokens: 'length',
  stop_sequence: 'stop-sequence',
  tool_use: 'tool-calls',
  pause_turn: 'pause',
  refusal: 'refusal',
  model_context_window_exceeded: 'context-length',
};

const seenFromCalls: ReadonlySet<FinishReason> = new Set(['stop', 'stop-sequence', 'other']);

function seeCalls(reason: FinishReason, calls: boolean): FinishReason {
  return calls && seenFromCalls.has(reason) ? 'tool-calls' : reason;
}

export function decodeFinish(raw: string, calls: boolean): FinishReason {
  return seeCalls(Object.hasOwn(read, raw) ? (read[raw] ?? 'other') : 'other', calls);
}

/** A turn that was broken off is not finished: clients take `max_tokens` for that, and `end_turn` for an answer. */
const written: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'context-length': 'model_context_window_exceeded',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
  refusal: 'refusal',
  pause: 'pause_turn',
  error: 'max_tokens',
  other: 'end_turn',
};

/** Passed whether tools were called, and whether the model said its refusal in words. */
export function encodeFinish(reason: FinishReason, calls: boolean, refused: boolean): string {
  return refused && reason === 'stop' ? 'refusal' : written[seeCalls(reason, calls)];
}
