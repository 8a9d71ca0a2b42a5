/**
 * The reply to a call that is no conversation. The client's protocol reads the provider's replies and writes
 * its own, in pieces, of which the last waits until the call is settled.
 */
import type { Routed } from '../exchange.ts';
import type { UpstreamResponse } from '../provider.ts';
import { buildReplyContext, findChargedUsage, isCostWanted } from './charged-usage.ts';
import { toText, type Piece } from './pieces.ts';
import { readWhole } from './reply-body.ts';
import { toCutError, type Reading } from './reply-events.ts';

type Reply = UpstreamResponse | (() => Promise<UpstreamResponse>);

export async function* joinReplies(
  exchange: Routed,
  replies: readonly Reply[],
  { tally, memory }: Reading,
): AsyncGenerator<Piece> {
  const { target } = exchange.attempt;
  const pieces = exchange.protocol.client.joinReplies?.(
    {
      wire: target.protocol,
      model: target.model,
      request: exchange.getRequest(),
      count: replies.length,
      async fetch(index) {
        const reply = replies[index];
        if (!reply) throw toCutError();
        return readWhole(typeof reply === 'function' ? await reply() : reply, memory);
      },
      report: (usage) => tally.read({ type: 'usage', usage }),
      findCharged: () => findChargedUsage(exchange, tally),
    },
    buildReplyContext(exchange),
  );
  // The cost is written into the whole of a reply.
  const isJoined = isCostWanted(exchange);
  let held: Piece['text'] | undefined;
  for await (const text of pieces ?? []) {
    if (held !== undefined && isJoined) held = toText({ text: held }) + toText({ text });
    else {
      if (held !== undefined) yield { text: held, last: false, opening: false };
      held = text;
    }
  }
  if (held === undefined) throw toCutError();
  tally.read({ type: 'response-end' });
  yield { text: held, last: true, opening: false };
}
