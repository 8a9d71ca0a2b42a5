/**
 * Maps finish reasons, in both directions. Gemini sends `STOP` after a tool call too, so only the content
 * shows whether tools were called. A cut, filtered or failed reply keeps its reason, since a call in it may
 * be broken.
 */
import type { FinishReason, EventOf } from '../../../core/index.ts';
import { considerCalls, googleReasons, type CallsSeen } from '../../shared/wire-kit/finish-reason.ts';

export function decodeFinish(raw: string, calls: CallsSeen): FinishReason {
  // Only `STOP` is an end that the model chose. An unknown reason is read as a reply that broke off.
  return considerCalls(googleReasons.get(raw) ?? 'error', calls);
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
  return googleReasons.get(raw) === unified ? raw : wireReasons[unified];
}
