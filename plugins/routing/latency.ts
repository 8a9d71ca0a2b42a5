/** Asks the target first whose time to the first event has been shortest recently. */
import { definePlugin } from '../../core/index.ts';
import { keepPaces } from '../shared/routing/pace.ts';
import { sortLowestFirst, strategyOptions, tapRanking } from '../shared/routing/ranking.ts';

export const latency = definePlugin({
  name: 'latency',
  options: strategyOptions,
  apply(host, { byDefault }) {
    const paces = keepPaces(host, 'latency');
    tapRanking(host, 'latency', byDefault, (targets, { call }) => {
      const now = performance.now();
      return sortLowestFirst(targets, (target) => paces().getPace(target, call.stream).estimate(now));
    });
  },
});
