/** Exports of all entries: complete, in order, exact, resumable during calls, and no faster than read. */
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formatUsd } from '../../core/index.ts';
import { exportEntries } from '../../plugins/meters/balance/operator/export.ts';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { sumUpAll } from '../contract/sum-up-all.ts';
import { openDatabase } from '../support/database.ts';
import { openAccount, newKey, price, quote, settlement, buildStore } from './calls.ts';
import { parseLines, joinText } from './exported.ts';
import { ledgers, queryDatabase, startHolder } from './postgres-database.ts';

async function exportNumbers(store: Store, after: number, more: object = {}) {
  const { lines, last } = await exportEntries(store, { format: 'jsonl', after, ...more });
  return { numbers: parseLines(await joinText(lines)).map(({ number }) => number), last };
}

async function openLedger(open: (typeof ledgers)[number][1]): Promise<Store> {
  const { store, dispose } = await open();
  onTestFinished(dispose);
  return store;
}

/** Makes accounts and calls of every kind; each call leaves two or three entries. */
async function fill(store: Store, calls: number, from = 0): Promise<void> {
  if (from === 0) {
    await store.definePrice(price);
    for (const name of ['a', 'b']) {
      await store.createAccount({ name, at: 1 });
      await store.addCredit({
        account: name,
        amount: 10n ** 15n,
        kind: 'bonus',
        reference: `=1+1 ${name}`,
        at: 1,
      });
    }
    await store.createKey(newKey('aaaaaaaaaaaa0001', 'a'));
    const total = { scope: 'account', subject: 'a', per: 'total', zone: 'UTC' } as const;
    await store.createBudget({ ...total, limit: 10n ** 15n, hard: true, thresholds: [], at: 1 });
  }
  await Promise.all(
    Array.from({ length: calls }, async (_, index) => {
      const id = `call-${from + index}`;
      const at = from + index;
      const account = index % 2 === 0 ? 'a' : 'b';
      await store.reserve({ id, account, key: 'aaaaaaaaaaaa0001', quotes: [quote(1_234_567n)], at });
      const owed = [undefined, 0n, 1_000_000n, 9_876_543_211n][index % 4];
      const usage = index % 3 === 0 ? { usage: '{"input":1,"output":0,"rule":"night, late"}' } : {};
      await store.settle(
        settlement(id, owed, { at, vendor: owed === 1_000_000n ? 7n : undefined, ...usage }),
      );
    }),
  );
}

