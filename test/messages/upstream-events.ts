/** Events of a provider's stream, and what they decode to. */
import type { CanonicalEvent, ClientCall } from '../../core/index.ts';
import { decodeAll, fold, type Folded } from '../contract/replies.ts';
import { makeCall, protocol } from './bodies.ts';

export const { upstream } = protocol;

export function decode(
  events: readonly (object | string)[],
  call: ClientCall = makeCall(),
): CanonicalEvent[] {
  return decodeAll(
    upstream.decodeEvents(call),
    events.map((event) => ({
      event: undefined,
      data: typeof event === 'string' ? event : JSON.stringify(event),
    })),
  );
}

export function readReply(events: readonly (object | string)[], call?: ClientCall): Folded {
  return fold(decode(events, call));
}

export const start = {
  type: 'message_start',
  message: { id: 'msg_1', model: 'claude-x', usage: { input_tokens: 4, output_tokens: 1 } },
};

export const end = (reason = 'end_turn', usage: object = { output_tokens: 9 }): object[] => [
  { type: 'message_delta', delta: { stop_reason: reason }, usage },
  { type: 'message_stop' },
];
