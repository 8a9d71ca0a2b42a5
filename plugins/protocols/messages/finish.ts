/** Maps finish reasons, in both directions. */
import type { FinishReason } from '../../../core/index.ts';
import { considerCalls } from '../../shared/wire-kit/finish-reason.ts';

const decoded: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['max_tokens', 'length'],
  ['stop_sequence', 'stop-sequence'],
  ['tool_use', 'tool-calls'],
  ['pause_turn', 'pause'],
  ['refusal', 'refusal'],
  ['model_context_window_exceeded', 'context-length'],
]);

export function decodeFinish(raw: string, hasCalls: boolean): FinishReason {
  return considerCalls(decoded.get(raw) ?? 'other', hasCalls);
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

/** `hasRefused`: the reply holds a refusal as text. */
export function encodeFinish(reason: FinishReason, hasCalls: boolean, hasRefused: boolean): string {
  return hasRefused && reason === 'stop' ? 'refusal' : encoded[considerCalls(reason, hasCalls)];
}
