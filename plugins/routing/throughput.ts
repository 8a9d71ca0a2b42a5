/**
 * Asks the target first that writes fastest: the one with the most tokens of output per second after its
 * reply has begun.
 */
import { definePlugin, findCount, type End } from '../../core/index.ts';
import { keepThroughReloads } from '../shared/kept.ts';
import { PerTarget } from '../shared/routing/per-target.ts';
import { sortLowestFirst, strategyOptions, tapRanking } from '../shared/routing/ranking.ts';

/** The weight of the last reply in the average. */
const share = 0.2;
/** Shorter replies say little about a rate. */
const leastTokens = 20;

interface Rate {
  tokensPerSecond: number | undefined;
}

function learn(rates: PerTarget<Rate>, end: End): undefined {
  if (end.type !== 'answered' || end.outcome !== 'completed' || !end.exchange.call.stream) return;
  const { target, duration = 0, firstEventAfter = 0 } = end.exchange.attempt;
  const output = findCount(end.charge.uses, 'output') ?? 0;
  const seconds = (duration - firstEventAfter) / 1000;
  if (output < leastTokens || seconds <= 0) return;
  const rate = rates.getEntry(target);
  rate.tokensPerSecond =
    (rate.tokensPerSecond ?? output / seconds) * (1 - share) + (output / seconds) * share;
}

function createRate(): Rate {
  return { tokensPerSecond: undefined };
}

export const throughput = definePlugin({
  name: 'throughput',
  options: strategyOptions,
  apply(host, { byDefault }) {
    const rates = keepThroughReloads(host, 'throughput', new PerTarget(createRate));
    // A target that has no figures yet is asked first: one reply gives it some.
    tapRanking(host, 'throughput', byDefault, (targets) =>
      sortLowestFirst(targets, (target) => -(rates().getEntry(target).tokensPerSecond ?? Infinity)),
    );
    host.hooks.observe.tap('throughput', (end) => learn(rates(), end));
  },
});
