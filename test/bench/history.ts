/**
 * The overview and the lists of calls over a long history: it makes calls of 30 days with their entries,
 * sums them up, and times each query, the median of five. A busy machine changes the time that passes, so the
 * benchmark also prints the processor time of this process, without that of PostgreSQL.
 *
 * node test/bench/history.ts [postgres] [sums | sessions] [--json]      HISTORY_CALLS=10000000
 *
 * With `sessions` there are only the sums of agents' sessions, of 30 calls each. With `sums` only the sums
 * of the calls are stored, and only the overview is timed: calls and entries take most of the time and disk.
 * `HISTORY_FILE` keeps SQLite's file: the next run reads it, or copies its sums to PostgreSQL.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import {
  bucketBounds,
  buckets,
  joinNames,
  longSteps,
  namePair,
  pairs,
  units,
  type Unit,
} from '../../plugins/meters/balance/calls/figures.ts';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { CallQuery, OverviewQuery, Store } from '../../plugins/meters/balance/store.ts';
import { startPostgres } from '../support/postgres.ts';

const calls = Number(process.env.HISTORY_CALLS ?? 10_000_000);
const chunk = 250_000;
const days = Number(process.env.HISTORY_DAYS ?? 30);
const end = Math.floor(Date.now() / units['1d']) * units['1d'] - 5 * units['1h'];
const start = end - days * units['1d'];

/** Few of 1000 keys, 200 accounts and 50 models get most calls. */
const key = `(number * 7919 % 1000) * (number * 104729 % 1000) / 1000`;
const model = `(number * 31 % 50) * (number / 7 % 50) / 50`;
const body = JSON.stringify({
  cost: '0',
  usage: { input: 2500, cacheRead: 150, output: 350, reasoning: 100 },
  timing: {},
  tries: [{ number: 1, outcome: 'completed' }],
  fill: 'x'.repeat(300),
});

const onlySessions = process.argv.includes('sessions');
const onlySums = onlySessions || process.argv.includes('sums');
const source = onlySums ? 'facts_of_calls' : 'calls';
const parties = ['provider', 'model', 'account', 'key'] as const;

/** What is summed up of the calls, by the names of counts. */
const counts: Readonly<Record<string, string>> = {
  errors: "count(*) FILTER (WHERE outcome = 'failed')",
  cache_hits: 'count(*) FILTER (WHERE cached > 0)',
  input: 'sum(input) * 1000',
  cacheRead: 'sum(cached) * 1000',
  output: 'sum(output) * 1000',
  ...Object.fromEntries(
    buckets.map((name, index) => [
      name,
      `count(*) FILTER (WHERE first_event >= ${bucketBounds[index - 1] ?? 0}
        AND first_event < ${bucketBounds[index] ?? 1e12})`,
    ]),
  ),
};

/** Sums up calls, grouped by columns. */
function buildSumSql(table: string, columns: Readonly<Record<string, string>>, where = ''): string {
  const members = Object.keys(counts).map(
    (name) => `CASE WHEN ${name} > 0 THEN ',"${name}":' || ${name} ELSE '' END`,
  );
  const sums = Object.entries(counts).map(([name, sum]) => `CAST(${sum} AS bigint) AS ${name}`);
  const names = Object.keys(columns).join(', ');
  const groups = Object.entries(columns).map(([name, value]) => `${value} AS ${name}`);
  return `
    INSERT INTO ${table} (${names}, cost, margin, posts, calls, counts)
    SELECT ${names}, cost, 0, calls, calls, '{' || substr(${members.join(' || ')}, 2) || '}'
    FROM (
      SELECT ${groups.join(', ')}, CAST(sum(cost) AS bigint) AS cost, count(*) AS calls, ${sums.join(', ')}
      FROM ${source} ${where} GROUP BY ${groups.map((_, index) => index + 1).join(', ')}) AS summed`;
}

const startOf = (step: number): Record<string, string> => ({
  step: String(step),
  start: `ended / ${step} * ${step}`,
});

/**
 * Statements that sum all of it up as the gateway does, which would take hours to do so batch by batch. Each
 * call has one entry.
 */
