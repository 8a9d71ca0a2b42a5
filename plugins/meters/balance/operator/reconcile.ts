/**
 * The command that compares a vendor's bill with the ledger: what `vendorCost` adds up to, by day and model.
 * It reads the bill here, and the usage from the ledger or with `--url` from a gateway elsewhere.
 */
import { z } from 'zod';
import { parseUsd } from '../../../../core/index.ts';
import { readInput } from '../../../shared/operator-routes.ts';
import { splitList, type OperatorClient, type Verbs } from '../../../shared/operator-verbs.ts';
import { formatTable } from '../../../shared/table.ts';
import { findStartOfDate } from '../budgets/periods.ts';
import { compareParts, least, sumParts, type Part } from '../reconcile/compare.ts';
import { fetchRows, readFile } from '../reconcile/read-rows.ts';
import { readLine, toName, vendors, type BillLine, type Vendor } from '../reconcile/vendors.ts';
import type { Ledger } from './operation.ts';
import { usageReport } from './reports.ts';

const mostLines = 500_000;
const mostDays = 400;

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

function addDays(from: string, days: number): string {
  return new Date(Date.parse(from) + days * 86_400_000).toISOString().slice(0, 10);
}

async function* openBill({ api }: Vendor, files: readonly string[], { from, to, ...asked }: Order) {
  for (const file of files) yield* readFile(file);
  if (files.length > 0) return;
  if (!api) throw new Error('<vendor>: it has no API of costs, so name a file that it exports');
  const last = to ?? addDays(new Date().toISOString(), -1);
  yield* fetchRows(api, from ?? addDays(last, -29), addDays(last, 1), asked.api);
}

