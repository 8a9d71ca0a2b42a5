/**
 * `prices update`, which writes the shared history that running gateways follow, `prices diff`, which only
 * compares, and `prices schema`.
 */
import { z } from 'zod';
import { toOneLine, type Catalog, type Command, type CommandResult } from '../../../core/index.ts';
import { loadFeed, formatSource } from './load-feed.ts';
import { formatFields, listNames } from './price-changes.ts';
import { statedListSchema } from './price-list.ts';
import { applyFeed, findModels, type FeedResult, type PriceWork } from './price-updates.ts';
import { flattenModel, readSnapshot, type Facts } from './snapshot.ts';

export const byCommand = 'command line';

export const moment = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })])
  .transform((text) => Date.parse(text));

function readMoment(text: string | boolean | undefined): number {
  if (text === undefined) return Date.now();
  const { success, data } = moment.safeParse(text);
  if (!success) throw new Error('--from is a time: 2027-01-31 or 2027-01-31T09:30:00Z');
  return data;
}

function describeResult({ applied, held, matched, fields }: FeedResult, isDry: boolean): string[] {
  if (fields.length === 0) return [`The prices of ${matched} models are as in the feed.`];
  if (isDry) return ['Nothing was applied.'];
  return [
    ...(applied === null ? [] : [`Applied as update ${applied}; "prices undo ${applied}" takes it back.`]),
    ...(held === null
      ? []
      : [`Held back as update ${held}: "prices confirm ${held}" applies it, or --yes at once.`]),
  ];
}

async function updatePrices(
  { catalog, publicKey, use }: PriceWork,
  source: string,
  options: Parameters<Command['run']>[1],
): Promise<CommandResult> {
  const { from, yes, vendor, dryRun } = options;
  const order = {
    source: formatSource(source),
    from: readMoment(from),
    by: byCommand,
    confirmed: yes === true,
    dry: dryRun === true,
  };
  const feed = await loadFeed(source, publicKey);
  const snapshot = readSnapshot(feed.text, feed.name, typeof vendor === 'string' ? vendor : undefined);
  await catalog.lookAtListings();
  const result = await use((documents) => applyFeed(documents, catalog, snapshot, order));
  if (result.matched === 0)
    throw new Error(`the feed has no price of a model of the catalogue; --vendor names its vendor`);
  const doubts = result.doubtful.map(({ provider, model, reasons }) =>
    toOneLine(`${provider} ${model}: ${reasons.join('; ')}`),
  );
  const lines = [
    ...(result.fields.length > 0 ? [formatFields(result.fields)] : []),
    ...doubts,
    ...describeResult(result, order.dry),
  ];
  return { json: result, text: lines.join('\n') };
}

/** What differs between the catalogue and new facts. */
interface Difference {
  readonly vendor: string;
  readonly model: string;
  readonly change: 'added' | 'missing' | 'changed';
  /** The figure that differs. */
  readonly figure?: string;
  readonly from?: string | undefined;
  /** Undefined if the facts do not contain it. */
  readonly to?: string | undefined;
}

/** `complete` means that the new facts hold everything, so what they lack is gone. */
function findDifferences(vendor: string, ours: Facts, theirs: Facts, complete: boolean): Difference[] {
  const known = [...ours].flatMap(([model, figures]): Difference[] => {
    const others = theirs.get(model);
    if (!others) return [{ vendor, model, change: 'missing' }];
    return listNames(figures, others).flatMap((figure) => {
      const [from, to] = [figures[figure], others[figure]];
      const isSame = from === to || (to === undefined && !complete);
      return isSame ? [] : [{ vendor, model, change: 'changed', figure, from, to }];
    });
  });
  const added = [...theirs.keys()].filter((model) => !ours.has(model));
  return [...known, ...added.map((model) => ({ vendor, model, change: 'added' }) as const)];
}

function formatDifference({ vendor, model, change, figure, from, to }: Difference): string {
  const name = `${vendor} ${model}`;
  if (change !== 'changed') return `${change === 'added' ? '+' : '-'} ${name}`;
  return `~ ${name}: ${figure} ${from ?? 'unstated'} → ${to ?? 'unstated'}`;
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

export function createPriceCommands(work: PriceWork): Command[] {
  return [
    {
      name: 'prices update <feed>',
      group: 'follow the prices of vendors',
      description:
        'apply the prices of a file or URL (models.dev, LiteLLM or our own list), and show what changes',
      options: [
        { flags: '--from <time>', description: 'when they take effect (now unless given)' },
        {
          flags: '--yes',
          description: 'also apply prices that drop by more than half, become free, or are incomplete',
        },
        { flags: '--dry-run', description: 'only show what would change' },
        { flags: '--vendor <name>', description: 'the vendor of the prices, if the feed does not name it' },
      ],
      run: ([source = ''], options) => updatePrices(work, source, options),
    },
    {
      name: 'prices diff <snapshot>',
      description:
        'compare new facts of a file or URL (our form, or models.dev) with the catalogue; applies nothing',
      options: [
        { flags: '--vendor <name>', description: 'the vendor of the facts, if the file does not name it' },
      ],
      async run([file = ''], { vendor }) {
        await work.catalog.lookAtListings();
        return comparePrices(work.catalog, file, typeof vendor === 'string' ? vendor : undefined);
      },
    },
    {
      name: 'prices schema',
      description: 'print the JSON schema of our own price list',
      async run() {
        const json = z.toJSONSchema(statedListSchema, { io: 'input' });
        return { json, text: JSON.stringify(json, undefined, 2) };
      },
    },
  ];
}
