/**
 * Four gateways on one PostgreSQL, each in a network namespace of its own behind HAProxy, beside one, and
 * beside four that share nothing and so show what the machine costs: processor time of a call, for the
 * gateways and for the database apart. Each gateway has 32 connections, and once all have 32 together, when
 * fewer calls share a commit. Then processes that only reserve and settle, on one account and on one each:
 * what the database carries, its time for a call, and how often its processes wait for a lock. On few cores
 * the rates say little; the times do. Needs root and Linux, HAProxy and nginx.
 *
 * node test/bench/gateways.ts     BENCH_ROUNDS=3 BENCH_SECONDS=3 LEDGER_PAIRS=20000
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { findFreePort } from '../support/free-port.ts';
import { createDatabase, startPostgres } from '../support/postgres.ts';
import { TestNetwork } from '../support/test-network.ts';
import { listChildren } from '../support/worker-processes.ts';
import { load } from './load.ts';
import { startVendor } from './nginx.ts';
import { fill, reserveOne, settleOne } from './pairs.ts';
import { calls } from './payload.ts';
import { readUsage, start, stopAll } from './processes.ts';
import { computeMedian } from './statistics.ts';
import { startTollgate, type Target } from './targets.ts';

const project = join(import.meta.dirname, '../..');
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const seconds = Number(process.env.BENCH_SECONDS ?? 3);
const pairs = Number(process.env.LEDGER_PAIRS ?? 20_000);
const count = 4;
const warmUp = 16_000;
const tell = (line: string): void => void process.stdout.write(`${line}\n`);

/** One of the processes that only reserve and settle; it begins at a line on its input. */
async function spend(url: string): Promise<void> {
  const store = await openPostgres({ url });
  await fill(store).catch(() => undefined);
  tell('ready');
  await once(process.stdin, 'data');
  let left = pairs;
  const began = process.cpuUsage();
  const runLane = async (): Promise<void> => {
    for (; left > 0; left -= 1) await settleOne(store, await reserveOne(store));
  };
  await Promise.all(Array.from({ length: 64 }, runLane));
  const { user, system } = process.cpuUsage(began);
  await store.close();
  tell(String(user + system));
  process.exit();
}

interface Measured {
  readonly made: number;
  readonly gateways: number;
  readonly database: number;
}

/** Writes a configuration of HAProxy, whose `listen` sections are given, and starts it. */
async function startProxy(folder: string, name: string, sections: readonly string[]): Promise<void> {
  const file = join(folder, `${name}.cfg`);
  const port = await findFreePort();
  const times = ['connect 5s', 'client 60s', 'server 60s'].map((time) => `  timeout ${time}`);
  const health = ['frontend health', `  bind 127.0.0.1:${port}`, '  mode http', '  monitor-uri /healthz'];
  const lines = ['global', '  maxconn 2000', 'defaults', ...times, ...sections, ...health, ''];
  writeFileSync(file, lines.join('\n'));
  const log = join(folder, `${name}.log`);
  await start({ command: 'haproxy', args: ['-f', file, '-db'], origin: `http://127.0.0.1:${port}`, log });
}

class Bench {
  readonly #network = new TestNetwork();
  readonly #folder: string;
  readonly #url: string;
  #vendor = '';
  #postmaster = 0;

  constructor(folder: string, url: string) {
    this.#folder = folder;
    this.#url = url;
  }

  async open(): Promise<void> {
    await this.#network.open();
    this.#vendor = await this.#relay('vendor', (await startVendor(this.#folder)).origin);
    const [row] = await this.query(
      "SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)::integer AS process",
    );
    this.#postmaster = Number(row?.process);
  }

  close(): void {
    this.#network.close();
  }

  /** What answers here is reached by this address on the machines. */
  async #relay(name: string, url: string): Promise<string> {
    const { address } = this.#network;
    const [relayed, port] = [new URL(url), await findFreePort()];
    const lines = [
      `listen ${name}`,
      '  mode tcp',
      `  bind ${address}:${port}`,
      `  server here ${relayed.host}`,
    ];
    await startProxy(this.#folder, name, lines);
    [relayed.hostname, relayed.port] = [address, String(port)];
    return relayed.href.replace(/\/$/, '');
  }

  async query(text: string, url = this.#url): Promise<readonly Record<string, unknown>[]> {
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query<Record<string, unknown>>(text);
    await client.end();
    return rows;
  }

