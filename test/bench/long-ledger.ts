/**
 * Ledgers with millions of entries, written by the database itself, for benches: a tenth as many stored
 * calls, and a budget on the account. The entries add up like those of real calls.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { createDatabase } from '../support/postgres.ts';
import { fill, keys } from './pairs.ts';

const chunk = 200_000;
const first = 1000;

/** Adds the entries above `from` and up to `to` in pairs, and a stored call for every fifth pair. */
function buildInsertions(numbers: string): string[] {
  const call = `'0198-' || (1000000000000 + number / 2)`;
  const key = `'key-' || (number / 2 % ${keys})`;
  const buildChoice = (reserve: string | number, post: string | number): string =>
    `CASE WHEN number % 2 = 0 THEN ${reserve} ELSE ${post} END`;
  return [
    `INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key,
      reservation, model, provider, price, reason, basis, input, output, usage, costs, attempts, flags)
    ${numbers}
    SELECT number, ${buildChoice("'reserve'", "'post'")}, 1, 1700000000000 + number, 0,
      ${buildChoice(-900_000, 500_000)}, ${buildChoice(900_000, -900_000)}, ${buildChoice(0, 400_000)},
      ${call}, ${key}, ${buildChoice('NULL', 'number - 1')}, 'openai/gpt-5-mini', 'openai', '0123456789ab',
      ${buildChoice('NULL', "'completed'")}, ${buildChoice('NULL', "'usage'")}, 1200, 300,
      '{"input":1200,"cacheRead":1024,"output":300}', '[["input",176,"0.25"],["output",300,"2"]]', 1, ''
    FROM numbers`,
    `INSERT INTO calls (call, started, ended, account, key, asked, model, provider, protocol, operation,
      stream, outcome, status, first_event, duration, attempts, input, output, cached, reasoning, cost, basis,
      flags, tags, body)
    ${numbers}
    SELECT ${call}, 1700000000000 + number, 1700000000900 + number, 'bench', ${key}, 'gpt-5-mini',
      'openai/gpt-5-mini', 'openai', 'chat-completions', 'generate', 0, 'completed', 200, 300, 900, 1, 1200,
      300, 0, 0, number * 37 % 900000, 'usage', '', '{}', '{}' FROM numbers WHERE number % 10 = 0`,
    `INSERT INTO summed (dimension, step, start, name) ${numbers}
    SELECT 'key', 300000, number / 1000 * 300000, 'key-' || (number % 1000)
    FROM numbers WHERE number % 100 = 0`,
  ];
}

async function addHistory(
  run: (statement: string) => unknown,
  numbers: (from: number, to: number) => string,
  entries: number,
): Promise<void> {
  for (let from = first; from < entries; from += chunk) {
    for (const statement of buildInsertions(numbers(from, Math.min(entries, from + chunk))))
      await run(statement);
    process.stderr.write(`\r${from} entries`);
  }
  await run('DELETE FROM unsummed');
}

async function prepare(store: Store): Promise<Store> {
  await fill(store);
  const counted = { scope: 'account', subject: 'bench', per: 'day', zone: 'UTC' } as const;
  await store.createBudget({ ...counted, limit: 10n ** 15n, hard: true, thresholds: [80], at: Date.now() });
  return store;
}

export interface Place {
  readonly folder: string;
  /** PostgreSQL, if the ledger is there. */
  readonly server: { readonly url: string } | undefined;
}

/** Opens a new ledger with this many entries, besides a few of its own; 0: it has none yet. */
export async function openLedger({ folder, server }: Place, name: string, entries: number): Promise<Store> {
  if (!server) {
    const file = join(folder, `${name}.db`);
    const store = await prepare(await openSqlite({ file }));
    if (entries === 0) return store;
    await store.close();
    const database = new DatabaseSync(file);
    database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -400000');
    await addHistory(
      (statement) => database.exec(statement),
      (from, to) =>
        `WITH RECURSIVE numbers (number) AS (
           SELECT ${from} UNION ALL SELECT number + 1 FROM numbers WHERE number < ${to - 1}
         )`,
      entries,
    );
    database.close();
    return openSqlite({ file });
  }
  const { url } = await createDatabase(server.url);
  const store = await prepare(await openPostgres({ url }));
  if (entries === 0) return store;
  await store.close();
  const client = new Client({ connectionString: url, options: '-c search_path=tollgate' });
  await client.connect();
  await addHistory(
    (statement) => client.query(statement),
    (from, to) =>
      `WITH numbers AS (SELECT number::bigint FROM generate_series(${from}, ${to - 1}) AS number)`,
    entries,
  );
  await client.query(`SELECT setval('entry_numbers', ${entries})`);
  await client.query('VACUUM ANALYZE');
  await client.query('CHECKPOINT');
  await client.end();
  return openPostgres({ url });
}
