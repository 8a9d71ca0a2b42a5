/** `prices update`, which writes the shared history that running gateways follow, and `prices schema`. */
import { z } from 'zod';
import { toOneLine, type Command, type CommandResult } from '../../../core/index.ts';
import { loadFeed, formatSource } from './load-feed.ts';
import { formatFields } from './price-changes.ts';
import { statedListSchema } from './price-list.ts';
import { applyFeed, type FeedResult, type PriceWork } from './price-updates.ts';
import { readSnapshot } from './snapshot.ts';

export const byCommand = 'command line';

const moment = z
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
      name: 'prices schema',
      description: 'print the JSON schema of our own price list',
      async run() {
        const json = z.toJSONSchema(statedListSchema, { io: 'input' });
        return { json, text: JSON.stringify(json, undefined, 2) };
      },
    },
  ];
}