function buildSums(): string[] {
  const ofParties = Object.fromEntries(parties.map((name) => [name, name]));
  const series = [
    ...parties.map((name) => [name, name]),
    ...pairs.map(([of, by]) => [namePair(of, by), joinNames(`${of} || '`, `' || ${by}`)]),
  ];
  const sumSeries = (step: number, where = ''): string[] =>
    series.map(([dimension, name = '']) =>
      buildSumSql('series_sums', { dimension: `'${dimension}'`, ...startOf(step), name }, where),
    );
  return [
    ...longSteps.map((step) => buildSumSql('party_sums', { ...startOf(step), ...ofParties })),
    ...longSteps.flatMap((step) => sumSeries(step)),
    ...sumSeries(units['5m'], `WHERE ended >= ${end - units['1d']}`),
  ];
}

/** Statements that add the calls above `from` and up to `to`; `numbers` selects them. */
function buildInsertions(numbers: string): string[] {
  const facts = `SELECT number, 'key-' || (${key}) AS key, (${key}) % 200 AS account,
    'owner/model-' || (${model}) AS model, 'provider-' || ((${model}) % 8) AS provider,
    ${start} + number * ${days * units['1d']} / ${calls} AS ended FROM numbers`;
  const insert = (target: string, select: string): string =>
    `INSERT INTO ${target} ${numbers}, facts AS (${facts}) ${select}`;
  if (onlySums)
    return [
      insert(
        source,
        `SELECT 'account-' || account, key, model, provider, ended, 100 + number * 13 % 3000,
          CASE WHEN number % 50 = 0 THEN 'failed' ELSE 'completed' END, number % 5000, number % 700,
          number % 4 * 100, number * 37 % 9000000 FROM facts`,
      ),
    ];
  return [
    insert(
      `calls (call, started, ended, account, key, asked, model, provider, protocol, operation, stream,
        outcome, code, status, first_event, duration, attempts, input, output, cached, reasoning, cost, basis,
        flags, tags, body)`,
      `SELECT 'call-' || number, ended - 900, ended, 'account-' || account, key, model, model, provider,
        CASE WHEN number % 3 = 0 THEN 'messages' ELSE 'chat-completions' END, 'generate', 1,
        CASE WHEN number % 50 = 0 THEN 'failed' ELSE 'completed' END, NULL, 200, 100 + number * 13 % 3000,
        900, 1, number % 5000, number % 700, number % 4 * 100, 0, number * 37 % 9000000, 'usage', '', '{}',
        '${body}' FROM facts`,
    ),
    insert(
      `entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation,
        model, provider, input, output, attempts, flags)`,
      `SELECT number, 'post', account + 1, ended, 0, -(number * 37 % 9000000), 0, number * 37 % 9000000,
        'call-' || number, key, number, model, provider, 0, 0, 1, '' FROM facts`,
    ),
  ];
}

interface Filled {
  run(statement: string): unknown;
  numbers(from: number, to: number): string;
  /** Drops the trigger that notes what is not summed up. */
  stopNoting(log: string): string;
}

/** Calls of a session. */
const sessionCalls = 30;

/** Sessions with rows for two hours and a day, and those of the last day also for five minutes. */
async function fillSessions({ run, numbers }: Filled): Promise<void> {
  const sessions = Math.floor(calls / sessionCalls);
  const apart = Math.floor((days * units['1d']) / sessions);
  const counts = '{"input":75000000,"cacheRead":45000000,"output":9000000,"cache_hits":24}';
  for (const [step, more, from] of [
    [units['1h'], 0, 0],
    [units['1h'], units['1h'], 0],
    [units['1d'], 0, 0],
    [units['5m'], 0, Math.floor(sessions - sessions / days)],
  ] as const)
    await run(`INSERT INTO series_sums (dimension, step, start, name, cost, margin, posts, calls, counts)
      ${numbers(from, sessions)}
      SELECT 'tag', ${step}, (${start} + number * ${apart}) / ${step} * ${step} + ${more},
        'session:5f0c2a1e-7d43-4b1a-' || number, number * 37 % 9000000, 0, 15, 15, '${counts}' FROM numbers`);
}