describe.each(ledgers)('an export from %s', (_, open) => {
  it('has every entry once and in order, with the values that the list has', async () => {
    const store = await openLedger(open);
    await fill(store, 400);
    const entries = await store.listEntries({ limit: 10_000 });
    const { lines, last } = await exportEntries(store, { format: 'jsonl', after: 0 });
    const rows = parseLines(await joinText(lines));
    expect(rows.map(({ number }) => number)).toEqual(entries.map(({ number }) => number));
    expect(last).toBeGreaterThanOrEqual(entries.at(-1)?.number ?? Infinity);
    for (const [index, entry] of entries.entries())
      expect(rows[index]).toMatchObject({
        kind: entry.kind,
        account: entry.account,
        at: new Date(entry.at).toISOString(),
        available: formatUsd(entry.available),
        reserved: formatUsd(entry.reserved),
        revenue: formatUsd(entry.revenue),
        credits: formatUsd(entry.credits),
        ...(entry.call !== undefined && { call: entry.call }),
        ...(entry.vendor !== undefined && { vendorCost: formatUsd(entry.vendor) }),
        ...(entry.usage !== undefined && { usage: JSON.parse(entry.usage) }),
        ...(entry.budgets !== undefined && { budgets: [{ budget: expect.any(Number) }] }),
      });
    const csv = (await joinText((await exportEntries(store, { format: 'csv', after: 0 })).lines)).split(
      '\r\n',
    );
    expect(csv[0]).toMatch(/^number,at,kind,account,key,call,/);
    expect(csv).toHaveLength(entries.length + 2);
    // A reference that a spreadsheet would run, a negative amount that it may read, and a rule with a comma.
    expect(csv[1]).toContain(",-1000000,1000000,0,0,,0,0,,,bonus,'=1+1 a,");
    expect(csv.join('\n')).toContain('"night, late"');
    expect(csv.some((line) => /,"input \d+, output \d+"$/.test(line))).toBe(true);
  });

  it('filters by account, key, kind and time, and goes on behind any entry', async () => {
    const store = await openLedger(open);
    await fill(store, 40);
    const all = await store.listEntries({ limit: 10_000 });
    const filter = fc.record(
      {
        account: fc.constantFrom('a', 'b', 'unknown'),
        key: fc.constantFrom('aaaaaaaaaaaa0001', 'other'),
        kind: fc.constantFrom('credit', 'post', 'overage', 'void'),
        from: fc.integer({ min: 0, max: 45 }),
        to: fc.integer({ min: 0, max: 45 }),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(filter, fc.integer({ min: 0, max: 130 }), async (wanted, after) => {
        const { account, key, kind, from = 0, to = Infinity } = wanted;
        const expected = all.filter(
          (entry) =>
            entry.number > after &&
            (account === undefined || entry.account === account) &&
            (key === undefined || entry.key === key) &&
            (kind === undefined || entry.kind === kind) &&
            entry.at >= from &&
            entry.at < to,
        );
        expect((await exportNumbers(store, after, wanted)).numbers).toEqual(
          expected.map(({ number }) => number),
        );
      }),
      { numRuns: 40 },
    );
  });

  it('that is continued again and again while calls are written has every entry once', async () => {
    const store = await openLedger(open);
    await fill(store, 4);
    const writing = (async () => {
      for (let round = 1; round <= 12; round += 1) await fill(store, 20, round * 100);
    })();
    const seen: number[] = [];
    let isDone = false;
    const over = writing.then(() => (isDone = true));
    for (let after = 0, isLast = false; !isLast;) {
      isLast = isDone;
      const { numbers, last } = await exportNumbers(store, after);
      seen.push(...numbers);
      after = last;
    }
    await over;
    const { numbers } = await exportNumbers(store, seen.at(-1) ?? 0);
    const entries = await store.listEntries({ limit: 10_000 });
    expect([...seen, ...numbers]).toEqual(entries.map(({ number }) => number));
  });
});

it('an export from PostgreSQL waits for a number that an open transaction has taken', async () => {
  const { url, drop } = await openDatabase();
  const store = await openPostgres({ url });
  await fill(store, 2);
  const before = await exportNumbers(store, 0);
  const holder = await startHolder(url);
  await holder.take('b');
  await holder.takeNumber();
  await openAccount(store, 'c', 5n);
  const [credit] = (await store.listEntries({ account: 'c', limit: 10 })).map(({ number }) => number);
  // The last number is taken by the newest transaction of all.
  const newest = await startHolder(url);
  await newest.takeNumber();
  let isOver = false;
  const during = exportNumbers(store, before.last).finally(() => (isOver = true));
  // A statement later it still waits.
  await store.sumTotals();
  expect(isOver).toBe(false);
  await Promise.all([holder.release(), newest.release()]);
  expect((await during).numbers).toEqual([credit]);
  await store.close();
  await drop();
});

it('an export from PostgreSQL waits for no transaction of another database', async () => {
  const [own, other] = [await openDatabase(), await openDatabase()];
  const [store, stranger] = [await openPostgres(own), await openPostgres(other)];
  const holder = await startHolder(other.url);
  await holder.takeNumber();
  await fill(store, 2);
  await sumUpAll(store);
  const entries = await store.listEntries({ limit: 100 });
  expect((await exportNumbers(store, 0)).numbers).toEqual(entries.map(({ number }) => number));
  await holder.release();
  for (const each of [store, stranger]) await each.close();
  for (const { drop } of [own, other]) await drop();
});

it('an export from PostgreSQL waits for a number that the newest transaction has taken', async () => {
  const { url, drop } = await openDatabase();
  const store = await openPostgres({ url });
  await fill(store, 2);
  const newest = await startHolder(url);
  await newest.takeNumber();
  const taken = Number((await queryDatabase(url, 'SELECT last_value FROM entry_numbers'))[0]?.last_value);
  const exported = exportEntries(store, { format: 'csv', after: 0 });
  const query = { from: 0, to: 3_600_000, by: 'model', unit: '1h', top: 5 } as const;
  const [before] = await store.sumCalls(query);
  await newest.post(taken, 77n);
  await newest.release();
  expect((await exported).last).toBeGreaterThanOrEqual(taken);
  await sumUpAll(store);
  const [after] = await store.sumCalls(query);
  expect((after?.cost ?? 0n) - (before?.cost ?? 0n)).toBe(77n);
  await store.close();
  await drop();
});

it('an export reads one slice ahead of its reader, and no more', async () => {
  let requestCount = 0;
  const store = buildStore({
    findLastEntry: async () => 1_000_000,
    async exportEntries({ after }) {
      requestCount += 1;
      return `${after}\n`;
    },
  });
  const { lines } = await exportEntries(store, { format: 'jsonl', after: 0 });
  const reader = lines[Symbol.asyncIterator]();
  await reader.next();
  await new Promise((resolve) => setImmediate(resolve));
  // One that was read, one that the stream holds, and one ahead.
  expect(requestCount).toBeLessThanOrEqual(3);
  await reader.return?.();
});
