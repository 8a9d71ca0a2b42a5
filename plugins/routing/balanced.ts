/**
 * Spreads calls over the targets that are about as quick as the quickest: of two drawn by lot, the one with fewer
 * calls running. One that is clearly slower is left out, since whoever is sent there has to wait, however idle it is.
 */
import { z } from 'zod';
import { definePlugin, type Target } from '../../core/index.ts';
import { keepPaces, type Pace } from '../shared/routing/pace.ts';
import { tapRanking } from '../shared/routing/ranking.ts';

/** A target more than this much slower than the quickest takes no part. */
const tolerance = 1.3;

/** The less busy of two drawn by lot. */
function choose(quick: readonly Target[], paceOf: (target: Target) => Pace): Target | undefined {
  const first = Math.floor(Math.random() * quick.length);
  // Drawn among the others.
  const second = (first + 1 + Math.floor(Math.random() * (quick.length - 1))) % quick.length;
  const [one, other] = [quick[first], quick[second]];
  return one && other && paceOf(other).load < paceOf(one).load ? other : one;
}

export const balanced = definePlugin({
  name: 'balanced',
  /** Whether calls that name no strategy are routed this way. */
  options: z.strictObject({ byDefault: z.boolean().default(false) }),
  apply(host, { byDefault }) {
    const paces = keepPaces(host, 'balanced');
    tapRanking(host, 'balanced', byDefault, (targets, { call }) => {
      const now = performance.now();
      const paceOf = (target: Target): Pace => paces().of(target, call.stream);
      const estimates = targets.map((target) => paceOf(target).estimate(now));
      const most = estimates.reduce((least, estimate) => Math.min(least, estimate), Infinity) * tolerance;
      const isQuick = (_: Target, index: number): boolean => (estimates[index] ?? Infinity) <= most;
      const quick = targets.filter(isQuick);
      const chosen = choose(quick, paceOf);
      const slow = targets.filter((target, index) => !isQuick(target, index));
      return chosen ? [chosen, ...quick.filter((target) => target !== chosen), ...slow] : targets;
    });
  },
});