async function fill(filled: Filled): Promise<void> {
  if (onlySessions) return fillSessions(filled);
  const { run, numbers, stopNoting } = filled;
  for (let account = 0; account < 200; account += 1)
    await run(`INSERT INTO accounts (name, created) VALUES ('account-${account}', 1)`);
  for (const log of ['entries', 'calls']) await run(stopNoting(log));
  if (onlySums)
    await run(`CREATE TABLE ${source} (account text, key text, model text, provider text, ended bigint,
      first_event bigint, outcome text, input bigint, output bigint, cached bigint, cost bigint)`);
  for (let from = 0; from < calls; from += chunk) {
    for (const statement of buildInsertions(numbers(from, Math.min(calls, from + chunk))))
      await run(statement);
    process.stderr.write(`\r${from + chunk} calls`);
  }
  for (const statement of buildSums()) await run(statement);
}

async function fillSqlite(file: string): Promise<void> {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -400000');
  await fill({
    run: (statement) => database.exec(statement),
    stopNoting: (log) => `DROP TRIGGER ${log}_are_noted`,
    numbers: (from, to) =>
      `WITH RECURSIVE numbers (number) AS (
         SELECT ${from + 1} UNION ALL SELECT number + 1 FROM numbers WHERE number < ${to}
       )`,
  });
  database.close();
}

/** Copies the sums of an earlier run from SQLite's file. */
async function copySums(client: Client, from: string): Promise<void> {
  const database = new DatabaseSync(from, { readOnly: true });
  for (const table of ['party_sums', 'series_sums']) {
    let rows: object[] = [];
    const write = async (): Promise<void> => {
      const text = `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`;
      await client.query(text, [JSON.stringify(rows)]);
      rows = [];
    };
    for (const row of database.prepare(`SELECT * FROM ${table}`).iterate()) {
      rows.push(row);
      if (rows.length === 20_000) await write();
    }
    await write();
  }
  database.close();
}

async function fillPostgres(url: string): Promise<void> {
  const client = new Client({ connectionString: url, options: '-c search_path=tollgate' });
  await client.connect();
  if (onlySums && isFilled) {
    await copySums(client, file);
    await client.query('ANALYZE');
    return client.end();
  }
  await fill({
    run: (statement) => client.query(statement),
    stopNoting: (log) => `DROP TRIGGER ${log}_are_noted ON ${log}`,
    numbers: (from, to) =>
      `WITH numbers AS (SELECT number::bigint FROM generate_series(${from + 1}, ${to}) AS number)`,
  });
  await client.query(`SELECT setval('entry_numbers', ${calls})`);
  await client.query('ANALYZE');
  await client.end();
}

interface Times {
  /** Milliseconds from the question to the answer, and of this process's processors. */
  readonly wall: number;
  readonly processor: number;
}

function computeMedian(times: readonly number[]): number {
  return Math.round(times.toSorted((one, other) => one - other)[2] ?? 0);
}

async function measureMedian(work: () => Promise<unknown>): Promise<Times> {
  const times: Times[] = [];
  for (let round = 0; round < 5; round += 1) {
    const [began, before] = [performance.now(), process.cpuUsage()];
    await work();
    const { user, system } = process.cpuUsage(before);
    times.push({ wall: performance.now() - began, processor: (user + system) / 1000 });
  }
  return {
    wall: computeMedian(times.map(({ wall }) => wall)),
    processor: computeMedian(times.map(({ processor }) => processor)),
  };
}

