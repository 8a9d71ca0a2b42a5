/**
 * The bench: Tollgate, the bare reverse proxy it is built on, and the vendor alone, on loopback, in one run.
 * Rounds are interleaved so that a busy moment of the machine hits all of them; every figure is the median of
 * its rounds.
 *
 * npm run bench [-- --json]      BENCH_ROUNDS=5 BENCH_SECONDS=5 PEERS=1
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { measures, type Setting } from './measures.ts';
import { startVendor } from './nginx.ts';
import { checkTarget } from './probe.ts';
import { readMemory, stopAll } from './processes.ts';
import { computeMedian } from './statistics.ts';
import { computeResults, formatTable, type Samples } from './table.ts';
import {
  startBare,
  toDirectTarget,
  startPortkey,
  startTollgate,
  type Place,
  type Target,
} from './targets.ts';

const project = join(import.meta.dirname, '../..');

function printLine(text: string): void {
  process.stderr.write(`${text}\n`);
}

function readNumber(name: string, fallback: number, most: number): number {
  const value = Number(process.env[name] ?? fallback);
  if (!Number.isInteger(value) || value < 1 || value > most)
    throw new Error(`${name} has to be a whole number from 1 to ${most}`);
  return value;
}

/** The first line a tool prints about itself, or undefined where it is not installed. */
function readVersion(tool: string): string | undefined {
  const { error, stdout, stderr } = spawnSync(tool, ['-v'], { encoding: 'utf8' });
  return error
    ? undefined
    : `${stdout}${stderr}`.split('\n')[0]?.replace(/^nginx version: | Copyright.*$| \[.*$/g, '');
}

async function startTargets(
  place: Place,
  vendor: Awaited<ReturnType<typeof startVendor>>,
): Promise<Target[]> {
  const targets = [toDirectTarget(vendor), await startBare(place), await startTollgate(place)];
  if (process.env.PEERS === '1') targets.push(await startPortkey(place));
  return targets;
}

class Collection {
  readonly samples: Record<string, Record<string, number[]>> = {};

  add(target: Target, figures: Readonly<Record<string, number>>): void {
    for (const [figure, value] of Object.entries(figures))
      ((this.samples[figure] ??= {})[target.name] ??= []).push(value);
  }
}

/**
 * All rounds. The first warms every target up under every load, and is thrown away: V8 makes code for calls
 * in seconds, not at once.
 */
async function measureAll(
  targets: readonly Target[],
  rounds: number,
  basis: Omit<Setting, 'noteOthers'>,
): Promise<Samples> {
  const collection = new Collection();
  const setting: Setting = {
    ...basis,
    noteOthers: (target, share) => collection.add(target, { others: share * 100 }),
  };
  const warmUp: Setting = { ...basis, warn: () => undefined, noteOthers: () => undefined };
  const proxies = targets.filter(({ startups }) => startups.length);
  const noteMemory = (figure: string): void => {
    for (const target of proxies) collection.add(target, { [figure]: readMemory(target.pid) });
  };
  for (const target of proxies) for (const startup of target.startups) collection.add(target, { startup });
  await sleep(1000);
  noteMemory('memoryBefore');
  for (const target of targets) await checkTarget(target);
  for (let round = 0; round <= rounds; round += 1) {
    printLine(round ? `round ${round} of ${rounds}` : 'warm-up');
    for (const measure of measures) {
      for (const target of targets) {
        const figures = await measure(target, round ? setting : warmUp);
        if (round) collection.add(target, figures);
        await sleep(200);
      }
    }
  }
  await sleep(2000);
  noteMemory('memoryAfter');
  return collection.samples;
}

async function runBench(folder: string): Promise<void> {
  const tools = [readVersion('wrk'), readVersion('nginx')];
  if (tools.includes(undefined)) {
    printLine('The bench needs wrk and nginx: apt-get install -y wrk nginx');
    process.exitCode = 1;
    return;
  }
  const rounds = readNumber('BENCH_ROUNDS', 5, 100);
  const seconds = readNumber('BENCH_SECONDS', 5, 60);
  const warnings = new Set<string>();
  const vendor = await startVendor(folder);
  const targets = await startTargets({ vendor: vendor.origin, folder, project }, vendor);
  const samples = await measureAll(targets, rounds, {
    vendor,
    folder,
    seconds,
    warn: (message) => void warnings.add(message),
  });
  const others = computeMedian(Object.values(samples.others ?? {}).flat());
  if (others > 5)
    warnings.add(
      `programs outside the run took ${others.toFixed(0)} % of the processors: ` +
        'measure again on a quiet machine',
    );
  const names = targets.map(({ name }) => name);
  const results = computeResults(samples, names);
  const machine = {
    processor: cpus()[0]?.model,
    processors: availableParallelism(),
    node: process.version,
    tools,
    rounds,
    seconds,
  };
  if (process.argv.includes('--json')) {
    process.stdout.write(`${JSON.stringify({ machine, results, warnings: [...warnings] }, undefined, 2)}\n`);
    return;
  }
  const heading =
    `${rounds} rounds of ${seconds} s; ${machine.processors} × ${machine.processor}; ` +
    `Node ${machine.node}, ${tools.join(', ')}`;
  const notes = [
    'Tollgate as delivered: keys checked, every call in the ledger (synchronous=FULL), metrics on. ' +
      'The bare proxy does none of it.',
    'Processor time is that of the process measured: of the vendor itself under direct. ' +
      'Spread: how far rounds lie apart at most.',
    'Where a rate comes near that of direct, the vendor is the limit, ' +
      'and processor time is what tells the proxies apart.',
    ...[...warnings].map((text) => `Warning: ${text}`),
  ];
  process.stdout.write(`\n${heading}\n\n${formatTable(results, names)}\n\n${notes.join('\n')}\n`);
}

// Where nginx is installed is often no part of a user's path.
process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;

const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
let interrupted = false;
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.once(signal, () => {
    interrupted = true;
    void stopAll().finally(() => process.exit(code));
  });
}
try {
  await runBench(folder);
} catch (error) {
  if (!interrupted) printLine(`The bench failed. ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
await stopAll();
