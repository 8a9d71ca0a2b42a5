/**
 * Spreads calls over the targets that are about as quick as the quickest: two are drawn at random, and the
 * one with fewer running calls is taken. Clearly slower targets are left out: a call there has to wait,
 * however idle they are.
 */
import { definePlugin, type Target } from '../../core/index.ts';
import { keepPaces, type Pace } from '../shared/routing/pace.ts';
import { strategyOptions, tapRanking } from '../shared/routing/ranking.ts';

/** A target that is slower than the quickest by more than this factor is left out. */
const tolerance = 1.3;

/** Draws two at random and returns the less busy one. */
function choose(quick: readonly Target[], getPace: (target: Target) => Pace): Target | undefined {
  const first = Math.floor(Math.random() * quick.length);
  // Drawn from all but the first.
  const second = (first + 1 + Math.floor(Math.random() * (quick.length - 1))) % quick.length;
  const [one, other] = [quick[first], quick[second]];
  return one && other && getPace(other).load < getPace(one).load ? other : one;
}

export const balanced = definePlugin({
  name: 'balanced',
  options: strategyOptions,
  apply(host, { byDefault }) {
    const paces = keepPaces(host, 'balanced');
    tapRanking(host, 'balanced', byDefault, (targets, { call }) => {
      const now = performance.now();
      const getPace = (target: Target): Pace => paces().getPace(target, call.stream);
      const estimates = targets.map((target) => getPace(target).estimate(now));
      const most = estimates.reduce((least, estimate) => Math.min(least, estimate), Infinity) * tolerance;
      const isQuick = (_: Target, index: number): boolean => (estimates[index] ?? Infinity) <= most;
      const quick = targets.filter(isQuick);
      const chosen = choose(quick, getPace);
      const slow = targets.filter((target, index) => !isQuick(target, index));
      return chosen ? [chosen, ...quick.filter((target) => target !== chosen), ...slow] : targets;
    });
  },
});
