/**
 * The models and their prices: `models` lists them, `prices diff` compares new facts with the catalogue,
 * and `prices update` applies new prices, which a feed can also do automatically.
 */
import { z } from 'zod';
import {
  definePlugin,
  longestDeadline,
  type Catalog,
  type CommandResult,
  type Documents,
} from '../../core/index.ts';
import { isChange, listOperationRoutes } from '../shared/operations.ts';
import { buildCommands, listVerbs } from '../shared/operator-verbs.ts';
import { loadFeed, publicKeySchema } from './catalogue/load-feed.ts';
import { operations, verbs } from './catalogue/operations.ts';
import { byCommand, createPriceCommands } from './catalogue/price-commands.ts';
import { watchPriceDates } from './catalogue/price-dates.ts';
import { PriceService } from './catalogue/price-service.ts';
import { findModels, type PriceWork } from './catalogue/price-updates.ts';
import { flattenModel, readSnapshot, type Facts } from './catalogue/snapshot.ts';

/** The catalogue's facts about a vendor's models. */
function findFacts(catalog: Catalog, vendor: string): Facts | undefined {
  const models = findModels(catalog, vendor);
  return models.length > 0
    ? new Map(models.map((model) => [model.upstream, flattenModel(model)]))
    : undefined;
}

async function comparePrices(
  catalog: Catalog,
  source: string,
  vendor: string | undefined,
): Promise<CommandResult> {
  const { name: file, text } = await loadFeed(source);
  const { complete, vendors } = readSnapshot(text, file, vendor);
  const snapshot = [...vendors].filter(([name]) => vendor === undefined || name === vendor);
  const compared: string[] = [];
  const found = snapshot.flatMap(([name, theirs]) => {
    const ours = findFacts(catalog, name);
    if (!ours) return [];
    compared.push(name);
    return findDifferences(name, ours, theirs, complete);
  });
  if (compared.length === 0) {
    const names = snapshot.map(([name]) => `"${name}"`).join(', ');
    throw new Error(
      names
        ? `the catalogue has no models of ${names}; name the vendor with --vendor`
        : `${file} has no models${vendor ? ` of "${vendor}"` : ''}`,
    );
  }
  const summary = `${found.length} differences in ${compared.join(', ')}. Nothing was applied.`;
  return {
    json: { compared, differences: found },
    text: [...found.map(formatDifference), summary].join('\n'),
  };
}

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
});

export const catalogue = definePlugin({
  name: 'catalogue',
  options,
  apply(host, { prices }) {
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
    const { feed, every } = prices;
    const service = new PriceService(host, work.use, {
      automatic: feed === undefined ? undefined : { feed, every: every * 1000 },
      publicKey: prices.publicKey,
    });
    watchPriceDates(host, prices.maxAge);
    const local = buildCommands([...listVerbs(operations), ...verbs], async () => {
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
    commands.add({
      name: 'prices diff <snapshot>',
      description:
        'compare new facts of a file or URL (our form, or models.dev) with the catalogue; applies nothing',
      options: [
        { flags: '--vendor <name>', description: 'the vendor of the facts, if the file does not name it' },
      ],
      async run([file = ''], { vendor }) {
        await catalog.lookAtListings();
        return comparePrices(catalog, file, typeof vendor === 'string' ? vendor : undefined);
      },
    });
  },
});

/**
 * Compares a snapshot with the catalogue: models that it adds or lacks, and every figure that differs.
 */
export interface Difference {
  readonly vendor: string;
  readonly model: string;
  readonly change: 'added' | 'missing' | 'changed';
  /** The figure that differs. */
  readonly figure?: string;
  readonly from?: string;
  /** Undefined if the snapshot does not contain it. */
  readonly to?: string;
}

/** `complete` means that the snapshot holds everything, so what it lacks is gone. */
export function findDifferences(vendor: string, ours: Facts, theirs: Facts, complete: boolean): Difference[] {
  const found: Difference[] = [];
  for (const [model, figures] of ours) {
    const other = theirs.get(model);
    if (!other) {
      found.push({ vendor, model, change: 'missing' });
      continue;
    }
    for (const figure of new Set([...Object.keys(figures), ...Object.keys(other)])) {
      const [from, to] = [figures[figure], other[figure]];
      if (from === to || (to === undefined && !complete)) continue;
      found.push({
        vendor,
        model,
        change: 'changed',
        figure,
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
      });
    }
  }
  for (const model of theirs.keys()) if (!ours.has(model)) found.push({ vendor, model, change: 'added' });
  return found;
}

export function formatDifference({ vendor, model, change, figure, from, to }: Difference): string {
  const name = `${vendor} ${model}`;
  if (change !== 'changed') return `${change === 'added' ? '+' : '-'} ${name}`;
  return `~ ${name}: ${figure} ${from ?? 'unstated'} → ${to ?? 'unstated'}`;
}
