/** Maps finish reasons, in both directions. */
import { splice, type CanonicalEvent, type FinishReason } from '../../../core/index.ts';
import { parseJson } from '../../shared/wire-kit/event-data.ts';
import { considerCalls, readFinish, type CallsSeen } from '../../shared/wire-kit/finish-reason.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { splitNames } from '../../shared/wire-kit/vendor-bag.ts';

export function decodeFinish(raw: string, calls: CallsSeen): FinishReason {
  return considerCalls(readFinish(raw), calls);
}

/**
 * An error and an unknown reason become `max_tokens`, because clients read `end_turn` as a complete answer.
 */
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
  other: 'max_tokens',
};

/** `hasRefused`: the reply holds a refusal as text. */
export function encodeFinish(reason: FinishReason, hasCalls: boolean, hasRefused: boolean): string {
  return hasRefused && reason === 'stop' ? 'refusal' : encoded[considerCalls(reason, { any: hasCalls })];
}

/** Anthropic's words. Those it may add later mean something to its own clients, so unknown ones go on. */
const ownWords = splitNames(`
  end_turn max_tokens stop_sequence tool_use pause_turn refusal model_context_window_exceeded
`);

/**
 * Corrects the reason in a reply that goes to a client of this protocol as it is: relays pass on the words of
 * other vendors, and announce calls that they do not send, or cut off.
 */
export function correctReply(data: string, events: readonly CanonicalEvent[]): string {
  const finish = events.find((event) => event.type === 'finish');
  if (!finish) return data;
  const { unified, raw } = finish.reason;
  const stated = readFinish(raw);
  const isForeign = !ownWords.has(raw) && stated !== 'other';
  if (!isForeign && (unified === 'tool-calls' || stated === unified)) return data;
  const value = encodeFinish(unified, unified === 'tool-calls', false);
  const { type } = readObject(parseJson(data));
  if (type === 'message_delta') return splice(data, [{ path: ['delta', 'stop_reason'], value }]);
  return type === 'message' ? splice(data, [{ path: ['stop_reason'], value }]) : data;
}
