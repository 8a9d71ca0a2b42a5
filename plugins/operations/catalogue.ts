/**
 * The models and their prices: `models` lists them, `prices diff` compares new facts with the catalogue,
 * and `prices update` applies new prices, which a feed can also do automatically.
 */
import { z } from 'zod';
import { definePlugin, longestDeadline, type Documents } from '../../core/index.ts';
import { isChange, listOperationRoutes } from '../shared/operations.ts';
import { buildCommands, listVerbs } from '../shared/operator-verbs.ts';
import { publicKeySchema } from './catalogue/load-feed.ts';
import { operations, verbs } from './catalogue/operations.ts';
import { byCommand, createPriceCommands } from './catalogue/price-commands.ts';
import { watchPriceDates } from './catalogue/price-dates.ts';
import { createPriceService } from './catalogue/price-service.ts';
import type { PriceWork } from './catalogue/price-updates.ts';
import { watchRetirements } from './catalogue/retirements.ts';

const options = z.strictObject({
  prices: z
    .strictObject({
      /** A file or URL whose prices are applied automatically. */
      feed: z.string().min(1).optional(),
      /** Seconds between two reads. */
      every: z.int().min(60).max(longestDeadline).default(21_600),
      /** Days after the last check when the gateway warns that prices may be old. */
      maxAge: z.int().positive().default(60),
      /** Feeds need a signature of this Ed25519 key. */
      publicKey: publicKeySchema.optional(),
    })
    .prefault({}),
  /** Days before a model retires when operators get a notice; 0: none. */
  retirementNotice: z.int().min(0).max(60).default(30),
});

export const catalogue = definePlugin({
  name: 'catalogue',
  options,
  apply(host, { prices, retirementNotice }) {
    const { catalog, commands, hooks } = host;
    const { documents } = host.operations;
    const work: PriceWork = {
      catalog,
      publicKey: prices.publicKey,
      use: <Result>(task: (all: Documents) => Promise<Result>): Promise<Result> => {
        const [store] = documents.list();
        if (!store) throw new Error('prices are kept with the ledger: add balance() to the configuration');
        return store.use(task);
      },
    };
    const service = createPriceService(host, work, { feed: prices.feed, every: prices.every * 1000 });
    watchPriceDates(host, prices.maxAge);
    watchRetirements(host, retirementNotice);
    const local = buildCommands({ ...listVerbs(operations), ...verbs }, async () => {
      await catalog.lookAtListings();
      return { getContext: () => ({ ...work, by: byCommand }), close: async () => undefined };
    });
    for (const command of [...local, ...createPriceCommands(work)]) commands.add(command);
    const routes = listOperationRoutes(operations, (operation, _, { key }) => ({
      ...work,
      async use(task) {
        const result = await work.use(task);
        if (isChange(operation)) void service.look();
        return result;
      },
      by: `key ${key}`,
    }));
    for (const route of routes) host.routes.add(route);
    // Runs after the plugin that stores documents has opened its store.
    hooks.ready.tapPromise({ name: 'catalogue', stage: 10 }, async () => {
      if (documents.list().next().done !== true) await service.start();
    });
    hooks.close.tapPromise({ name: 'catalogue', stage: -10 }, () => service.stop());
  },
});
