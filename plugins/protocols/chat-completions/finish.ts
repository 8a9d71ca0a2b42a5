/** Maps finish reasons, in both directions. */
import type { FinishReason } from '../../../core/index.ts';
import { considerCalls } from '../../shared/wire-kit/finish-reason.ts';

const decoded: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['end_turn', 'stop'],
  ['eos', 'stop'],
  ['stop_sequence', 'stop-sequence'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  // Mistral: the context is full.
  ['model_length', 'context-length'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['content_filter', 'content-filter'],
  // OpenRouter: the provider failed. DeepSeek: it is out of capacity.
  ['error', 'error'],
  ['insufficient_system_resource', 'error'],
]);

export function decodeFinish(raw: string, calls: boolean): FinishReason {
  return considerCalls(decoded.get(raw) ?? 'other', calls);
}

/** A paused or failed turn is unfinished. `length` is this protocol's only reason for that. */
const encoded: Readonly<Record<FinishReason, string>> = {
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
  return encoded[considerCalls(reason, calls)];
}

/** Whether this protocol has no name for a reason: `native_finish_reason` then holds the original. */
export function isApproximated(reason: FinishReason): boolean {
  return reason === 'other' || reason === 'pause' || reason === 'error' || reason === 'refusal';
}
