/** Tables that plugins declare and the store keeps. */
import { describe, expect, it } from 'vitest';
import type { Bench } from './bench.ts';

const visits =
  'CREATE TABLE plugin_visits_days (day text PRIMARY KEY, count bigint NOT NULL CHECK (count > 0))';
const add = `INSERT INTO plugin_visits_days (day, count) VALUES ($1, $2)
  ON CONFLICT (day) DO UPDATE SET count = plugin_visits_days.count + $2 RETURNING count`;

export function testTables({ opened, store }: Bench): void {
  describe('tables of plugins', () => {
    const read = (sql: string) => store().readTables({ sql });

    it('are made once, whoever declares them, and keep what was written', async () => {
      const declaration = { name: 'visits', migrations: [visits] };
      const other = await opened().another();
      await Promise.all([store().migrateTables(declaration), other.migrateTables(declaration)]);
      const large = 2n ** 62n;
      const written = await store().writeTables([
        { sql: add, values: ['mon', 2] },
        { sql: add, values: ['mon', large] },
        { sql: add, values: ['tue', 1] },
      ]);
      expect(written).toEqual([[{ count: 2n }], [{ count: large + 2n }], [{ count: 1n }]]);
      const found = await other.readTables({
        sql: 'SELECT count FROM plugin_visits_days WHERE day = $1',
        values: ['mon'],
      });
      expect(found).toEqual([{ count: large + 2n }]);
      await other.close();
    });

    it('expand by migrations that have not run, beside an earlier version of the plugin', async () => {
      const first = 'CREATE TABLE plugin_grown_rows (id bigint PRIMARY KEY)';
      const more = "ALTER TABLE plugin_grown_rows ADD COLUMN note text NOT NULL DEFAULT 'none'";
      await store().migrateTables({ name: 'grown', migrations: [first] });
      await store().migrateTables({ name: 'grown', migrations: [first, more] });
      await store().migrateTables({ name: 'grown', migrations: [first] });
      await store().migrateTables({ name: 'grown', migrations: [first, more] });
      await store().writeTables([{ sql: 'INSERT INTO plugin_grown_rows (id) VALUES (1)' }]);
      expect(await read('SELECT * FROM plugin_grown_rows')).toEqual([{ id: 1n, note: 'none' }]);
    });

    it('get all statements of a write or none', async () => {
      await store().migrateTables({ name: 'whole', migrations: [visits.replace('visits', 'whole')] });
      const insert = 'INSERT INTO plugin_whole_days VALUES ($1, $2)';
      const wrong = store().writeTables([
        { sql: insert, values: ['mon', 1] },
        { sql: insert, values: ['tue', 0] },
      ]);
      await expect(wrong).rejects.toThrow(/check/i);
      expect(await read('SELECT * FROM plugin_whole_days')).toEqual([]);
    });

    it.each([
      ['reaches', 'ALTER TABLE accounts ADD COLUMN note text'],
      ['reaches', 'CREATE TABLE plugin_other_rows (id bigint)'],
      ['drops', 'DROP TABLE plugin_drops_rows'],
      ['renames', 'ALTER TABLE plugin_renames_rows RENAME TO plugin_renames_others'],
      ['Wrong Name', 'CREATE TABLE plugin_wrong_rows (id bigint)'],
    ])('named %s refuse a migration that does not expand them: %s', async (name, migration) => {
      await expect(store().migrateTables({ name, migrations: [migration] })).rejects.toThrow(
        /a migration has to begin with CREATE TABLE|cannot name tables/,
      );
    });

    it('harm no call when a statement of a plugin is wrong', async () => {
      await expect(
        store().writeTables([{ sql: 'INSERT INTO plugin_missing_rows VALUES (1)' }]),
      ).rejects.toThrow();
      await expect(read('SELECT nothing FROM nowhere')).rejects.toThrow();
      expect(store().findFault()).toBeUndefined();
      expect(await store().createAccount({ name: 'after a wrong statement', at: 1 })).toBe(true);
    });
  });
}
