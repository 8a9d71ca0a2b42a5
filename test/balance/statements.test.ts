/**
 * Statements of neighbouring months meet, and each line is what an independent sum of the entries says, by
 * the calendar of `Temporal` in the time zone of the statement.
 */
import * as fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { formatUsd, parseUsd } from '../../core/index.ts';
import { formatUses } from '../../plugins/meters/balance/operator/csv.ts';
import { computeStatement, statementQuery } from '../../plugins/meters/balance/operator/statement.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { add, buildCall } from '../contract/made-calls.ts';
import { request } from '../contract/store.ts';
import { price, quote, settlement } from './calls.ts';
import { ledgers } from './postgres-database.ts';

const months = ['2026-02', '2026-03', '2026-04'] as const;
/** Clocks change in March and April, at midnight too; some days begin within an hour. */
const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Beirut',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
] as const;
const hour = 3_600_000;

function computeStart(zone: string, date: string): number {
  return Temporal.PlainDate.from(date).toZonedDateTime(zone).startOfDay().epochMilliseconds;
}

/** The boundaries of months and the days of the clock changes of all zones, and moments around them. */
const dates = [
  '2026-02-01',
  '2026-03-01',
  '2026-03-08',
  '2026-03-29',
  '2026-04-01',
  '2026-04-05',
  '2026-05-01',
];
const boundaries = [...new Set(dates.flatMap((date) => zones.map((zone) => computeStart(zone, date))))];
const moments = fc
  .tuple(fc.constantFrom(...boundaries), fc.constantFrom(-24, -1, 0, 0, 1, 23), fc.constantFrom(-1, 0, 1))
  .map(([boundary, hours, milliseconds]) => boundary + hours * hour + milliseconds);

const step = fc.oneof(
  fc.record({ kind: fc.constant('credit' as const), at: moments, amount: fc.bigInt({ min: 1n, max: 99n }) }),
  fc.record({ kind: fc.constant('call' as const), at: moments, amount: fc.bigInt({ min: 0n, max: 30n }) }),
  fc.record({ kind: fc.constant('sum up' as const) }),
);

/** All of them take long; over the runs each has its turn. */
const someZones = fc.subarray([...zones], { minLength: 2, maxLength: 2 });

const opened: { dispose(): Promise<void> }[] = [];
afterAll(async () => {
  for (const each of opened) await each.dispose();
});

type Statement = Awaited<ReturnType<typeof computeStatement>>;

/** What lines say, day by day, as sums of nano-USD. */
function sumByDay(
  zone: string,
  lines: readonly (readonly [at: number, kind: string, amount: bigint])[],
): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const [at, kind, amount] of lines) {
    const date = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate();
    const name = `${date.toString()} ${kind}`;
    sums.set(name, (sums.get(name) ?? 0n) + amount);
  }
  return new Map([...sums].filter(([, sum]) => sum !== 0n));
}

/** The day's pictures and seconds, from calls and, where days begin within an hour, from entries. */
it.each(ledgers)('statements from %s name what was used of each unit, by day and model', async (_, open) => {
  const bench = await open();
  opened.push(bench);
  const { store } = bench;
  await store.definePrice(price);
  await store.createAccount({ name: 'acme', at: 1 });
  await store.addCredit({ account: 'acme', kind: 'bonus', reference: undefined, amount: 1000n, at: 1 });
  const usage = { input: 10, inputAudio: 4, images: 2, secondIn: 0.5 };
  const at = Date.UTC(2026, 2, 2, 18, 20);
  for (const [id, later] of [
    ['one', 0],
    ['two', 20 * 60_000],
  ] as const) {
    await store.reserve(request(id, 'acme'));
    await store.settle(settlement(id, 5n, { at: at + later, usage: JSON.stringify(usage) }));
    await add(store, buildCall(id, 'acme', at + later, { usage }));
  }
  const read = async (zone: string) =>
    (await computeStatement(store, 'acme', statementQuery.parse({ month: '2026-03', zone }))).lines.map(
      ({ at: day, uses }) => ({ day, uses: formatUses(uses) }),
    );
  expect(await read('UTC')).toEqual([
    { day: '2026-03-02T00:00:00.000Z', uses: 'inputAudio 8, input 20, image 4, secondIn 1' },
  ]);
  const one = 'inputAudio 4, input 10, image 2, secondIn 0.5';
  expect(await read('Asia/Kolkata')).toEqual([
    { day: '2026-03-01T18:30:00.000Z', uses: one },
    { day: '2026-03-02T18:30:00.000Z', uses: one },
  ]);
});

async function expectBalanced(store: Store, account: string, zone: string): Promise<void> {
  const entries = (await store.listEntries({ account, limit: 1000 })).map(
    ({ at, credits, revenue }) =>
      [at, credits === 0n ? 'usage' : 'credit', credits === 0n ? -revenue : -credits] as const,
  );
  const sumBefore = (time: number): string =>
    formatUsd(entries.reduce((sum, [at, , amount]) => (at < time ? sum + amount : sum), 0n));
  let last: Statement | undefined;
  for (const month of months) {
    const made = await computeStatement(store, account, statementQuery.parse({ month, zone }));
    const first = Temporal.PlainDate.from(`${month}-01`);
    const [from = 0, to = 0] = [first, first.add({ months: 1 })].map((date) =>
      computeStart(zone, date.toString()),
    );
    expect([made.from, made.to].map((text) => Date.parse(text))).toEqual([from, to]);
    expect(made.opening).toBe(sumBefore(from));
    expect(made.closing).toBe(sumBefore(to));
    if (last) expect([made.opening, made.from]).toEqual([last.closing, last.to]);
    expect(
      sumByDay(
        zone,
        made.lines.map(({ at, kind, amount }) => [Date.parse(at), kind, parseUsd(amount)]),
      ),
    ).toEqual(
      sumByDay(
        zone,
        entries.filter(([at]) => at >= from && at < to),
      ),
    );
    let balance = parseUsd(made.opening);
    for (const line of made.lines) {
      balance += parseUsd(line.amount);
      expect(line.balance).toBe(formatUsd(balance));
    }
    expect(parseUsd(made.opening) + parseUsd(made.credited) - parseUsd(made.used)).toBe(
      parseUsd(made.closing),
    );
    last = made;
  }
}

it.each(ledgers)(
  'statements from %s balance in any zone, whatever happens where months end and clocks change',
  async (_, open) => {
    const bench = await open();
    opened.push(bench);
    const { store } = bench;
    await store.definePrice(price);
    let accounts = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), someZones, async (steps, held) => {
        const account = `account-${(accounts += 1)}`;
        await store.createAccount({ name: account, at: 1 });
        const credit = { account, kind: 'bonus', reference: undefined } as const;
        await store.addCredit({ ...credit, amount: 1000n, at: Date.UTC(2026, 0, 31) });
        for (const [index, each] of steps.entries()) {
          if (each.kind === 'sum up') await store.addCalls({ calls: [] });
          else if (each.kind === 'credit')
            await store.addCredit({ ...credit, amount: each.amount, at: each.at });
          else {
            const id = `${account}-${index}`;
            await store.reserve({ id, account, key: 'key-1', quotes: [quote(10n)], at: each.at - hour });
            // More than 10 nano-USD exceed what is reserved: the call has two entries.
            await store.settle(settlement(id, each.amount, { at: each.at, model: `m/${index % 2}` }));
          }
        }
        for (const zone of held) await expectBalanced(store, account, zone);
      }),
      { numRuns: Number(process.env.HISTORIES ?? 15), endOnFailure: true },
    );
  },
);
