/**
 * Why a candidate ended, in both directions. Whether tools were called is seen from the calls, not from the word:
 * vendors say `stop` beside calls. Only a cut or filtered reply keeps its reason, since a call in it may be broken.
 */
import type { FinishReason } from '../../../core/index.ts';

const read: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  end_turn: 'stop',
  eos: 'stop',
  stop_sequence: 'stop-sequence',
  length: 'length',
  max_tokens: 'length',
  // Mistral's word for a full context.
  model_length: 'context-length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  content_filter: 'content-filter',
  // OpenRouter's word for a provider that failed, and DeepSeek's for its own lack of machines.
  error: 'error',
  insufficient_system_resource: 'error',
};

const keepsItsReason: ReadonlySet<FinishReason> = new Set([
  'length',
  'context-length',
  'content-filter',
  'refusal',
  'pause',
  'error',
]);

function seeCalls(reason: FinishReason, calls: boolean): FinishReason {
  return calls && !keepsItsReason.has(reason) ? 'tool-calls' : reason;
}

export function decodeFinish(raw: string, calls: boolean): FinishReason {
  return seeCalls(Object.hasOwn(read, raw) ? (read[raw] ?? 'other') : 'other', calls);
}

/** A turn that was paused or broken off is not finished: `length` is this wire's only word for that. */
const written: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-length': 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  refusal: 'content_filter',
  pause: 'length',
  error: 'length',
  other: 'stop',
};

export function encodeFinish(reason: FinishReason, calls: boolean): string {
  return written[seeCalls(reason, calls)];
}

/** Reasons this wire has no word for are told beside it, as OpenRouter does. */
export function isApproximated(reason: FinishReason): boolean {
  return reason === 'other' || reason === 'pause' || reason === 'error' || reason === 'refusal';
}
