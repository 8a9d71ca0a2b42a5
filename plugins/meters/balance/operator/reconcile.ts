/**
 * The command that compares a vendor's bill with the ledger by day and model: what `vendorCost` adds up to.
 * It reads the bill here, and the usage from the ledger or with `--url` from a gateway elsewhere. What
 * differs by little is taken as equal: vendors round, and book a call at midnight on the other day.
 */
import { z } from 'zod';
import { formatUsd, parseUsd, type Nano } from '../../../../core/index.ts';
import { readInput } from '../../../shared/operator-routes.ts';
import { buildListFlag, type OperatorClient, type Verbs } from '../../../shared/operator-verbs.ts';
import { formatTable } from '../../../shared/table.ts';
import { findStartOfDate, formatDate } from '../budgets/periods.ts';
import { readRows } from '../reconcile/read-rows.ts';
import { readLine, toName, vendors, type BillLine, type Vendor } from '../reconcile/vendors.ts';
import type { Ledger } from './operation.ts';
import { usageReport } from './reports.ts';
import { addToDate } from './statement.ts';

const mostLines = 500_000;
const mostDays = 400;
/** What may differ for a day and a model: a share of the bill, and at least so much. */
const least = { usd: '0.01', tokens: 100 };

const date = z.iso.date('it is no day, as 2027-01-31').optional();
const order = z.strictObject({
  vendor: z.string(),
  from: date,
  to: date,
  providers: z.array(z.string()).optional(),
  tolerance: z.coerce.number('it is no number of per cent').min(0).max(100).default(1),
  api: z.url('it is no URL').optional(),
});
type Order = z.output<typeof order>;

/** A part of either side. */
interface Part extends Pick<BillLine, 'day' | 'cost' | 'input' | 'output'> {
  readonly side: 'bill' | 'ledger';
  /** The model's name without its version. */
  readonly name: string;
  /** The model as the ledger names it. */
  readonly id?: string;
}

function sumParts(parts: readonly Part[], side: Part['side']) {
  const own = parts.filter((part) => part.side === side);
  const cost = own.reduce<Nano>((sum, part) => sum + (part.cost ?? 0n), 0n);
  const input = own.reduce((sum, part) => sum + part.input, 0);
  const output = own.reduce((sum, part) => sum + part.output, 0);
  return { lines: own.length, cost: formatUsd(cost), input, output };
}

/** The differences in the order of days. */
function compareParts(parts: readonly Part[], percent: number) {
  const bills = parts.filter(({ side }) => side === 'bill');
  const isPriced = bills.some(({ cost }) => cost !== undefined);
  // Vendors count no tokens of some models, such as those that are billed by the picture.
  const counted = new Set(bills.flatMap(({ input, output, name }) => (input + output > 0 ? name : [])));
  const isClose = (theirs: number, own: number, most: number): boolean =>
    Math.abs(theirs - own) <= Math.max(most, (Math.abs(theirs) * percent) / 100);
  const sides = new Set(parts.map(({ day, side }) => `${day} ${side}`));
  const isLonely = (day: string): boolean => !sides.has(`${day} bill`) || !sides.has(`${day} ledger`);
  // A day that one side lacks is compared as a whole.
  const groups = Map.groupBy(parts, ({ day, name }) => (isLonely(day) ? day : `${day} ${name}`));
  return [...groups.keys()].toSorted().flatMap((key) => {
    const group = groups.get(key) ?? [];
    const { day = '', name = '' } = group[0] ?? {};
    const [bill, ledger] = [sumParts(group, 'bill'), sumParts(group, 'ledger')];
    const isOneSided = bill.lines === 0 || ledger.lines === 0;
    const isCounted = counted.has(name) || (isOneSided && counted.size > 0);
    const isSameUse =
      isClose(bill.input, ledger.input, least.tokens) && isClose(bill.output, ledger.output, least.tokens);
    const isSameCost = !isPriced || isClose(Number(bill.cost), Number(ledger.cost), Number(least.usd));
    if (isSameCost && (isSameUse || !isCounted)) return [];
    const unpriced = isCounted
      ? 'tokens agree and money does not'
      : 'money differs, and the bill has no tokens';
    const both = isCounted && !isSameUse ? 'tokens differ' : unpriced;
    const what = isOneSided ? `only the ${bill.lines === 0 ? 'ledger' : 'bill'} has it` : both;
    const model = key === day ? 'all models' : (group.find(({ id }) => id)?.id ?? name);
    return [{ day, model, what, bill, ledger }];
  });
}

