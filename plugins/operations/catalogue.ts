/**
 * The models and their prices: `models` lists them, `prices diff` compares new facts with the catalogue,
 * and `prices update` applies new prices, which a feed can also do automatically.
 */
import { z } from 'zod';
import {
  definePlugin,
  formatTable,
  formatUsd,
  longestDeadline,
  type Catalog,
  type CommandResult,
  type Documents,
  type Model,
} from '../../core/index.ts';
import { loadFeed, publicKeySchema } from './catalogue/load-feed.ts';
import { createPriceCommands, type PriceWork } from './catalogue/price-commands.ts';
import { watchPriceDates } from './catalogue/price-dates.ts';
import { flattenRates } from './catalogue/price-list.ts';
import { PriceService } from './catalogue/price-service.ts';
import { findModels } from './catalogue/price-updates.ts';
import { createCatalogueRoutes } from './catalogue/routes.ts';
import { flattenModel, readSnapshot, type Facts } from './catalogue/snapshot.ts';

function listProviders(catalog: Catalog, id: string): string[] {
  return [...new Set(catalog.find(id).map(({ provider }) => provider.name))];
}

function describeModel(catalog: Catalog, model: Model): object {
  const { id, name, contextLength, outputLimit, input, output, expires, successor, aliases, price } = model;
  return {
    id,
    name,
    providers: listProviders(catalog, id),
    prices: Object.fromEntries(flattenRates(price ?? {})),
    free: model.free ?? false,
    contextLength,
    outputLimit,
    input,
    output,
    expires,
    ...(successor ? { successor } : {}),
    aliases,
  };
}

function explainNoModels(catalog: Catalog, owner: string | undefined): string {
  const owners = new Set(catalog.listModels().map(({ id }) => id.slice(0, id.indexOf('/'))));
  if (owner === undefined || owners.size === 0) return "No models: set a provider's key.";
  return `No models of "${owner}", only of ${[...owners].toSorted().join(', ')}: set its provider's key.`;
}

function listModels(catalog: Catalog, owner: string | undefined): CommandResult {
  const owned = catalog.listModels().filter(({ id }) => owner === undefined || id.startsWith(`${owner}/`));
  const models = owned.toSorted((first, second) => (first.id < second.id ? -1 : 1));
  const json = models.map((model) => describeModel(catalog, model));
  if (models.length === 0) return { json, text: explainNoModels(catalog, owner) };
  const text = formatTable(
    ['MODEL', 'INPUT', 'OUTPUT', 'CONTEXT', 'PROVIDERS', 'LAST DAY'],
    models.map(({ id, price, contextLength, expires }) => [
      id,
      price ? formatUsd(price.input) : 'free',
      price ? formatUsd(price.output) : 'free',
      String(contextLength),
      listProviders(catalog, id).join(', '),
      expires ?? '',
    ]),
  );
  return { json, text };
}

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
    for (const command of createPriceCommands(work)) commands.add(command);
    for (const route of createCatalogueRoutes(work, () => void service.look())) host.routes.add(route);
    // Runs after the plugin that stores documents has opened its store.
    hooks.ready.tapPromise({ name: 'catalogue', stage: 10 }, async () => {
      if (documents.list().next().done !== true) await service.start();
    });
    hooks.close.tapPromise({ name: 'catalogue', stage: -10 }, () => service.stop());
    commands.add({
      name: 'models [owner]',
      description:
        'list the models on offer, all or of one owner: USD for a million tokens, context, providers',
      async run([owner]) {
        await catalog.lookAtListings();
        return listModels(catalog, owner);
      },
    });
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