function buildQueries(): Record<string, OverviewQuery> {
  const buildQuery = (length: number, unit: Unit, more: Partial<OverviewQuery> = {}): OverviewQuery => ({
    // In whole steps, as the overview asks for them.
    from: Math.floor((end - length) / units[unit]) * units[unit],
    to: Math.ceil(end / units[unit]) * units[unit],
    by: 'model',
    unit,
    top: 12,
    ...more,
  });
  const [day, month] = [units['1d'], days * units['1d']];
  const ofSessions = { by: 'tag', tag: 'session', top: 100, isTopOnly: true } as const;
  if (onlySessions)
    return {
      'sessions of 1 h': buildQuery(units['1h'], '5m', ofSessions),
      'sessions of 24 h': buildQuery(day, '1h', ofSessions),
      'sessions of 7 d': buildQuery(7 * day, '1h', ofSessions),
      'sessions of 30 d': buildQuery(month, '1d', ofSessions),
    };
  return {
    'overview 1 h by model': buildQuery(units['1h'], '5m'),
    'overview 24 h by model': buildQuery(day, '1h'),
    'overview 7 d by model': buildQuery(7 * day, '1h'),
    'overview 30 d by model': buildQuery(month, '1d'),
    'overview 30 d by model, hourly': buildQuery(month, '1h'),
    'overview 24 h by key': buildQuery(day, '1h', { by: 'key' }),
    'overview 30 d by key': buildQuery(month, '1d', { by: 'key' }),
    'overview 30 d by account': buildQuery(month, '1d', { by: 'account' }),
    'overview 30 d of an account by model': buildQuery(month, '1d', { account: 'account-0' }),
    'overview 30 d of a key by model': buildQuery(month, '1d', { account: 'account-0', key: 'key-0' }),
    'overview 30 d of a key alone by model': buildQuery(month, '1d', { key: 'key-0' }),
    'overview 30 d of a model': buildQuery(month, '1d', { model: 'owner/model-0' }),
    'overview 30 d of a model by key': buildQuery(month, '1d', { model: 'owner/model-0', by: 'key' }),
    'overview 30 d of a provider by model': buildQuery(month, '1d', { provider: 'provider-0' }),
    'overview 30 d of a provider by key': buildQuery(month, '1d', { provider: 'provider-0', by: 'key' }),
    'overview 30 d of a model by account': buildQuery(month, '1d', { model: 'owner/model-0', by: 'account' }),
    'overview 7 d of a model by key, hourly': buildQuery(7 * day, '1h', {
      model: 'owner/model-0',
      by: 'key',
    }),
    'overview 7 d of a provider by key, hourly': buildQuery(7 * day, '1h', {
      provider: 'provider-0',
      by: 'key',
    }),
    'overview 7 d of a provider by account, hourly': buildQuery(7 * day, '1h', {
      provider: 'provider-0',
      by: 'account',
    }),
    'overview 30 d of a model at a provider by key': buildQuery(month, '1d', {
      provider: 'provider-0',
      model: 'owner/model-0',
      by: 'key',
    }),
  };
}

const lists: Record<string, Partial<CallQuery>> = {
  'calls, newest': {},
  'calls by id': { call: 'call-4711' },
  'calls by account': { account: 'account-7' },
  'calls by key': { key: 'key-900' },
  'calls by model': { model: 'owner/model-40' },
  'calls by provider': { provider: 'provider-3' },
  'calls by protocol': { protocol: 'messages' },
  'calls by outcome': { outcome: 'failed' },
  'calls with errors': { outcome: 'error' },
  'calls by time': { from: start, to: start + units['1d'] },
  'calls by cost, few': { minCost: 8_999_900n },
  'calls by cost, many': { minCost: 100_000n },
};

async function measure(store: Store): Promise<Record<string, Times>> {
  const milliseconds: Record<string, Times> = {};
  for (const [name, query] of Object.entries(buildQueries()))
    milliseconds[name] = await measureMedian(() => store.sumCalls(query));
  for (const [name, query] of Object.entries(onlySums ? {} : lists))
    milliseconds[name] = await measureMedian(() => store.listCalls({ limit: 100, ...query }));
  return milliseconds;
}

const folder = mkdtempSync(join(process.env.HISTORY_FOLDER ?? tmpdir(), 'tollgate-history-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const server = process.argv.includes('postgres') ? await startPostgres() : undefined;
const file = process.env.HISTORY_FILE ?? join(folder, 'ledger.db');
const isFilled = existsSync(file);
const open = (): Promise<Store> => (server ? openPostgres({ url: server.url }) : openSqlite({ file }));
if (server || !isFilled) {
  const empty = await open();
  await empty.close();
  await (server ? fillPostgres(server.url) : fillSqlite(file));
}
const store = await open();
const milliseconds = await measure(store);
await store.close();
await server?.end();
const report = { store: server ? 'PostgreSQL' : 'SQLite', calls, milliseconds };
if (process.argv.includes('--json')) console.log(JSON.stringify(report));
else {
  console.log(`\n${report.store}, ${calls} calls and entries of ${days} days`);
  for (const [name, { wall, processor }] of Object.entries(milliseconds))
    console.log(`${name.padEnd(46)} ${wall} ms, ${processor} ms of processor time`);
}
