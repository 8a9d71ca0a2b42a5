/**
 * A cache of whole replies: a call that an account has made before, word for word, gets the same bytes again,
 * at no cost. `replay` looks for a stored reply or asks for a recording, which `meter` gets with the end of
 * the call. Calls with tools are never cached, nor replies that were cut or refused.
 */
import { createHash } from 'node:crypto';
import { definePlugin, type Parsed, type Replay } from 'tollgate';
import { z } from 'zod';

const options = z.strictObject({
  /** Seconds that a reply is kept. */
  keep: z.number().positive().default(3600),
  /** Replies of each process, and bytes of one at most. */
  most: z.int().positive().default(1000),
  largest: z
    .int()
    .positive()
    .default(256 * 1024),
});

interface Kept {
  readonly until: number;
  readonly replay: Replay;
}

/** Undefined for calls whose replies may differ. An account never gets the replies of another one. */
function nameCall({ getRequest, operation, principal, protocol }: Parsed): string | undefined {
  const request = getRequest();
  if (operation !== 'generate' || request.tools?.length) return undefined;
  const facts = JSON.stringify([principal.account, protocol.name, request]);
  return createHash('sha256').update(facts).digest('base64');
}

export const cache = definePlugin({
  name: 'cache',
  options,
  apply({ hooks }, { keep, most, largest }) {
    const replies = new Map<string, Kept>();
    hooks.replay.tap('cache', (parsed) => {
      const name = nameCall(parsed);
      if (name === undefined) return undefined;
      const kept = replies.get(name);
      if (kept && kept.until > Date.now()) return kept.replay;
      replies.delete(name);
      parsed.record(largest);
      return undefined;
    });
    hooks.meter.tap('cache', (end) => {
      if (end.type !== 'answered' || end.outcome !== 'completed') return;
      const { exchange, recording } = end;
      const name = nameCall(exchange);
      if (!recording?.whole || recording.status !== 200 || name === undefined) return;
      const { status, headers, body } = recording;
      const replay = { status, body, headers: { ...headers, 'x-cache': 'hit', 'x-tollgate-cost': '0' } };
      replies.set(name, { until: Date.now() + keep * 1000, replay });
      // A map keeps the order in which its entries came: the first one is the oldest.
      for (const oldest of replies.keys()) if (replies.size > most) replies.delete(oldest);
    });
  },
});
