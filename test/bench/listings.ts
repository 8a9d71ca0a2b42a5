/**
 * How many listings a second, beside a Koa that sends the same bytes from memory: each in a process of its
 * own, turn by turn, so that a busy moment of the machine hits both.
 *
 * node test/bench/listings.ts      BENCH_ROUNDS=5 BENCH_SECONDS=3
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../support/free-port.ts';
import { run, start, stopAll, readUsage } from './processes.ts';
import { computeMedian } from './statistics.ts';

const project = join(import.meta.dirname, '../..');
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 3);
const vendors = ['OPENAI', 'ANTHROPIC', 'GEMINI', 'DEEPSEEK', 'MISTRAL', 'GROQ', 'XAI', 'TOGETHER'];
const paths = ['/v1/models', '/alpha/v1/models', '/beta/v1beta/models', '/alpha/v1/models/openai/gpt-5'];

interface Served {
  readonly origin: string;
  readonly pid: number;
}

interface Figures {
  readonly perSecond: number;
  readonly microseconds: number;
}

async function measure({ origin, pid }: Served, path: string): Promise<Figures> {
  const before = readUsage(pid).cpu;
  const printed = await run('wrk', ['-t', '1', '-c', '16', '-d', `${seconds}s`, origin + path]);
  const requests = Number(/(\d+) requests in/.exec(printed)?.[1]);
  if (!requests || /Non-2xx/.test(printed)) throw new Error(printed);
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(printed)?.[1]),
    microseconds: ((readUsage(pid).cpu - before) / requests) * 1e6,
  };
}

async function compare(path: string, tollgate: Served, folder: string): Promise<string> {
  const bytes = Buffer.from(await (await fetch(tollgate.origin + path)).arrayBuffer());
  const file = join(folder, 'listing.json');
  writeFileSync(file, bytes);
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const started = await start({
    command: process.execPath,
    args: [join(project, 'test/bench/static.ts'), String(port), path, file],
    origin,
    log: join(folder, 'static.log'),
  });
  const figures: { ours: Figures; theirs: Figures }[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const pair = {
      ours: await measure(tollgate, path),
      theirs: await measure({ origin, pid: started.pid }, path),
    };
    if (round > 0) figures.push(pair);
  }
  await started.stop();
  const rate = computeMedian(figures.map(({ ours, theirs }) => ours.perSecond / theirs.perSecond));
  const time = computeMedian(figures.map(({ ours, theirs }) => theirs.microseconds / ours.microseconds));
  const perSecond = computeMedian(figures.map(({ ours }) => ours.perSecond));
  return (
    `${path.padEnd(32)} ${bytes.length} bytes, ${perSecond.toFixed(0)} a second, ${rate.toFixed(2)} ` +
    `× static Koa (by processor time ${time.toFixed(2)} ×)`
  );
}

const folder = mkdtempSync(join(tmpdir(), 'tollgate-listings-'));
try {
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const keys = Object.fromEntries(vendors.map((name) => [`${name}_API_KEY`, 'sk-vendor']));
  const started = await start({
    command: process.execPath,
    args: [join(project, 'core/cli.js'), 'start'],
    env: { ...keys, PORT: String(port), HOST: '127.0.0.1', TOLLGATE_DATA: folder, TOLLGATE_LOG: 'error' },
    cwd: project,
    origin,
    log: join(folder, 'tollgate.log'),
  });
  for (const path of paths)
    process.stdout.write(`${await compare(path, { origin, pid: started.pid }, folder)}\n`);
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
