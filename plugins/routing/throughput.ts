/**
 * Asks the target first that writes fastest: the one with the most tokens of output per second after its
 * reply has begun.
 */
import { z } from 'zod';
import { definePlugin, type End } from '../../core/index.ts';
import { PerTarget } from '../shared/routing/per-target.ts';
import { lowestFirst, tapRanking } from '../shared/routing/ranking.ts';

/** The weight of the last reply in the average. */
const share = 0.2;
/** Shorter replies say little about a rate. */
const leastTokens = 20;

interface Rate {
  tokensPerSecond: number | undefined;
}

type Rates = PerTarget<Rate>;

function learn(rates: Rates, end: End): undefined {
  if (end.type !== 'answered' || end.outcome !== 'completed' || !end.exchange.call.stream) return;
  const { target, duration = 0, firstEventAfter = 0 } = end.exchange.attempt;
  const { output = 0 } = end.charge.usage;
  const seconds = (duration - firstEventAfter) / 1000;
  if (output < leastTokens || seconds <= 0) return;
  const rate = rates.of(target);
  rate.tokensPerSecond =
    (rate.tokensPerSecond ?? output / seconds) * (1 - share) + (output / seconds) * share;
}

export const throughput = definePlugin({
  name: 'throughput',
  /** Whether calls that name no strategy are routed this way. */
  options: z.strictObject({ byDefault: z.boolean().default(false) }),
  apply(host, { byDefault }) {
    let rates: Rates = new PerTarget(() => ({ tokensPerSecond: undefined }));
    host.hooks.ready.tapPromise('throughput', async () => {
      rates = await host.resource(
        'throughput',
        {},
        () => rates,
        () => undefined,
      );
    });
    // A target that has no figures yet is asked first: one reply gives it some.
    tapRanking(host, 'throughput', byDefault, (targets) =>
      lowestFirst(targets, (target) => -(rates.of(target).tokensPerSecond ?? Infinity)),
    );
    host.hooks.observe.tap('throughput', (end) => learn(rates, end));
  },
});
