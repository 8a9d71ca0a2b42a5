/**
 * PostgreSQL with a synchronous standby, kept by Patroni and etcd behind HAProxy, under two gateways with
 * calls: the primary is killed, again and again. Every call that a client saw
 * completed has its entry, nobody spends more than the credit, and calls go on within half a minute. Needs
 * Debian's `patroni`, `etcd-server`, `haproxy` and PostgreSQL, and root.
 *
 * FAILOVERS=2
 */
import { spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { queryDatabase } from '../balance/postgres-database.ts';
import { findFreePort } from '../support/free-port.ts';
import { postJson } from '../support/post.ts';
import { makeDataFolder, runAlone, startProcess } from '../support/process.ts';
import { listChildren } from '../support/worker-processes.ts';

const failovers = Number(process.env.FAILOVERS ?? 2);
/** The user that Debian's packages make. */
const user = { uid: 101, gid: 104 };
const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : [];
const programs = join('/usr/lib/postgresql', versions.at(-1) ?? 'none', 'bin');

const folder = mkdtempSync(join(tmpdir(), 'tollgate-failover-'));
chmodSync(folder, 0o755);
const children = new Set<ChildProcess>();

function run(command: string, args: readonly string[], own = {}): ChildProcess {
  const child = spawn(command, args, { stdio: 'ignore', cwd: folder, ...own });
  children.add(child.once('exit', () => children.delete(child)));
  return child;
}

/** All processes that a process started, and theirs. */
function listFamily(pid: number): number[] {
  try {
    return [pid, ...listChildren(pid).flatMap(listFamily)];
  } catch {
    // It has ended meanwhile.
    return [];
  }
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended.
    }
  }
}

/** What ends with the test, since PostgreSQL outlives the Patroni that started it. */
const machines: Machine[] = [];

afterAll(() => {
  signalAll(
    [...children].flatMap(({ pid }) => (pid === undefined ? [] : listFamily(pid))),
    'SIGKILL',
  );
  signalAll(
    machines.flatMap((machine) => machine.listProcesses()),
    'SIGKILL',
  );
  rmSync(folder, { recursive: true, force: true });
});

class Machine {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  readonly #config: string;
  #patroni: ChildProcess | undefined;

