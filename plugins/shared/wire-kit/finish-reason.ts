/**
 * Why a candidate ended. The reply's calls decide whether tools were called, not the vendor's word: some
 * vendors report "stop" together with calls. A cut or filtered reply keeps its reason, because a call in it
 * may be incomplete.
 */
import type { FinishReason } from '../../../core/index.ts';

const replacedByCalls: ReadonlySet<FinishReason> = new Set(['stop', 'stop-sequence', 'tool-calls', 'other']);

export function considerCalls(reason: FinishReason, hasCalls: boolean): FinishReason {
  return hasCalls && replacedByCalls.has(reason) ? 'tool-calls' : reason;
}
