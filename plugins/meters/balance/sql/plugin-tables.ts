/**
 * Tables that plugins declare. Their names begin with `plugin_`, so that no migration of a plugin reaches the
 * ledger's own tables, and migrations only add, because an earlier version of the plugin may use them too.
 */
import { readCount } from '../rows.ts';
import { askRows, nameStatements, type Operations, type Steps } from './steps.ts';

const sql = nameStatements('plugin tables', {
  // Several processes may open the same new tables at once.
  lock: 'SELECT pg_advisory_xact_lock(7461188902)',
  find: 'SELECT migrations FROM declared_tables WHERE name = $1',
  note: `INSERT INTO declared_tables (name, migrations) VALUES ($1, $2)
      ON CONFLICT (name) DO UPDATE SET migrations = $2`,
});

/** Throws unless a migration makes or widens a table of this plugin. */
function checkMigration(name: string, migration: string): void {
  const made = `plugin_${name}_\\w+`;
  const allowed = new RegExp(
    `^\\s*(?:CREATE TABLE ${made}\\s*\\(|CREATE (?:UNIQUE )?INDEX ${made}\\s+ON ${made}\\s*\\(|` +
      `ALTER TABLE ${made}\\s+ADD COLUMN\\s)`,
  );
  if (allowed.test(migration)) return;
  throw new Error(
    'a migration has to begin with CREATE TABLE, CREATE INDEX or ALTER TABLE … ADD COLUMN, for names that ' +
      `begin with plugin_${name}_; this one does not: ${migration}`,
  );
}

export const pluginTables = {
  *migrateTables({ name, migrations }): Steps<void> {
    if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new Error(`"${name}" cannot name tables: use a-z, 0-9 and _`);
    for (const migration of migrations) checkMigration(name, migration);
    yield* askRows(sql.lock);
    const [found] = yield* askRows(sql.find, name);
    const count = found ? readCount(found, 'migrations') : 0;
    // A newer version of the plugin may have run more.
    if (count >= migrations.length) return;
    for (const text of migrations.slice(count)) yield* askRows({ text });
    yield* askRows(sql.note, name, migrations.length);
  },
  *writeTables(statements) {
    const answers = [];
    for (const { sql: text, values = [] } of statements) answers.push(yield* askRows({ text }, ...values));
    return answers;
  },
  *readTables({ sql: text, values = [] }) {
    return yield* askRows({ text }, ...values);
  },
} satisfies Partial<Operations>;
