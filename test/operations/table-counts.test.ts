/** Limits that several processes count in tables of a ledger, and what happens without one. */
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Tables } from '../../core/index.ts';
import { PluginTables } from '../../plugins/meters/balance/plugin-tables.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { checkSharing, rateLimits } from '../../plugins/operations/rate-limits.ts';
import { Counter, createLimiter, type Want } from '../../plugins/operations/rate-limits/counter.ts';
import { declaration, TableCounts } from '../../plugins/operations/rate-limits/table-counts.ts';
import { ledgers } from '../balance/postgres-database.ts';
import type { OpenedStore } from '../contract/books.ts';
import { startGateway } from '../support/gateway.ts';

const whose = { whose: 'key', name: 'a-1' } as const;

/** A call each, in a window and at a time. */
function buildWants(limit: number): Want[] {
  return (['parallel', 'requests'] as const).map((kind) => ({ ...whose, kind, limit, amount: 1 }));
}

describe.each(ledgers)('limits in the tables of a %s ledger', (_, open) => {
  let opened: OpenedStore;
  let another: Store;
  let isOut = false;
  beforeEach(async () => {
    opened = await open();
    another = await opened.another();
  });
  afterEach(async () => {
    isOut = false;
    await another.close();
    await opened.dispose();
  });

  async function openTables(store: Store): Promise<Tables> {
    const tables = await new PluginTables(() => store, pino({ enabled: false })).open(declaration);
    const fail = async (): Promise<never> => Promise.reject(new Error('out of reach'));
    return { ...tables, write: async (statements) => (isOut ? fail() : tables.write(statements)) };
  }

  async function openCounts(store: Store, window = 60): Promise<TableCounts> {
    const counts = new TableCounts(window, new Counter(await createLimiter(window)));
    await counts.useTables(await openTables(store));
    // The tests beat.
    counts.close();
    return counts;
  }

  it.each(['parallel', 'requests'] as const)(
    'are exact, however many calls of several processes come at once: %s',
    async (kind) => {
      const processes = [await openCounts(opened.store), await openCounts(another)];
      const wants = [{ ...whose, kind, limit: 10, amount: 1 }];
      const takings = await Promise.all(
        Array.from({ length: 40 }, async (__, index) => processes[index % 2]?.take(`call-${index}`, wants)),
      );
      expect(takings.filter((taking) => taking?.refused)).toHaveLength(30);
    },
  );

  it('say what is left, count what was refused for nothing, and owe the next window', async () => {
    const [one, other] = [await openCounts(opened.store), await openCounts(another)];
    const tokens: Want = { ...whose, kind: 'tokens', limit: 100, amount: 60 };
    expect((await one.take('c1', [tokens])).left).toMatchObject([{ limit: 100, remaining: 40 }]);
    const refused = await other.take('c2', [buildWants(1)[1] ?? tokens, tokens]);
    expect(refused).toMatchObject({ refused: true, left: [{ remaining: 0 }, { limit: 100, remaining: 40 }] });
    expect(refused.left[1]?.resetAfter).toBeGreaterThan(50_000);
    expect((await one.take('c3', buildWants(1))).refused).toBe(false);
    await one.give('c1', [{ ...tokens, amount: 50 }]);
    expect((await other.take('c4', [tokens])).left).toMatchObject([{ remaining: 30 }]);
    await other.give('c4', [{ ...tokens, amount: -70 }]);
    expect((await other.take('c5', [{ ...tokens, amount: 1 }])).refused).toBe(true);
  });

  it('begin again when the window is over', async () => {
    const counts = await openCounts(opened.store, 0.001);
    const tokens: Want = { ...whose, kind: 'tokens', limit: 100, amount: 100 };
    await counts.take('c1', [tokens]);
    await expect.poll(async () => (await counts.take('c2', [tokens])).refused).toBe(false);
    await counts.beat();
  });

  it('free the calls of a process that stopped to beat, and of no other', async () => {
    const [one, other, third] = [
      await openCounts(opened.store),
      await openCounts(another),
      await openCounts(another),
    ];
    const wants = buildWants(2).slice(0, 1);
    await other.take('held', wants);
    await third.take('lost', wants);
    for (let round = 0; round < 5; round += 1) {
      await other.beat();
      await one.beat();
      expect((await one.take(`early-${round}`, wants)).refused).toBe(true);
    }
    await one.beat();
    expect((await one.take('late', wants)).refused).toBe(false);
    expect((await one.take('later', wants)).refused).toBe(true);
    await other.give('held', wants);
    expect((await one.take('last', wants)).refused).toBe(false);
  });

  it('are counted by each process while the tables cannot be used, and given back afterwards', async () => {
    const [one, other] = [await openCounts(opened.store), await openCounts(another)];
    const wants = buildWants(1).slice(0, 1);
    await one.take('before', wants);
    isOut = true;
    await one.give('before', wants);
    const own = await one.take('during', wants);
    expect([own.refused, (await one.take('refused', wants)).refused]).toEqual([false, true]);
    expect((await other.take('elsewhere', wants)).refused).toBe(false);
    await own.from.give('during', wants);
    expect((await one.take('again', wants)).refused).toBe(false);
    isOut = false;
    expect((await other.take('after', wants)).refused).toBe(true);
    await one.beat();
    expect((await other.take('after', wants)).refused).toBe(false);
  });
});

describe('limits without a ledger', () => {
  it('cannot be shared, and a configuration that asks for it says so', async () => {
    await expect(
      startGateway({ plugins: [rateLimits({ perKey: { requests: 1 }, shared: true })] }),
    ).rejects.toThrow(/rate-limits.*option "shared".*add balance\(\)/);
  });

  it.each([
    [{ several: true }, undefined, 1],
    [{ several: true }, false, 0],
    [{ several: false }, undefined, 0],
  ])(
    'are counted in memory, which the log says of workers unless the options do',
    (workers, shared, lines) => {
      const warn = vi.fn<(message: string) => void>();
      checkSharing({ tables: { find: () => undefined }, workers, logger: { warn } }, shared);
      expect(warn.mock.calls).toEqual(
        Array.from({ length: lines }, () => [expect.stringContaining('each worker counts in its memory')]),
      );
    },
  );
});
