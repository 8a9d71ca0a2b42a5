/**
 * Translates finish reasons. The reply's calls decide whether tools were called, not the vendor's reason:
 * some vendors report "stop" together with calls. A cut or refused reply keeps its reason, because a call in
 * it may be incomplete.
 */
import type { FinishReason } from '../../../core/index.ts';

const decoded: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  max_tokens: 'length',
  stop_sequence: 'stop-sequence',
  tool_use: 'tool-calls',
  pause_turn: 'pause',
  refusal: 'refusal',
  model_context_window_exceeded: 'context-length',
};

const replacedByCalls: ReadonlySet<FinishReason> = new Set(['stop', 'stop-sequence', 'other']);

function applyCalls(reason: FinishReason, hasCalls: boolean): FinishReason {
  return hasCalls && replacedByCalls.has(reason) ? 'tool-calls' : reason;
}

export function decodeFinish(raw: string, hasCalls: boolean): FinishReason {
  return applyCalls(Object.hasOwn(decoded, raw) ? (decoded[raw] ?? 'other') : 'other', hasCalls);
}

/** An error becomes `max_tokens`, because clients read `end_turn` as a complete answer. */
const encoded: Readonly<Record<FinishReason, string>> = {
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

/** `hasRefused`: the reply has a refusal as text. */
export function encodeFinish(reason: FinishReason, hasCalls: boolean, hasRefused: boolean): string {
  return hasRefused && reason === 'stop' ? 'refusal' : encoded[applyCalls(reason, hasCalls)];
}
