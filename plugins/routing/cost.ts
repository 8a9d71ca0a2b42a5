/**
 * Asks the cheapest first: by what this call would cost there, with its length, its output limit, and the share of
 * its input that the target is likely to have in its cache, as it had of the calls before.
 */
import { z } from 'zod';
import { costOf, definePlugin, type End, type Parsed, type Target } from '../../core/index.ts';
import { PerTarget } from '../shared/routing/per-target.ts';
import { lowestFirst, tapRanking } from '../shared/routing/ranking.ts';

/** Tokens of output that are expected where the caller allows more. */
const usualOutput = 1000;
const bytesPerToken = 4;
/** The share of the last call in what is believed. */
const share = 0.1;

interface Cache {
  /** Of the tokens that came in, the share that was read from the cache. */
  hits: number;
}

type Caches = PerTarget<Cache>;

function learn(caches: Caches, end: End): void {
  if (end.type !== 'answered' || end.charge.basis !== 'usage') return;
  const { input = 0, cacheRead = 0 } = end.charge.usage;
  if (input === 0) return;
  const cache = caches.of(end.exchange.attempt.target);
  cache.hits += (Math.min(1, cacheRead / input) - cache.hits) * share;
}

/** What the call would cost at a target, in nano-USD: enough to compare by. */
function expectedCost({ call }: Parsed, target: Target, { hits }: Cache): number {
  const { textBytes, images, mediaBytes } = call.size;
  const input = Math.ceil((textBytes + mediaBytes) / bytesPerToken) + images * target.model.capabilities.imageTokens;
  const output = Math.min(call.outputLimit ?? usualOutput, usualOutput, target.model.outputLimit) * call.candidates;
  return Number(costOf({ input, output, cacheRead: Math.floor(input * hits) }, target.price));
}

export const cost = definePlugin({
  name: 'cost',
  /** Whether calls are routed so that ask for nothing. */
  options: z.strictObject({ byDefault: z.boolean().default(false) }),
  apply(host, { byDefault }) {
    let caches: Caches = new PerTarget(() => ({ hits: 0 }));
    host.hooks.ready.tapPromise('cost', async () => {
      caches = await host.resource('cost', {}, () => caches, () => undefined);
    });
    tapRanking(host, 'cost', byDefault, (targets, parsed) => lowestFirst(targets, (target) => expectedCost(parsed, target, caches.of(target))));
    host.hooks.observe.tapPromise('cost', async (end) => learn(caches, end));
  },
});
