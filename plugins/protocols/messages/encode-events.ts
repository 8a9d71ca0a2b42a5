/** Encodes canonical events as a client's stream of server-sent events. */
import {
  GatewayError,
  type CanonicalEvent,
  type EventEncoder,
  type ReplyContext,
} from '../../../core/index.ts';
import { encodeStreamError } from './errors.ts';
import { ReplyEvents, type WireEventBody } from './reply-events.ts';

/** Anthropic's spelling, with its space. */
export const ping = 'event: ping\ndata: {"type": "ping"}\n\n';

function frame(event: WireEventBody): string {
  return event.type === 'ping' ? ping : `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

export class StreamEncoder implements EventEncoder {
  readonly #events: ReplyEvents;

  constructor(context: ReplyContext) {
    this.#events = new ReplyEvents(context);
  }

  push(event: CanonicalEvent): string {
    if (event.type === 'error') return encodeStreamError(new GatewayError('upstream_failed', event.message));
    let frames = '';
    for (const each of this.#events.push(event)) frames += frame(each);
    return frames;
  }
}
