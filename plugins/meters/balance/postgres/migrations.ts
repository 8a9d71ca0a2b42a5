/**
 * Makes the tables. They have a schema of their own, so that a ledger can share a database with
 * others. Entries and pending reservations refer to accounts and keys without foreign keys: for each row of a
 * batch the server would lock and look up again what the batch has already locked and read.
 */
import type { ClientBase } from 'pg';
import { readCount, readFlag } from '../rows.ts';
import { buildSums, type BuildNote } from '../sql/call-tables.ts';
import { addedColumns, expanded, expansion, guarded, needsTables, tables } from '../sql/tables.ts';

export const schema = 'tollgate';

const buildNote: BuildNote = (log, buildCondition) => `
CREATE OR REPLACE FUNCTION note_${log}() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO ${schema}.unsummed (log, number)
      SELECT '${log}', number FROM added ${buildCondition ? `WHERE ${buildCondition('added')}` : ''};
    RETURN NULL;
  END $$;
CREATE OR REPLACE TRIGGER ${log}_are_noted AFTER INSERT ON ${log} REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION note_${log}();`;

function buildGuard([table, rows]: readonly [table: string, rows: string]): string {
  return `
CREATE TRIGGER ${rows}_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON ${table}
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();`;
}

const before = `
-- Taken with an account's lock held, so that the entries of one account are numbered in the order they were
-- written.
CREATE SEQUENCE entry_numbers;
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'entries are never changed or deleted'
      USING ERRCODE = 'integrity_constraint_violation';
  END $$;`;

const after = `
CREATE INDEX booked_of_account ON entries (account, number) WHERE kind <> 'reserve';
CREATE INDEX pending_of_owner ON pending (owner);`;

/** The table `steps` holds it. */
const knownVersion = 9;

const columns = Object.entries(addedColumns).flatMap(([table, added]) =>
  Object.entries(added).map(([column, type]) => ({
    table,
    column,
    sql: `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${column} ${type};`,
  })),
);

/** The number of an advisory lock, since several processes may open a new database at once. */
const lock = 7_461_188_901;

/**
 * Brings the tables up to date, in one transaction. Throws if a newer version of the program wrote them.
 */
export async function migrate(client: ClientBase): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [lock]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await client.query('CREATE TABLE IF NOT EXISTS steps (count integer NOT NULL)');
    const { rows } = await client.query('SELECT count FROM steps');
    const version = rows[0] ? readCount(rows[0], 'count') : 0;
    if (needsTables(version, knownVersion)) {
      const guards = Object.entries(guarded).map(buildGuard);
      await client.query(`${before} ${tables} ${guards.join('')} ${after}`);
      await client.query(`INSERT INTO steps VALUES (${knownVersion})`);
    }
    // Even `IF NOT EXISTS` would wait for all writers.
    const { rows: found } = await client.query(
      `SELECT ${expanded.map((name) => `to_regclass('${name}') IS NULL`).join(' OR ')}
        OR ${columns.length} > (SELECT count(*) FROM information_schema.columns
          WHERE table_schema = '${schema}' AND table_name || '.' || column_name = ANY($1)) AS missing,
        to_regclass('series_sums') IS NULL AS unsummed`,
      [columns.map(({ table, column }) => `${table}.${column}`)],
    );
    if (found[0] && readFlag(found[0], 'missing'))
      await client.query(`${columns.map(({ sql }) => sql).join('')} ${expansion}`);
    if (found[0] && readFlag(found[0], 'unsummed'))
      // The version before may be adding to its own sums.
      await client.query(
        `LOCK TABLE folds, entries, calls IN SHARE ROW EXCLUSIVE MODE; ${buildSums(buildNote)}`,
      );
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}