  constructor(name: string, port: number, restPort: number, etcd: number) {
    [this.name, this.port, this.restPort] = [name, port, restPort];
    this.#config = join(folder, `${name}.yml`);
    const data = join(folder, name);
    mkdirSync(data, { mode: 0o700 });
    chownSync(data, user.uid, user.gid);
    // JSON is YAML.
    const config = {
      scope: 'ledger',
      name,
      restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
      etcd3: { host: `127.0.0.1:${etcd}` },
      bootstrap: {
        dcs: {
          ttl: 20,
          loop_wait: 2,
          retry_timeout: 5,
          synchronous_mode: true,
          // Strict, two machines would write nothing while one is away.
          synchronous_mode_strict: false,
          postgresql: { use_pg_rewind: true, parameters: { max_connections: 60, shared_buffers: '32MB' } },
        },
        initdb: ['data-checksums', { encoding: 'UTF8' }, { locale: 'C' }],
        pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
      },
      postgresql: {
        listen: `127.0.0.1:${port}`,
        connect_address: `127.0.0.1:${port}`,
        data_dir: join(data, 'data'),
        bin_dir: programs,
        pgpass: join(data, 'pgpass'),
        parameters: { unix_socket_directories: data },
        authentication: {
          superuser: { username: 'postgres', password: 'keeper' },
          replication: { username: 'copier', password: 'keeper' },
          rewind: { username: 'rewinder', password: 'keeper' },
        },
      },
    };
    writeFileSync(this.#config, JSON.stringify(config));
  }

  start(): void {
    this.#patroni ??= run('/usr/bin/patroni', [this.#config], user);
  }

  listProcesses(): number[] {
    const pid = this.#patroni?.pid;
    const file = join(folder, this.name, 'data/postmaster.pid');
    const postmaster = existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0;
    return [pid, postmaster].flatMap((each) => (each && existsSync(`/proc/${each}`) ? listFamily(each) : []));
  }

  /** Ends Patroni and PostgreSQL at once, as the machine's end would. */
  async kill(): Promise<void> {
    signalAll(this.listProcesses(), 'SIGKILL');
    while (this.listProcesses().length > 0) await sleep(50);
    this.#patroni = undefined;
  }

  /** Whether it is the `primary`, or the standby whose copy commits wait for (`sync`). */
  async is(path: 'primary' | 'sync'): Promise<boolean> {
    const asked = fetch(`http://127.0.0.1:${this.restPort}/${path}`, { signal: AbortSignal.timeout(2000) });
    return (await asked.catch(() => undefined))?.status === 200;
  }
}

/** HAProxy sends connections to the machine whose Patroni says that it is the primary. */
function startBalancer(port: number, machines: readonly Machine[]): void {
  const file = join(folder, 'haproxy.cfg');
  const lines = [
    'global',
    '  maxconn 200',
    'defaults',
    '  mode tcp',
    '  timeout connect 2s',
    '  timeout client 1h',
    '  timeout server 1h',
    'listen database',
    `  bind 127.0.0.1:${port}`,
    '  option httpchk OPTIONS /primary',
    '  http-check expect status 200',
    '  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions',
    ...machines.map((each) => `  server ${each.name} 127.0.0.1:${each.port} check port ${each.restPort}`),
    '',
  ];
  writeFileSync(file, lines.join('\n'));
  run('/usr/sbin/haproxy', ['-f', file, '-db']);
}

async function startCluster(): Promise<{ readonly url: string; readonly machines: readonly Machine[] }> {
  const [etcd, peer, port] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const address = (number: number): string => `http://127.0.0.1:${number}`;
  const options = {
    'data-dir': join(folder, 'etcd'),
    'listen-client-urls': address(etcd),
    'advertise-client-urls': address(etcd),
    'listen-peer-urls': address(peer),
    'initial-advertise-peer-urls': address(peer),
    'initial-cluster': `default=${address(peer)}`,
  };
  run(
    '/usr/bin/etcd',
    Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
  );
  for (const name of ['one', 'two'])
    machines.push(new Machine(name, await findFreePort(), await findFreePort(), etcd));
  for (const machine of machines) machine.start();
  startBalancer(port, machines);
  await waitForCluster(machines);
  return { url: `postgres://postgres:keeper@127.0.0.1:${port}/postgres`, machines };
}

/** Resolves with the primary once there is one, and a standby that has all of its commits. */
async function waitForCluster(machines: readonly Machine[]): Promise<Machine> {
  for (;;) {
    const primaries = await Promise.all(machines.map((each) => each.is('primary')));
    const standbys = await Promise.all(machines.map((each) => each.is('sync')));
    const primary = machines[primaries.indexOf(true)];
    if (primary && standbys.includes(true)) return primary;
    await sleep(200);
  }
}

const createdSchema = z.object({ key: z.string() });

it(`no call is lost in ${failovers} failovers of PostgreSQL, and calls go on in 30 s`, async () => {
  const { url, machines } = await startCluster();
  const environment = (): Record<string, string> => ({
    TOLLGATE_LEDGER_URL: url,
    TOLLGATE_DATA: makeDataFolder(),
    TOLLGATE_DATA_KEY: Buffer.alloc(32, 7).toString('base64'),
  });
  const gateways = [await startProcess(environment()), await startProcess(environment())];
  const made = await runAlone(['keys', 'create', '--account', 'a', '--credit', '5', '--json'], environment());
  const { key } = createdSchema.parse(JSON.parse(made.output));
  const body = { model: 'demo/echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };
  const completed: string[] = [];
  /** Replies that are neither a completed call nor a refusal to be tried again. */
  const strange: string[] = [];
  let [refused, lastAt, longest] = [0, performance.now(), 0];
  const over = new AbortController();
  const runLane = async (lane: number): Promise<void> => {
    while (!over.signal.aborted) {
      const path = `${gateways[lane % 2]?.url}/v1/chat/completions`;
      const response = await postJson(path, body, { authorization: `Bearer ${key}` });
      const text = await response.text();
      if (response.status === 200) {
        completed.push(response.headers.get('x-request-id') ?? '');
        const now = performance.now();
        longest = Math.max(longest, now - lastAt);
        lastAt = now;
      } else {
        refused += 1;
        expect([response.status, text]).toEqual([503, expect.stringContaining('ledger')]);
        await sleep(200);
      }
    }
  };
  const lanes = Array.from({ length: 8 }, (_, lane) => runLane(lane));
  const pauses: number[] = [];
  for (let round = 0; round < failovers; round += 1) {
    const primary = await waitForCluster(machines);
    const count = completed.length;
    while (completed.length < count + 50) await sleep(50);
    longest = 0;
    await primary.kill();
    const begun = completed.length;
    while (completed.length < begun + 50) await sleep(50);
    pauses.push(Math.round(longest));
    primary.start();
  }
  await waitForCluster(machines);
  over.abort();
  await Promise.all(lanes);
  expect(strange).toEqual([]);
  for (const gateway of gateways) expect((await gateway.stop('SIGTERM')).code).toBe(0);
  const posted = await queryDatabase(url, "SELECT call FROM entries WHERE kind = 'post'");
  const entries = new Set(posted.map(({ call }) => call));
  expect(completed.filter((id) => !entries.has(id))).toEqual([]);
  const store = await openPostgres({ url });
  const audit = await store.audit();
  await store.close();
  expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  const [spent] = await queryDatabase(url, 'SELECT min(total - pending) AS least FROM accounts');
  expect(Number(spent?.least)).toBeGreaterThanOrEqual(0);
  const summary = { completed: completed.length, refused, pauses };
  process.stdout.write(`${JSON.stringify(summary)}\n`);
  for (const pause of pauses) expect(pause).toBeLessThan(30_000);
});
