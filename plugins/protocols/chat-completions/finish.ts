/** Maps finish reasons, in both directions. */
import type { FinishReason } from '../../../core/index.ts';
import { considerCalls, readFinish, type CallsSeen } from '../../shared/wire-kit/finish-reason.ts';

export function decodeFinish(raw: string, calls: CallsSeen): FinishReason {
  return considerCalls(readFinish(raw), calls);
}

/**
 * A turn that paused, failed, or ended for an unknown reason is unfinished. `length` is this protocol's only
 * reason for that.
 */
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
  other: 'length',
};

export function encodeFinish(reason: FinishReason, hasCalls: boolean): string {
  return encoded[considerCalls(reason, { any: hasCalls })];
}

/** Whether this protocol has no name for a reason: `native_finish_reason` then holds the original. */
export function isApproximated(reason: FinishReason): boolean {
  return reason === 'other' || reason === 'pause' || reason === 'error' || reason === 'refusal';
}
