/**
 * How much a long history slows a call down: reserve and settle on a new ledger and on one with millions of
 * entries, a tenth as many stored calls, and a budget on each account. Rounds alternate between the two, so
 * that a busy machine slows both.
 *
 * node test/bench/depth.ts [postgres]
 * DEPTH_ENTRIES=10000000 DEPTH_ROUNDS=15 DEPTH_PAIRS=200 DEPTH_FOLDER=/tmp
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { createDatabase, startPostgres } from '../support/postgres.ts';
import { fill, keys, reserveOne, settleOne } from './pairs.ts';
import { median } from './statistics.ts';

const entries = Number(process.env.DEPTH_ENTRIES ?? 10_000_000);
const rounds = Number(process.env.DEPTH_ROUNDS ?? 15);
const chunk = 200_000;
const pairs = Number(process.env.DEPTH_PAIRS ?? 200);
const first = 1000;

/** Adds the entries above `from` and up to `to` in pairs, and a stored call for every fifth pair. */
function additions(numbers: string): string[] {
  const call = `'0198-' || (1000000000000 + number / 2)`;
  const key = `'key-' || (number / 2 % ${keys})`;
  const either = (reserve: string | number, post: string | number): string =>
    `CASE WHEN number % 2 = 0 THEN ${reserve} ELSE ${post} END`;
  return [
    `INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key,
      reservation, model, provider, price, reason, basis, input, output, usage, costs, attempts, flags)
    ${numbers}
    SELECT number, ${either("'reserve'", "'post'")}, 1, 1700000000000 + number, 0,
      ${either(-900_000, 500_000)}, ${either(900_000, -900_000)}, ${either(0, 400_000)}, ${call}, ${key},
      ${either('NULL', 'number - 1')}, 'openai/gpt-5-mini', 'openai', '0123456789ab',
      ${either('NULL', "'completed'")}, ${either('NULL', "'usage'")}, 1200, 300,
      '{"input":1200,"cacheRead":1024,"output":300}', '[["input",176,"0.25"],["output",300,"2"]]', 1, ''
    FROM numbers`,
    `INSERT INTO calls (call, started, ended, account, key, asked, model, provider, protocol, operation,
      stream, outcome, status, first_event, duration, attempts, input, output, cached, reasoning, cost, basis,
      flags, tags, body)
    ${numbers}
    SELECT ${call}, 1700000000000 + number, 1700000000900 + number, 'bench', ${key}, 'gpt-5-mini',
      'openai/gpt-5-mini', 'openai', 'chat-completions', 'generate', 0, 'completed', 200, 300, 900, 1, 1200,
      300, 0, 0, number * 37 % 900000, 'usage', '', '{}', '{}' FROM numbers WHERE number % 10 = 0`,
    `INSERT INTO series (dimension, unit, start, name) ${numbers}
    SELECT 'key', 300000, number / 1000 * 300000, 'key-' || (number % 1000)
    FROM numbers WHERE number % 100 = 0`,
  ];
}

async function addHistory(
  run: (statement: string) => unknown,
  numbers: (from: number, to: number) => string,
): Promise<void> {
  for (let from = first; from < entries; from += chunk) {
    for (const statement of additions(numbers(from, Math.min(entries, from + chunk)))) await run(statement);
    process.stderr.write(`\r${from} entries`);
  }
  for (const log of ['entries', 'calls'])
    await run(`UPDATE folds SET last = (SELECT max(number) FROM ${log}) WHERE log = '${log}'`);
}

async function prepare(store: Store): Promise<Store> {
  await fill(store);
  const counted = { scope: 'account', subject: 'bench', per: 'day', zone: 'UTC' } as const;
  await store.createBudget({ ...counted, limit: 10n ** 15n, hard: true, thresholds: [80], at: Date.now() });
  return store;
}

const folder = mkdtempSync(join(process.env.DEPTH_FOLDER ?? tmpdir(), 'tollgate-depth-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const server = process.argv.includes('postgres') ? await startPostgres({ durable: true }) : undefined;

async function open(name: string, isLong: boolean): Promise<Store> {
  if (!server) {
    const file = join(folder, `${name}.db`);
    const store = await prepare(await openSqlite({ file }));
    if (!isLong) return store;
    await store.close();
    const database = new DatabaseSync(file);
    database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -400000');
    await addHistory(
      (statement) => database.exec(statement),
      (from, to) =>
        `WITH RECURSIVE numbers (number) AS (
           SELECT ${from} UNION ALL SELECT number + 1 FROM numbers WHERE number < ${to - 1}
         )`,
    );
    database.close();
    return openSqlite({ file });
  }
  const { url } = await createDatabase(server.url);
  const store = await prepare(await openPostgres({ url }));
  if (!isLong) return store;
  await store.close();
  const client = new Client({ connectionString: url, options: '-c search_path=tollgate' });
  await client.connect();
  await addHistory(
    (statement) => client.query(statement),
    (from, to) =>
      `WITH numbers AS (SELECT number::bigint FROM generate_series(${from}, ${to - 1}) AS number)`,
  );
  await client.query(`SELECT setval('entry_numbers', ${entries})`);
  await client.query('VACUUM ANALYZE');
  await client.query('CHECKPOINT');
  await client.end();
  return openPostgres({ url });
}

/** Microseconds of each pair, one after the other. */
async function measure(store: Store): Promise<number> {
  const times: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const began = performance.now();
    await settleOne(store, await reserveOne(store));
    times.push((performance.now() - began) * 1000);
  }
  return median(times);
}

const short = await open('short', false);
const long = await open('long', true);
const ratios: number[] = [];
const medians: [number[], number[]] = [[], []];
for (let round = 0; round <= rounds; round += 1) {
  const [before, after] = [await measure(short), await measure(long)];
  if (round === 0) continue;
  medians[0].push(before);
  medians[1].push(after);
  ratios.push(after / before);
}
await Promise.all([short.close(), long.close()]);
await server?.end();
process.stdout.write(
  `\n${server ? 'PostgreSQL' : 'SQLite'}: reserve + settle takes ${median(medians[0]).toFixed(0)} us ` +
    `on a new ledger and ${median(medians[1]).toFixed(0)} us with ${entries} entries; ` +
    `median ratio of the rounds ${median(ratios).toFixed(3)}\n`,
);
