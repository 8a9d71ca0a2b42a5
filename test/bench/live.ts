/**
 * What a client that follows calls live costs the calls. A gateway as delivered takes 1000 calls a second,
 * and windows of two seconds with the client and without it follow each other in random order, since a fixed
 * order falls into step with the garbage collector. Prints the median time of a call and its processor time
 * without the client and with it, and the median ratio of neighbouring windows.
 *
 * node test/bench/live.ts      BENCH_RATE=1000 BENCH_ROUNDS=60
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../support/free-port.ts';
import { startVendor } from './nginx.ts';
import { calls } from './payload.ts';
import { stopAll } from './processes.ts';
import { computeMedian } from './statistics.ts';
import { startTollgate, type Target } from './targets.ts';

const project = join(import.meta.dirname, '../..');
const rate = Number(process.env.BENCH_RATE ?? 1000);
const rounds = Number(process.env.BENCH_ROUNDS ?? 60);
/** Milliseconds of a window, and of its beginning that is not measured: the client comes or leaves. */
const windowTime = 2000;
const pause = 300;

/** Microseconds of a call: from request to reply, and of processor time in all threads of the gateway. */
interface Window {
  readonly time: number;
  readonly processor: number;
}

/** Microseconds for which all threads of a process have run. */
function readProcessorTime(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = tasks.map((task) => {
    const [ran] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ');
    return Number(ran);
  });
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1000;
}

/** Makes so many calls a second, and keeps the time that each took. */
class Caller {
  times: number[] = [];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #target: Target;
  readonly #began = performance.now();
  readonly #timer: NodeJS.Timeout;
  #made = 0;
  #ended = 0;

  constructor(target: Target) {
    this.#target = target;
    this.#timer = setInterval(() => {
      const due = ((performance.now() - this.#began) / 1000) * rate;
      for (; this.#made < due; this.#made += 1) this.#call();
    }, 1);
  }

  #call(): void {
    const { path, accept, body } = calls.json;
    const all = { 'content-type': 'application/json', accept, ...this.#target.headers };
    const began = performance.now();
    const made = request(this.#target.origin + path, { method: 'POST', agent: this.#agent, headers: all });
    made.on('response', (response) => {
      if (response.statusCode !== 200) throw new Error(`a call was answered with ${response.statusCode}`);
      response.resume().on('end', () => {
        this.#ended += 1;
        this.times.push((performance.now() - began) * 1000);
      });
    });
    made.end(body);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    while (this.#ended < this.#made) await sleep(10);
    this.#agent.destroy();
  }
}

async function measureWindow(caller: Caller, pid: number): Promise<Window> {
  await sleep(pause);
  caller.times = [];
  const before = readProcessorTime(pid);
  await sleep(windowTime - pause);
  const { times } = caller;
  return { time: computeMedian(times), processor: (readProcessorTime(pid) - before) / times.length };
}

/** A window with a client in a process of its own. */
async function measureFollowed(caller: Caller, pid: number, url: string, secret: string): Promise<Window> {
  const options = ['-sN', '-o', '/dev/null', '-w', '%{size_download}', '-m', String(windowTime / 1000)];
  const client = spawn('curl', [...options, '-H', `authorization: Bearer ${secret}`, url]);
  let printed = '';
  client.stdout.on('data', (piece: Buffer) => (printed += String(piece)));
  const closed = once(client, 'close');
  const measured = await measureWindow(caller, pid);
  await closed;
  const bytes = Number(printed);
  if (bytes < caller.times.length * 300) throw new Error(`the client was sent ${bytes} bytes only`);
  return measured;
}

process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-live-'));
const port = await findFreePort();
process.env.TOLLGATE_ADMIN_PORT = String(port);
let caller: Caller | undefined;
try {
  const { origin } = await startVendor(folder);
  const target = await startTollgate({ vendor: origin, folder, project, starts: 1 });
  const secret = readFileSync(join(target.data ?? folder, 'operator-secret'), 'utf8').trim();
  const url = `http://127.0.0.1:${port}/admin/events`;
  caller = new Caller(target);
  const windows: { without: Window; followed: Window }[] = [];
  for (let round = -3; round < rounds; round += 1) {
    const isFirst = Math.random() < 0.5;
    const first = isFirst ? await measureFollowed(caller, target.pid, url, secret) : undefined;
    const without = await measureWindow(caller, target.pid);
    const followed = first ?? (await measureFollowed(caller, target.pid, url, secret));
    if (round >= 0) windows.push({ without, followed });
  }
  for (const figure of ['time', 'processor'] as const) {
    const without = computeMedian(windows.map((each) => each.without[figure]));
    const followed = computeMedian(windows.map((each) => each.followed[figure]));
    const ratio = computeMedian(windows.map((each) => each.followed[figure] / each.without[figure]));
    const figures = `${without.toFixed(0)} µs, followed ${followed.toFixed(0)} µs`;
    process.stdout.write(`${figure} of a call: ${figures}; × ${ratio.toFixed(3)}\n`);
  }
} finally {
  await caller?.close();
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
