/** Asks the target first whose time to the first event has been shortest recently. */
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { keepPaces } from '../shared/routing/pace.ts';
import { lowestFirst, tapRanking } from '../shared/routing/ranking.ts';

export const latency = definePlugin({
  name: 'latency',
  /** Whether calls that name no strategy are routed this way. */
  options: z.strictObject({ byDefault: z.boolean().default(false) }),
  apply(host, { byDefault }) {
    const paces = keepPaces(host, 'latency');
    tapRanking(host, 'latency', byDefault, (targets, { call }) => {
      const now = performance.now();
      return lowestFirst(targets, (target) => paces().of(target, call.stream).estimate(now));
    });
  },
});
