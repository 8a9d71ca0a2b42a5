/** Asks providers in the operator's order: as named here, and the others as the configuration lists them. */
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { sortLowestFirst, tapRanking } from '../shared/routing/ranking.ts';

export const priority = definePlugin({
  name: 'priority',
  options: z.strictObject({
    /** Names of providers, first to last. */
    order: z.array(z.string().min(1)).default([]),
    /** Whether calls that name no strategy are routed this way. */
    byDefault: z.boolean().default(true),
  }),
  apply(host, { order, byDefault }) {
    if (order.length === 0) return;
    host.onApplied(() => {
      const unknown = order.filter((name) => !host.plugins.has(name) && !host.providers.find(name));
      for (const name of unknown)
        host.logger.warn(`"order" names the provider "${name}", which is not in the configuration`);
    });
    const place = new Map(order.map((name, index) => [name, index]));
    tapRanking(host, 'priority', byDefault, (targets) =>
      sortLowestFirst(targets, ({ provider }) => place.get(provider.name) ?? order.length),
    );
  },
});
