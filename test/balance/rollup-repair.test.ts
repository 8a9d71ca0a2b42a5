/** Sums of usage that differ from the entries are found and corrected, while calls and folds go on. */
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { listCommands } from '../../plugins/meters/balance/commands.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { foldAll } from '../contract/fold-all.ts';
import { price, quote, settlement } from './calls.ts';
import { openTemporary, withDatabase } from './ledger-file.ts';
import { queryDatabase, openFresh } from './postgres-database.ts';

interface Bench {
  readonly store: Store;
  another(): Promise<Store>;
  /** Changes tables as the store never would. */
  tamper(statement: string): Promise<unknown>;
  dispose(): Promise<void>;
}

async function openSqliteBench(): Promise<Bench> {
  const opened = await openTemporary();
  return { ...opened, tamper: async (text) => withDatabase(opened.file, (each) => each.exec(text)) };
}

async function openPostgresBench(): Promise<Bench> {
  const opened = await openFresh();
  return { ...opened, tamper: (text) => queryDatabase(opened.url, text) };
}

const noOffer = { listModels: () => [], lookAtListings: () => Promise.resolve() };
const hour = 3_600_000;
const disposals: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const dispose of disposals) await dispose();
});

let made = 0;
async function call(store: Store, account: string, at: number, model: string): Promise<void> {
  const id = `call-${(made += 1)}`;
  await store.reserve({ id, account, key: 'key-1', quotes: [quote(10n)], at });
  // Beyond its reservation, so that it has two entries; and charged above the vendor's bill.
  await store.settle(settlement(id, 12n, { at, model, vendor: 7n }));
}

async function fill(store: Store): Promise<void> {
  await store.definePrice(price);
  for (const account of ['a', 'b']) {
    await store.createAccount({ name: account, at: 1 });
    await store.addCredit({ account, amount: 10n ** 9n, kind: 'bonus', reference: undefined, at: 1 });
    for (let index = 0; index < 12; index += 1)
      await call(store, account, (index % 5) * 20 * hour + index, `m/${index % 3}`);
  }
  await foldAll(store);
}

/** What queries show of usage, from each table of roll-ups. */
async function readOverviews(store: Store): Promise<unknown> {
  const range = { from: 0, to: 200 * hour, top: 100 } as const;
  const queries = (['model', 'key', 'account', 'provider'] as const).flatMap((by) =>
    (['1h', '1d'] as const).flatMap((unit) => [
      { ...range, by, unit },
      { ...range, by, unit, account: 'a' },
    ]),
  );
  return Promise.all(queries.map((query) => store.sumCalls(query)));
}

const damages = [
  'UPDATE rollups SET cost = cost + 5, posts = posts - 1',
  "UPDATE rollups SET margin = 0 WHERE account = 'a'",
  'DELETE FROM rollups',
  "DELETE FROM series WHERE dimension = 'model' AND start > 0",
  "UPDATE series SET cost = 0 WHERE unit = 86400000 AND dimension IN ('account', 'key')",
  `INSERT INTO rollups (account, key, hour, model, provider, cost, posts)
    VALUES ('a', 'unknown', 7200000, 'm/none', 'house', 9, 1)`,
  `INSERT INTO series (dimension, unit, start, name, cost, posts)
    VALUES ('provider', 3600000, 10800000, 'unknown', 9, 1)`,
];

async function repair(store: Store): Promise<number> {
  const found = await store.findGaps({ limit: 5000 });
  expect(await store.closeGaps({ ...found, at: 5 })).toBe(true);
  return found.gaps.length;
}

async function expectSound(store: Store): Promise<void> {
  // A store that was just opened compares every key at every model.
  expect(await store.audit()).toMatchObject({ ok: true, findings: [] });
  expect((await store.findGaps({ limit: 5 })).gaps).toEqual([]);
}

describe.each([
  ['SQLite', openSqliteBench],
  ['PostgreSQL', openPostgresBench],
] as const)('a repair of roll-ups in %s', (_, open) => {
  it('restores each sum from the entries, whatever is lost or wrong, and then finds nothing', async () => {
    const bench = await open();
    disposals.push(bench.dispose);
    const { store, tamper } = bench;
    await fill(store);
    const before = await readOverviews(store);
    expect(await repair(store)).toBe(0);
    const some = fc.subarray(damages, { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(some, async (chosen) => {
        for (const damage of chosen) await tamper(damage);
        const damaged = await bench.another();
        expect((await damaged.audit()).findings.map(({ rule }) => rule)).toContain('I12');
        expect(await repair(damaged)).toBeGreaterThan(0);
        await damaged.close();
        const opened = await bench.another();
        await expectSound(opened);
        await opened.close();
        expect(await readOverviews(store)).toEqual(before);
      }),
      { numRuns: Number(process.env.HISTORIES ?? 3), endOnFailure: true },
    );
  });

  it('adds only what was missing if calls end and are summed up before it is written', async () => {
    const bench = await open();
    disposals.push(bench.dispose);
    const { store, tamper } = bench;
    await fill(store);
    await tamper('DELETE FROM rollups');
    await tamper("UPDATE series SET cost = cost + 3 WHERE dimension = 'key'");
    await call(store, 'a', 20 * hour, 'm/0');
    const found = await store.findGaps({ limit: 5000 });
    await call(store, 'a', 40 * hour, 'm/1');
    await foldAll(store);
    expect(await store.closeGaps({ ...found, at: 5 })).toBe(true);
    const opened = await bench.another();
    await expectSound(opened);
    await opened.close();
  });

  it('is refused if another repair was written since its gaps were found', async () => {
    const bench = await open();
    disposals.push(bench.dispose);
    const { store, tamper } = bench;
    await fill(store);
    await tamper('DELETE FROM rollups');
    const other = await bench.another();
    const found = await store.findGaps({ limit: 5000 });
    const outcomes = await Promise.all([
      store.closeGaps({ ...found, at: 5 }),
      other.closeGaps({ ...found, at: 5 }),
    ]);
    expect(outcomes.toSorted()).toEqual([false, true]);
    await expectSound(other);
    await other.close();
  });

  it('is a command that says what it corrects, and is in the log of operators', async () => {
    const bench = await open();
    disposals.push(bench.dispose);
    await fill(bench.store);
    const run = async (name: string) => {
      const verb = listCommands(() => bench.another(), noOffer).find((each) => each.name === name);
      return verb?.run([], {}, () => undefined);
    };
    await bench.tamper("DELETE FROM rollups WHERE account = 'a' AND hour = 0");
    const audited = await run('audit');
    expect([audited?.failed, audited?.text]).toEqual([true, expect.stringContaining('ledger repair')]);
    const repaired = await run('ledger repair');
    expect(repaired?.text).toMatch(
      /1970-01-01T00:00:00.000Z {2}rollups {2}a key-1 m\/\d house {2}\+0.0000000\d+ USD/,
    );
    expect(await run('ledger repair')).toMatchObject({ json: { corrected: 0 } });
    const actions = await bench.store.listActions({ limit: 10 });
    expect(actions.map(({ action }) => action)).toEqual(['ledger repair']);
  });
});