async function readLines(vendor: Vendor, files: readonly string[], asked: Order): Promise<BillLine[]> {
  const lines: BillLine[] = [];
  for await (const row of openBill(vendor, files, asked)) {
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
  const days = lines.flatMap(({ day, until = day }) => [day, until]).toSorted();
  const yesterday = addDays(new Date().toISOString(), -1);
  const last = [days.at(-1) ?? '', yesterday].toSorted()[0] ?? '';
  const { from = days[0] ?? '', to = last } = asked;
  const within = lines.filter(({ day, until = day }) => day <= to && until >= from);
  const period = lines.length > 0 ? ` from ${from} to ${to} (today counts if --to names it)` : '';
  if (within.length === 0) throw new Error(`the bill has no line about a model${period}`);
  const cut = within.find(({ day, until = day }) => day < from || until > to);
  if (cut) throw new Error(`the bill has a line from ${cut.day} to ${cut.until}: leave out --from and --to`);
  const count = (Date.parse(to) - Date.parse(from)) / 86_400_000 + 1;
  if (count > mostDays) throw new Error(`from ${from} to ${to} are more than ${mostDays} days`);
  const isDaily = within.every(({ day, until = day }) => until === day);
  return { from, to, count, isDaily, zone: within[0]?.zone ?? 'UTC', within };
}

type Days = ReturnType<typeof findDays>;

/** What calls cost at the vendor. The ledger's days are those of UTC; others are asked for one by one. */
async function readLedger(
  { call }: OperatorClient<Ledger>,
  providers: readonly string[],
  { from, count, isDaily, zone }: Days,
) {
  const isByDay = isDaily && zone === 'UTC';
  const length = isDaily && !isByDay ? 1 : count;
  const toTime = (day: string): string => new Date(findStartOfDate(zone, day)).toISOString();
  const parts = [];
  for (let done = 0; done < count; done += length) {
    const start = addDays(from, done);
    const period = { from: toTime(start), to: toTime(addDays(start, length)) };
    const by = isByDay ? 'day,provider,model' : 'provider,model';
    const { data } = await call(usageReport, { input: { ...period, by } });
    for (const { day = start, model: id = '', provider, vendorCost, input, output, uses } of data)
      if (providers.includes(String(provider))) {
        const name = toName(id.slice(id.indexOf('/') + 1));
        const figures = { cost: parseUsd(vendorCost), input, output, uses };
        parts.push({ side: 'ledger' as const, day, name, id, ...figures });
      }
  }
  return parts;
}

type LedgerPart = Awaited<ReturnType<typeof readLedger>>[number];

/** What vendors bill without a model, and the units that we count it by. */
const tools: readonly (readonly [RegExp, readonly string[]])[] = [
  [/file/i, ['fileSearch']],
  [/search|grounding/i, ['webSearch', 'previewSearch']],
  [/container|code/i, ['container']],
];

/** A charge without a model, divided among the models by how often each used the tool that day. */
function divideCharge({ day, model, cost = 0n }: BillLine, ledger: readonly LedgerPart[] = []): Part[] {
  const [, units = []] = tools.find(([pattern]) => pattern.test(model)) ?? [];
  const used = ledger
    .flatMap(({ name, uses }) => uses.map(({ unit, count }) => ({ name, unit, count })))
    .filter(({ unit }) => units.includes(unit));
  const all = BigInt(used.reduce((sum, { count }) => sum + count, 0));
  if (all === 0n) return [{ side: 'bill', day, name: model, cost }];
  return used.map(({ name, count }) => ({ side: 'bill', day, name, cost: (cost * BigInt(count)) / all }));
}

async function compareBill(client: OperatorClient<Ledger>, asked: Order, files: readonly string[]) {
  const vendor = vendors.get(asked.vendor);
  if (!vendor) throw new Error(`<vendor>: the vendors are ${[...vendors.keys()].join(', ')}`);
  const days = findDays(await readLines(vendor, files, asked), asked);
  const { from, to, zone, isDaily, within } = days;
  const ledger = await readLedger(client, asked.providers ?? vendor.providers, days);
  const known = new Set(ledger.map(({ name }) => name));
  const byDay = Map.groupBy(ledger, ({ day }) => day);
  const bill = within.flatMap((given): Part[] => {
    const line = isDaily ? given : { ...given, day: from };
    if (line.isTool) return divideCharge(line, byDay.get(line.day));
    return [{ ...line, side: 'bill', name: vendor.findName(line.model, known) }];
  });
  const parts = [...bill, ...ledger];
  const differences = compareParts(parts, asked.tolerance);
  const sums = parts.map((part) => ({ ...part, day: '' }));
  const isShifted = differences.length > 0 && compareParts(sums, asked.tolerance).length === 0;
  return {
    ok: differences.length === 0,
    vendor: asked.vendor,
    from,
    to,
    zone,
    by: isDaily ? 'day' : 'period',
    tolerance: { percent: asked.tolerance, ...least },
    bill: sumParts(parts, 'bill'),
    ledger: sumParts(parts, 'ledger'),
    differences,
    hint: isShifted ? 'over all days they agree: is the bill in this zone?' : null,
  };
}

function formatReconciled(found: Awaited<ReturnType<typeof compareBill>>): string {
  const { vendor, from, to, zone, by, bill, ledger, tolerance, differences, hint } = found;
  const headings = ['DAY', 'MODEL', 'BILL USD', 'LEDGER USD', 'BILL TOKENS', 'LEDGER TOKENS', 'WHAT DIFFERS'];
  const formatTokens = ({ input, output }: typeof bill): string =>
    input + output > 0 ? `${input} in, ${output} out` : '';
  const rows = differences.map(({ day, model, what, bill: theirs, ledger: own }) => {
    const figures = [theirs.cost, own.cost, formatTokens(theirs), formatTokens(own)];
    return [by === 'day' ? day : '', model, ...figures, what];
  });
  const lines = [
    `${vendor}, ${from} to ${to}, in ${zone}: the bill is ${bill.cost} USD, the ledger has ${ledger.cost}.`,
    `A model of a ${by} may differ by ${tolerance.percent} % of the bill, or by ${tolerance.usd} USD or ` +
      `${tolerance.tokens} tokens if that is more.`,
    rows.length === 0 ? 'They agree.' : formatTable(headings, rows),
  ];
  return [...lines, ...(hint === null ? [] : [hint])].join('\n');
}

export const reconcileVerbs: Verbs<Ledger> = {
  'reconcile <vendor> [files...]': {
    description: "compare a vendor's bill with the ledger; exits with 1 if they differ",
    flags: {
      '--from <day>': 'first day (of the bill, or 30 days before, unless given)',
      '--to <day>': 'last day (of the bill, or yesterday, unless given)',
      '--providers <names>': {
        description: 'comma-separated providers whose calls it bills',
        read: splitList,
      },
      '--tolerance <percent>': 'how much of the bill may differ (1 unless given)',
      '--api <url>': "where the vendor's API is, if not at its usual address",
    },
    async run(client, { words: [, ...files], input }) {
      const found = await compareBill(client, readInput(order, input), files);
      return { json: found, text: formatReconciled(found), failed: !found.ok };
    },
  },
};
