/** Tables that plugins declare and the store keeps, alone and with the entries of calls. */
import { describe, expect, it } from 'vitest';
import type { Nano } from '../../core/index.ts';
import type { PluginStatements, Store } from '../../plugins/meters/balance/store.ts';
import { progress, quote, settlement } from '../balance/calls.ts';
import { request, type Bench } from './bench.ts';

const visits =
  'CREATE TABLE plugin_visits_days (day text PRIMARY KEY, count bigint NOT NULL CHECK (count > 0))';
const add = `INSERT INTO plugin_visits_days (day, count) VALUES ($1, $2)
  ON CONFLICT (day) DO UPDATE SET count = plugin_visits_days.count + $2 RETURNING count`;

export function testTables(bench: Bench): void {
  testOwnTransactions(bench);
  testWithCalls(bench);
  testRecovery(bench);
}

function testOwnTransactions({ opened, store }: Bench): void {
  it('tables of plugins are made once, by two processes too, and keep what was written', async () => {
    const declaration = { name: 'visits', migrations: [visits] };
    const other = await opened().another();
    await Promise.all([store().migrateTables(declaration), other.migrateTables(declaration)]);
    const large = 2n ** 62n;
    const written = await store().writeTables({
      name: 'visits',
      withCalls: false,
      statements: [
        { sql: add, values: ['mon', 2] },
        { sql: add, values: ['mon', large] },
        { sql: add, values: ['tue', 1] },
      ],
    });
    expect(written).toEqual([[{ count: 2n }], [{ count: large + 2n }], [{ count: 1n }]]);
    const found = await other.readTables({
      name: 'visits',
      sql: 'SELECT count FROM plugin_visits_days WHERE day = $1',
      values: ['mon'],
    });
    expect(found).toEqual([{ count: large + 2n }]);
    await other.close();
  });

  it('tables of plugins expand by new migrations, beside an earlier version of the plugin', async () => {
    const first = 'CREATE TABLE plugin_grown_rows (id bigint PRIMARY KEY)';
    const more = "ALTER TABLE plugin_grown_rows ADD COLUMN note text NOT NULL DEFAULT 'none'";
    await store().migrateTables({ name: 'grown', migrations: [first] });
    await store().migrateTables({ name: 'grown', migrations: [first, more] });
    await store().migrateTables({ name: 'grown', migrations: [first] });
    await store().migrateTables({ name: 'grown', migrations: [first, more] });
    const statements = [{ sql: 'INSERT INTO plugin_grown_rows (id) VALUES (1)' }];
    await store().writeTables({ name: 'grown', withCalls: false, statements });
    expect(await store().readTables({ name: 'grown', sql: 'SELECT * FROM plugin_grown_rows' })).toEqual([
      { id: 1n, note: 'none' },
    ]);
  });

  it('tables of plugins get all statements of a write or none', async () => {
    await store().migrateTables({ name: 'whole', migrations: [visits.replace('visits', 'whole')] });
    const insert = 'INSERT INTO plugin_whole_days VALUES ($1, $2)';
    const statements = [
      { sql: insert, values: ['mon', 1] },
      { sql: insert, values: ['tue', 0] },
    ];
    await expect(store().writeTables({ name: 'whole', withCalls: true, statements })).rejects.toThrow(
      /check/i,
    );
    expect(await store().readTables({ name: 'whole', sql: 'SELECT * FROM plugin_whole_days' })).toEqual([]);
  });

  it.each([
    ['reaches', 'ALTER TABLE accounts ADD COLUMN note text'],
    ['reaches', 'CREATE TABLE plugin_other_rows (id bigint)'],
    ['drops', 'DROP TABLE plugin_drops_rows'],
    ['renames', 'ALTER TABLE plugin_renames_rows RENAME TO plugin_renames_others'],
    ['refers', 'CREATE TABLE plugin_refers_rows (account bigint REFERENCES accounts (id))'],
    ['waits', 'CREATE TABLE plugin_waits_rows (id bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)'],
    ['Wrong Name', 'CREATE TABLE plugin_wrong_rows (id bigint)'],
  ])(
    'tables of plugins named %s refuse a migration that does not expand them: %s',
    async (name, migration) => {
      await expect(store().migrateTables({ name, migrations: [migration] })).rejects.toThrow(
        /a migration has|cannot name tables/,
      );
    },
  );

  it.each([
    "UPDATE accounts SET name = 'x'",
    'INSERT INTO plugin_visitor_rows VALUES (1)',
    'WITH gone AS (SELECT 1) DELETE FROM accounts',
    'DROP TABLE plugin_visits_days',
  ])('tables of plugins are the only ones that a plugin writes, and not: %s', async (sql) => {
    const name = 'visits';
    const refusal = {
      name: 'TableFault',
      plugin: 'visits',
      message: expect.stringContaining('begin with'),
    };
    const [write, read] = await Promise.allSettled([
      store().writeTables({ name, withCalls: false, statements: [{ sql }] }),
      store().readTables({ name, sql }),
    ]);
    expect([write, read]).toMatchObject([{ reason: refusal }, { reason: refusal }]);
    await expect(store().migrateTables({ name, migrations: [], recover: sql })).rejects.toThrow(/begin with/);
  });

  it('tables of plugins are not written by a statement that reads', async () => {
    const sql = 'DELETE FROM plugin_visits_days';
    await expect(store().readTables({ name: 'visits', sql })).rejects.toThrow('begin with SELECT');
  });

  it('tables of plugins harm no call when a statement of a plugin is wrong', async () => {
    const sql = 'INSERT INTO plugin_missing_rows VALUES (1)';
    const fault = { name: 'TableFault', plugin: 'missing' };
    await expect(
      store().writeTables({ name: 'missing', withCalls: false, statements: [{ sql }] }),
    ).rejects.toMatchObject(fault);
    await expect(
      store().readTables({ name: 'missing', sql: 'SELECT nothing FROM nowhere' }),
    ).rejects.toMatchObject(fault);
    expect(store().findFault()).toBeUndefined();
    expect(await store().createAccount({ name: 'after a wrong statement', at: 1 })).toBe(true);
  });
}