const findYesterday = (): string => addToDate(formatDate('UTC', Date.now()), { days: -1 });

async function readLines(vendor: Vendor, files: readonly string[], asked: Order): Promise<BillLine[]> {
  const lines: BillLine[] = [];
  const last = asked.to ?? findYesterday();
  const period = [asked.from ?? addToDate(last, { days: -29 }), addToDate(last, { days: 1 })] as const;
  for await (const row of readRows(files, vendor.api, period, asked.api)) {
    const line = readLine(row, vendor);
    if (line?.model === '')
      throw new Error('it has no models: export costs by line item or description, and usage by model');
    if (line) lines.push(line);
    if (lines.length > mostLines) throw new Error(`the bill has more than ${mostLines} lines: shorten it`);
  }
  return lines;
}

/**
 * The days that a bill is about. Today is left out unless it is asked for, since it is not over. If lines are
 * about several days, all days are compared as one.
 */
function findDays(lines: readonly BillLine[], asked: Order) {
  const days = lines.flatMap(({ day, until }) => [day, until]).toSorted();
  const last = [days.at(-1) ?? '', findYesterday()].toSorted()[0] ?? '';
  const { from = days[0] ?? '', to = last } = asked;
  const within = lines.filter(({ day, until }) => day <= to && until >= from);
  const period = lines.length > 0 ? ` from ${from} to ${to} (today counts if --to names it)` : '';
  const [first] = within;
  if (!first) throw new Error(`the bill has no line about a model${period}`);
  const cut = within.find(({ day, until }) => day < from || until > to);
  if (cut) throw new Error(`the bill has a line from ${cut.day} to ${cut.until}: leave out --from and --to`);
  if (addToDate(from, { days: mostDays }) <= to)
    throw new Error(`from ${from} to ${to} are more than ${mostDays} days`);
  const isDaily = within.every(({ day, until }) => until === day);
  return { from, to, by: isDaily ? 'day' : 'period', zone: first.zone, within };
}

/** What calls cost at the vendor on each of the days. */
async function readLedger(
  { call }: OperatorClient<Ledger>,
  providers: readonly string[],
  { from, to, by, zone }: Omit<ReturnType<typeof findDays>, 'within'>,
) {
  const toTime = (day: string): string => new Date(findStartOfDate(zone, day)).toISOString();
  const parts = [];
  for (let day = from; day <= to; day = addToDate(day, { days: 1 })) {
    const period = { from: toTime(day), to: toTime(addToDate(day, { days: 1 })) };
    const { data } = await call(usageReport, { input: { ...period, by: 'provider,model' } });
    for (const { model: id = '', provider, vendorCost, input, output, uses } of data) {
      const name = toName(id.slice(id.indexOf('/') + 1));
      const figures = { cost: parseUsd(vendorCost), input, output, uses };
      const part = { side: 'ledger' as const, day: by === 'day' ? day : from, name, id, ...figures };
      if (providers.includes(String(provider))) parts.push(part);
    }
  }
  return parts;
}

/** What vendors bill without a model, and the units that we count it by. */
const tools: readonly (readonly [RegExp, readonly string[]])[] = [
  [/file/i, ['fileSearch']],
  [/search|grounding/i, ['webSearch', 'previewSearch']],
  [/container|code/i, ['container']],
];

