/**
 * Tables that plugins declare, and what plugins write with calls. The tables' names begin with `plugin_`, so
 * that no statement of a plugin reaches the ledger's own tables, and migrations only add, because an earlier
 * version of the plugin may use them too. A statement that fails is a `TableFault`, so that the plugin
 * answers for it and not the database.
 */
import type { Nano, TableStatement } from '../../../../core/index.ts';
import { TableFault } from '../operations.ts';
import type { PluginStatements } from '../reservations.ts';
import { readCount, readText } from '../rows.ts';
import {
  ask,
  askAll,
  askRows,
  nameStatements,
  sendAll,
  type Asked,
  type Operations,
  type Steps,
} from './steps.ts';

const sql = nameStatements('plugin tables', {
  // Several processes may open the same new tables at once.
  lock: 'SELECT pg_advisory_xact_lock(7461188902)',
  // Plugins' rows have no order in which all batches could lock them, so two batches of different accounts
  // would wait for each other.
  lockRows: 'SELECT pg_advisory_xact_lock(7461188903)',
  find: 'SELECT migrations FROM declared_tables WHERE name = $1',
  note: `INSERT INTO declared_tables (name, migrations) VALUES ($1, $2)
      ON CONFLICT (name) DO UPDATE SET migrations = $2`,
  recoveries: 'SELECT name, sql FROM declared_recoveries ORDER BY name',
  noteRecovery: `INSERT INTO declared_recoveries (name, sql) VALUES ($1, $2)
      ON CONFLICT (name) DO UPDATE SET sql = excluded.sql`,
  dropRecovery: 'DELETE FROM declared_recoveries WHERE name = $1',
});

const lockRows: Asked = { ...ask(sql.lockRows), onlyLocks: true };

/** Throws unless a migration makes or widens a table of this plugin. */
function checkMigration(name: string, migration: string): void {
  const made = `plugin_${name}_\\w+`;
  const allowed = new RegExp(
    `^\\s*(?:CREATE TABLE ${made}\\s*\\(|CREATE (?:UNIQUE )?INDEX ${made}\\s+ON ${made}\\s*\\(|` +
      `ALTER TABLE ${made}\\s+ADD COLUMN\\s)`,
  );
  // Other tables' rows could then not be deleted, and a deferred check fails at the end of a transaction,
  // when nothing tells whose it is.
  if (/\b(?:REFERENCES|DEFERRABLE)\b/i.test(migration))
    throw new Error(`a migration has neither REFERENCES nor DEFERRABLE; this one has: ${migration}`);
  if (allowed.test(migration)) return;
  throw new Error(
    'a migration has to begin with CREATE TABLE, CREATE INDEX or ALTER TABLE … ADD COLUMN, for names that ' +
      `begin with plugin_${name}_; this one does not: ${migration}`,
  );
}

/**
 * Any plugin may read; it writes only its own tables. The number of values is checked here, because SQLite
 * takes missing ones for null, and PostgreSQL takes the whole for a fault of the connection.
 */
function askOwn(name: string, { sql: text, values = [] }: TableStatement, isRead = false): Asked {
  const start = /^\s*(?:(SELECT)\b|(?:INSERT INTO|UPDATE|DELETE FROM)\s+plugin_([a-z0-9_]+))/i.exec(text);
  const isOwn = !isRead && start?.[2]?.startsWith(`${name}_`) === true;
  if (start?.[1] === undefined && !isOwn) {
    const allowed = isRead
      ? 'SELECT'
      : `SELECT, or with INSERT INTO, UPDATE or DELETE FROM and a name that begins with plugin_${name}_`;
    throw new TableFault(name, new Error(`it has to begin with ${allowed}: ${text}`));
  }
  const count = Math.max(0, ...Array.from(text.matchAll(/\$(\d+)/g), ([, digits]) => Number(digits)));
  if (count !== values.length)
    throw new TableFault(name, new Error(`it has ${values.length} values for $1 to $${count}: ${text}`));
  return ask({ text, plugin: name }, ...values);
}

/** What plugins write with the calls of a batch, behind all else that the batch writes. */
export function listPluginWrites(also: readonly PluginStatements[]): Asked[] {
  const asked = also.flatMap(({ name, statements }) => statements.map((each) => askOwn(name, each)));
  return asked.length > 0 ? [lockRows, ...asked] : [];
}

function buildRecovery(text: string, id: string, amount: Nano): TableStatement {
  return { sql: text, values: text.includes('$2') ? [id, amount] : [id] };
}

/** What plugins write for calls that ended without their process. */
export function* writeRecoveries(
  calls: readonly { readonly id: string; readonly amount: Nano }[],
  leaveOut: readonly string[] = [],
): Steps<void> {
  if (calls.length === 0) return;
  const also = (yield* askRows(sql.recoveries)).map((row) => {
    const text = readText(row, 'sql');
    const statements = calls.map(({ id, amount }) => buildRecovery(text, id, amount));
    return { name: readText(row, 'name'), statements };
  });
  yield* sendAll(listPluginWrites(also.filter(({ name }) => !leaveOut.includes(name))));
}

export const pluginTables = {
  *migrateTables({ name, migrations, recover }): Steps<void> {
    if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new Error(`"${name}" cannot name tables: use a-z, 0-9 and _`);
    for (const migration of migrations) checkMigration(name, migration);
    if (recover !== undefined) askOwn(name, buildRecovery(recover, '', 0n));
    yield* askRows(sql.lock);
    const [found] = yield* askRows(sql.find, name);
    const count = found ? readCount(found, 'migrations') : 0;
    // A newer version of the plugin may have run more.
    for (const text of migrations.slice(count)) yield* askRows({ text, plugin: name });
    if (count < migrations.length) yield* askRows(sql.note, name, migrations.length);
    yield* recover === undefined ? askRows(sql.dropRecovery, name) : askRows(sql.noteRecovery, name, recover);
  },
  *writeTables({ name, statements, withCalls }) {
    const asked = statements.map((each) => askOwn(name, each));
    if (withCalls) yield* askAll([lockRows]);
    const answers = [];
    for (const each of asked) answers.push(...(yield* askAll([each])));
    return answers;
  },
  *readTables({ name, ...statement }) {
    const [rows = []] = yield* askAll([askOwn(name, statement, true)]);
    return rows;
  },
} satisfies Partial<Operations>;