const calls = `CREATE TABLE plugin_kept_calls (call text PRIMARY KEY, steps text NOT NULL,
  cost bigint CHECK (cost < 1000))`;
const begin = "INSERT INTO plugin_kept_calls (call, steps) VALUES ($1, 'reserved')";
const end = "UPDATE plugin_kept_calls SET steps = steps || ' settled', cost = $2 WHERE call = $1";
const recover = "UPDATE plugin_kept_calls SET steps = steps || ' recovered', cost = $2 WHERE call = $1";

function keep(sql: string, ...values: (string | number | bigint)[]): PluginStatements[] {
  return [{ name: 'kept', statements: [{ sql, values }] }];
}

/** What the plugin has kept of some calls. */
async function readKept(store: Store, prefix: string): Promise<unknown[][]> {
  const rows = await store.readTables({
    name: 'kept',
    sql: 'SELECT call, steps, cost FROM plugin_kept_calls WHERE call LIKE $1 ORDER BY call',
    values: [`${prefix}-%`],
  });
  return rows.map(({ call, steps, cost }) => [String(call).slice(prefix.length + 1), steps, cost]);
}

async function declareKept(store: Store, recovery: string | undefined = recover): Promise<void> {
  await store.migrateTables({ name: 'kept', migrations: [calls], recover: recovery });
}