/** A charge without a model, divided among the models by how often each used the tool that day. */
function divideCharge(
  { day, model, cost = 0n }: BillLine,
  ledger: Awaited<ReturnType<typeof readLedger>>,
): Part[] {
  const [, units = []] = tools.find(([pattern]) => pattern.test(model)) ?? [];
  const used = ledger
    .filter((part) => part.day === day)
    .flatMap(({ name, uses }) => uses.map(({ unit, count }) => ({ name, unit, count: BigInt(count) })))
    .filter(({ unit }) => units.includes(unit));
  const all = used.reduce((sum, { count }) => sum + count, 0n);
  const shares = all === 0n ? [{ name: model, count: 1n }] : used;
  const part = { side: 'bill', day, input: 0, output: 0 } as const;
  return shares.map(({ name, count }) => ({ ...part, name, cost: (cost * count) / (all || 1n) }));
}

async function compareBill(client: OperatorClient<Ledger>, asked: Order, files: readonly string[]) {
  const vendor = vendors.get(asked.vendor);
  if (!vendor) throw new Error(`<vendor>: the vendors are ${[...vendors.keys()].join(', ')}`);
  const { within, ...days } = findDays(await readLines(vendor, files, asked), asked);
  const ledger = await readLedger(client, asked.providers ?? vendor.providers, days);
  const known = new Set(ledger.map(({ name }) => name));
  const bill = within.flatMap((line): Part[] => {
    const given = { ...line, day: days.by === 'day' ? line.day : days.from };
    if (given.isTool) return divideCharge(given, ledger);
    return [{ ...given, side: 'bill', name: vendor.findName?.(given.model, known) ?? toName(given.model) }];
  });
  const parts = [...bill, ...ledger];
  const differences = compareParts(parts, asked.tolerance);
  const sums = parts.map((part) => ({ ...part, day: '' }));
  const isShifted = differences.length > 0 && compareParts(sums, asked.tolerance).length === 0;
  return {
    ok: differences.length === 0,
    vendor: asked.vendor,
    ...days,
    tolerance: { percent: asked.tolerance, ...least },
    bill: sumParts(parts, 'bill'),
    ledger: sumParts(parts, 'ledger'),
    differences,
    hint: isShifted ? 'over all days they agree: is the bill in this zone?' : null,
  };
}

const headings = 'DAY|MODEL|BILL USD|LEDGER USD|BILL TOKENS|LEDGER TOKENS|WHAT DIFFERS'.split('|');

function formatReconciled(found: Awaited<ReturnType<typeof compareBill>>): string {
  const { vendor, from, to, zone, by, bill, ledger, tolerance, differences, hint } = found;
  const formatTokens = ({ input, output }: typeof bill): string =>
    input + output > 0 ? `${input} in, ${output} out` : '';
  const rows = differences.map(({ day, model, what, bill: theirs, ledger: own }) => {
    const figures = [theirs.cost, own.cost, formatTokens(theirs), formatTokens(own)];
    return [by === 'day' ? day : '', model, ...figures, what];
  });
  return [
    `${vendor}, ${from} to ${to}, in ${zone}: the bill is ${bill.cost} USD, the ledger has ${ledger.cost}.`,
    `A model of a ${by} may differ by ${tolerance.percent} % of the bill, or by ${tolerance.usd} USD or ` +
      `${tolerance.tokens} tokens if that is more.`,
    rows.length === 0 ? 'They agree.' : formatTable(headings, rows),
    ...(hint === null ? [] : [hint]),
  ].join('\n');
}

export const reconcileVerbs: Verbs<Ledger> = {
  'reconcile <vendor> [files...]': {
    description: "compare a vendor's bill with the ledger; exits with 1 if they differ",
    flags: {
      '--from <day>': 'first day (of the bill, or 30 days before, unless given)',
      '--to <day>': 'last day (of the bill, or yesterday, unless given)',
      '--providers <names>': buildListFlag('providers whose calls it bills'),
      '--tolerance <percent>': 'how much of the bill may differ (1 unless given)',
      '--api <url>': "where the vendor's API is, if not at its usual address",
    },
    async run(client, { words: [, ...files], input }) {
      const found = await compareBill(client, readInput(order, input), files);
      return { json: found, text: formatReconciled(found), failed: !found.ok };
    },
  },
};