  /** Seconds of processor time of all of the server's processes, ended ones too. */
  readDatabaseTime(): number {
    const own = readUsage(this.#postmaster);
    return listChildren(this.#postmaster).reduce(
      (sum, child) => sum + readUsage(child).cpu,
      own.cpu + own.children,
    );
  }

  async startGateway(name: string, url: string): Promise<Target> {
    const folder = join(this.#folder, name);
    mkdirSync(folder);
    const config = join(folder, 'gateway.config.ts');
    const machine = await this.#network.addMachine(name);
    const ledgerUrl = await this.#relay(`ledger-${name}`, url);
    writeFileSync(
      config,
      `import delivered from '${project}/gateway.config.ts';
import { balance } from '${project}/plugins/meters/balance/index.ts';
const ledger = balance({ store: { kind: 'postgres', url: '${ledgerUrl}' } });
const plugins = delivered.plugins.map((plugin) => (plugin?.name === 'balance' ? ledger : plugin));
export default { ...delivered, plugins };\n`,
    );
    const place = { vendor: this.#vendor, folder, project, config, starts: 1 };
    const on = { address: machine.address, node: this.#network.writeNode(machine) };
    return { ...(await startTollgate({ ...place, ...on })), name };
  }

  /** HAProxy in front of these gateways, asked with the first one's key. */
  async startBalancer(name: string, gateways: readonly Target[]): Promise<Target> {
    const [first] = gateways;
    if (!first) throw new Error('no gateways');
    const port = await findFreePort();
    const servers = gateways.map(({ origin }, index) => `  server g${index} ${new URL(origin).host}`);
    const head = [`listen ${name}`, '  mode http', `  bind 127.0.0.1:${port}`, '  balance roundrobin'];
    await startProxy(this.#folder, name, [...head, ...servers]);
    return { ...first, name, origin: `http://127.0.0.1:${port}` };
  }

  async measure(targets: readonly Target[], gateways: readonly Target[], total = 32): Promise<Measured> {
    const sum = (): number => gateways.reduce((all, { pid }) => all + readUsage(pid).cpu, 0);
    const [own, database] = [sum(), this.readDatabaseTime()];
    const options = { connections: total / targets.length, seconds, folder: this.#folder };
    const results = await Promise.all(targets.map((target) => load(target, calls.json, options)));
    const made = results.reduce((all, { requests }) => all + requests, 0);
    return { made, gateways: sum() - own, database: this.readDatabaseTime() - database };
  }

  /** How many of the looks at the server's writing processes saw them wait for a lock. */
  async #watchLocks(url: string, over: AbortSignal): Promise<number> {
    const client = new Client({ connectionString: url });
    await client.connect();
    let [waiting, seen] = [0, 0];
    while (!over.aborted) {
      const { rows } = await client.query<{ waits: boolean }>(
        `SELECT coalesce(wait_event_type = 'Lock', false) AS waits FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'tollgate %'
        AND application_name <> 'tollgate reads' AND state <> 'idle'`,
      );
      seen += rows.length;
      waiting += rows.filter(({ waits }) => waits).length;
      await sleep(20);
    }
    await client.end();
    return seen === 0 ? 0 : waiting / seen;
  }

  async spendBy(processes: number, isApart: boolean): Promise<string> {
    const { url } = await createDatabase(this.#url);
    await (await openPostgres({ url })).close();
    const children = [];
    for (let index = 0; index < processes; index += 1) {
      const series = (isApart ? index : 0).toString().padStart(4, '0');
      const child = spawn(process.execPath, [import.meta.filename, 'spend', url], {
        stdio: ['pipe', 'pipe', 'inherit'],
        env: { ...process.env, LEDGER_SERIES: series, LEDGER_PAIRS: String(pairs / processes) },
      });
      await once(child.stdout, 'data');
      children.push(child);
    }
    const over = new AbortController();
    const waits = this.#watchLocks(url, over.signal);
    const [began, before] = [performance.now(), this.readDatabaseTime()];
    const ended = children.map(async (child) => {
      child.stdin.write('go\n');
      const [text]: unknown[] = await once(child.stdout, 'data');
      return Number(String(text));
    });
    const own = (await Promise.all(ended)).reduce((sum, each) => sum + each, 0);
    const rate = pairs / ((performance.now() - began) / 1000);
    const database = ((this.readDatabaseTime() - before) / pairs) * 1e6;
    over.abort();
    const share = (100 * (await waits)).toFixed(0);
    return (
      `${processes} processes, ${isApart ? 'an account each' : 'one account'}: ${rate.toFixed(0)} calls/s, ` +
      `us a call: ${(own / pairs).toFixed(0)} processes, ${database.toFixed(0)} database; ` +
      `${share} % of looks at a busy writer saw it wait for a lock`
    );
  }
}

async function compare(bench: Bench, url: string): Promise<void> {
  const shared = await createDatabase(url);
  const one = await bench.startGateway('one', (await createDatabase(url)).url);
  const four: Target[] = [];
  const apart: Target[] = [];
  for (let index = 0; index < count; index += 1) {
    four.push(await bench.startGateway(`four-${index}`, shared.url));
    apart.push(await bench.startGateway(`apart-${index}`, (await createDatabase(url)).url));
  }
  const balancer = await bench.startBalancer('one', [one]);
  const joint = await bench.startBalancer('four', four);
  const setups = [
    ['one gateway', [balancer], [one], 32],
    ['four gateways, one database, as much in all', [joint], four, 32],
    ['four gateways, one database, as much each', [joint], four, 32 * count],
    ['four that share nothing, as much each', apart, apart, 32 * count],
  ] as const;
  // One after the other: a cold process that shares the processors answers next to nothing.
  for (const gateway of new Set(setups.flatMap(([, , gateways]) => gateways)))
    for (let made = 0; made < warmUp;) made += (await bench.measure([gateway], [gateway])).made;
  const measured = setups.map((): Measured[] => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [index, [, targets, gateways, total]] of setups.entries())
      measured[index]?.push(await bench.measure(targets, gateways, total));
  for (const [index, [name]] of setups.entries()) {
    const own = measured[index] ?? [];
    const compute = (part: 'gateways' | 'database'): string =>
      computeMedian(own.map((each) => (each[part] / each.made) * 1e6)).toFixed(0);
    const rate = computeMedian(own.map(({ made }) => made / seconds)).toFixed(0);
    tell(`${name}: us a call: ${compute('gateways')} gateways, ${compute('database')} database; ${rate}/s`);
  }
}

if (process.argv[2] === 'spend') await spend(process.argv[3] ?? '');
process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
process.env.TOLLGATE_DATA_KEY = Buffer.alloc(32, 7).toString('base64');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-gateways-'));
const server = await startPostgres({ durable: true });
const bench = new Bench(folder, server.url);
try {
  await bench.open();
  await compare(bench, server.url);
  await stopAll();
  for (const isApart of [false, true])
    for (const processes of [1, 2, count]) tell(await bench.spendBy(processes, isApart));
} finally {
  await stopAll();
  bench.close();
  await server.end();
  rmSync(folder, { recursive: true, force: true });
}