function testWithCalls({ account, entriesOf, opened, store }: Bench): void {
  const listSteps = async (name: string): Promise<string[]> =>
    (await entriesOf(name))
      .filter(({ call }) => call !== undefined)
      .map(({ call, kind }) => `${call?.slice(name.length + 1)} ${kind}`);

  it('what plugins write commits with the entries, and is not there without one', async () => {
    await declareKept(store());
    const name = await account(15n);
    const [paid, dear] = [`${name}-paid`, `${name}-dear`];
    const [first, second] = await Promise.all([
      store().reserve(request(paid, name, { also: keep(begin, paid) })),
      store().reserve(request(dear, name, { also: keep(begin, dear) })),
    ]);
    expect([first.status, second.status]).toEqual(['reserved', 'short']);
    expect(await readKept(store(), name)).toEqual([['paid', 'reserved', null]]);
    const ending = settlement(paid, 7n, { also: keep(end, paid, 7n) });
    expect(await store().settle(ending)).toMatchObject({ status: 'posted' });
    expect(await store().settle(ending)).toMatchObject({ status: 'already_posted' });
    expect(await store().settle(settlement(dear, 7n, { also: keep(end, paid, 9n) }))).toEqual({
      status: 'not_found',
    });
    expect(await readKept(store(), name)).toEqual([['paid', 'reserved settled', 7n]]);
  });

  it.each([
    ['breaks a constraint', end, ['', 5000n]],
    ['names a column that is missing', 'UPDATE plugin_kept_calls SET nothing = 1', []],
    ['has too few values', end, ['']],
    ['names a table of another', 'DELETE FROM plugin_visits_days', []],
    ['names a table of the ledger', 'DELETE FROM entries', []],
  ])(
    'what plugins write undoes its own call and no other of the same turn, if it %s',
    async (_, sql, values) => {
      await declareKept(store());
      const name = await account(1000n);
      const ids = Array.from({ length: 9 }, (__, index) => `${name}-${index}`);
      const bad = ids[4] ?? '';
      const wrong = keep(sql, ...values);
      // The row exists, so that an update breaks its constraint.
      const spoil = (id: string): PluginStatements[] => [
        ...keep(begin, id),
        ...keep(sql, ...values.map((value) => (value === '' ? id : value))),
      ];
      const reserved = await Promise.allSettled(
        ids.map((id) =>
          store().reserve(request(id, name, { also: id === bad ? spoil(id) : keep(begin, id) })),
        ),
      );
      const fault = { status: 'rejected', reason: { name: 'TableFault', plugin: 'kept' } };
      expect(reserved).toMatchObject(ids.map((id) => (id === bad ? fault : { status: 'fulfilled' })));
      const others = ids.filter((id) => id !== bad);
      expect(await store().readBalance(name)).toMatchObject({ used: 0n, pending: 80n });
      expect(await readKept(store(), name)).toEqual(
        others.map((id) => [id.slice(name.length + 1), 'reserved', null]),
      );

      await store().reserve(request(bad, name, { also: keep(begin, bad) }));
      const settled = await Promise.allSettled(
        ids.map((id) =>
          store().settle(
            settlement(id, 3n, {
              also: id === bad ? wrong.concat(spoil(id).slice(1)) : keep(end, id, 3n),
            }),
          ),
        ),
      );
      expect(settled).toMatchObject(
        ids.map((id) => (id === bad ? fault : { value: { status: 'posted', posted: 3n } })),
      );
      expect(await store().readBalance(name)).toMatchObject({ used: 24n, pending: 10n });
      expect(store().findFault()).toBeUndefined();
      // The caller settles it without the plugin.
      expect(await store().settle(settlement(bad, 3n))).toMatchObject({ status: 'posted' });
      expect((await listSteps(name)).toSorted()).toEqual(
        ids.flatMap((id) => ['post', 'reserve'].map((kind) => `${id.slice(name.length + 1)} ${kind}`)),
      );
      expect(await readKept(store(), name)).toEqual(
        ids.map((id) => [
          id.slice(name.length + 1),
          id === bad ? 'reserved' : 'reserved settled',
          id === bad ? null : 3n,
        ]),
      );
    },
  );

  it('what plugins write counts each call once, however many processes write the same rows', async () => {
    const migrations = ['CREATE TABLE plugin_sums_days (day text PRIMARY KEY, count bigint NOT NULL)'];
    await store().migrateTables({ name: 'sums', migrations });
    const sql = `INSERT INTO plugin_sums_days (day, count) VALUES ($1, 1)
        ON CONFLICT (day) DO UPDATE SET count = plugin_sums_days.count + 1`;
    const days = ['mon', 'tue', 'wed'];
    const other = await opened().another();
    const run = async (each: Store, order: readonly string[]): Promise<void> => {
      const name = await account(100_000n);
      for (let round = 0; round < 30; round += 1) {
        const statements = order.map((day) => ({ sql, values: [day] }));
        await Promise.all([
          ...statements.map((statement, index) =>
            each.reserve(
              request(`${name}-${round}-${index}`, name, {
                also: [{ name: 'sums', statements: [statement] }],
              }),
            ),
          ),
          each.writeTables({ name: 'sums', statements, withCalls: true }),
        ]);
      }
    };
    await Promise.all([run(store(), days), run(other, days.toReversed())]);
    await other.close();
    const found = await store().readTables({
      name: 'sums',
      sql: 'SELECT day, count FROM plugin_sums_days ORDER BY day',
    });
    expect(found).toEqual(days.map((day) => ({ day, count: 120n })));
  });
}

function testRecovery({ account, opened, store }: Bench): void {
  const reserveElsewhere = async (name: string, words: readonly string[], at = 1000): Promise<string> => {
    const other = await opened().another();
    const ids = words.map((word) => `${name}-${word}`);
    for (const id of ids)
      await other.reserve(request(id, name, { quotes: [quote(20n, 100n)], at, also: keep(begin, id) }));
    const [sent = '', unsent = ''] = ids;
    await other.beat({ lease: 1, progress: [progress(sent, 30n), progress(unsent, 0n, { sent: false })] });
    await other.close();
    return other.owner;
  };
  const findBeat = async (owner: string): Promise<number> =>
    (await store().listOwners()).find((each) => each.owner === owner)?.beat ?? -1;

  describe('what plugins write with calls whose process died', () => {
    it('is written by the process that ends them, whether it has the plugin or not', async () => {
      await declareKept(store());
      const name = await account(1000n);
      const owner = await reserveElsewhere(name, ['1-sent', '2-unsent', '3-untold']);
      await store().recover({ owner, beat: await findBeat(owner), limit: 9, at: 5000 });
      const recovered = await readKept(store(), name);
      expect(recovered).toEqual([
        ['1-sent', 'reserved recovered', 30n],
        ['2-unsent', 'reserved recovered', 0n],
        ['3-untold', 'reserved recovered', 20n],
      ]);
      // The process was only slow, and its own figures count.
      const id = `${name}-1-sent`;
      await store().settle(settlement(id, 44n, { also: keep(end, id, 44n) }));
      const costs = (await readKept(store(), name)).map(([, , cost]) => cost as Nano);
      expect(costs.reduce((sum, cost) => sum + cost, 0n)).toBe((await store().readBalance(name))?.used);
    });

    it('is written for calls that are too old as well, which cost nothing', async () => {
      await declareKept(store());
      const name = await account(1000n);
      await reserveElsewhere(name, ['old', 'older'], -5000);
      await store().expire({ before: -4000, limit: 100, at: 5000 });
      expect(await readKept(store(), name)).toEqual([
        ['old', 'reserved recovered', 0n],
        ['older', 'reserved recovered', 0n],
      ]);
    });

    it('stops no recovery: it is left out once it has failed, with no call ended twice', async () => {
      await declareKept(store(), 'UPDATE plugin_kept_calls SET cost = 5000 WHERE call = $1');
      const name = await account(1000n);
      const owner = await reserveElsewhere(name, ['sent', 'unsent']);
      const asked = { owner, beat: await findBeat(owner), limit: 9, at: 5000 };
      await expect(store().recover(asked)).rejects.toMatchObject({ name: 'TableFault', plugin: 'kept' });
      expect(await store().readBalance(name)).toMatchObject({ used: 0n, pending: 200n });
      expect(await store().recover({ ...asked, leaveOut: ['kept'] })).toHaveLength(2);
      expect(await store().readBalance(name)).toMatchObject({ used: 30n, pending: 0n });
      expect((await readKept(store(), name)).map(([, steps]) => steps)).toEqual(['reserved', 'reserved']);
      await declareKept(store());
    });

    it('is no longer written once its plugin declares nothing for it', async () => {
      await store().migrateTables({ name: 'kept', migrations: [calls] });
      const name = await account(1000n);
      const owner = await reserveElsewhere(name, ['sent', 'unsent']);
      await store().recover({ owner, beat: await findBeat(owner), limit: 9, at: 5000 });
      expect((await readKept(store(), name)).map(([, steps]) => steps)).toEqual(['reserved', 'reserved']);
      await declareKept(store());
    });
  });
}
