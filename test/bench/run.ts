/**
 * The bench: Tollgate, the bare reverse proxy it is built on, and the vendor alone, on loopback, in one run.
 * Rounds are interleaved so that a busy moment of the machine hits all of them; every figure is the median of
 * its rounds.
 *
 * npm run bench [-- --json]      BENCH_ROUNDS=5 BENCH_SECONDS=5
 */
import { spawnSync } from 'node:child_process';
import { closeSync, fsyncSync, openSync, rmSync, writeSync, mkdtempSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { load } from './load.ts';
import { type Vendor, startVendor } from './nginx.ts';
import { calls, eventsPerStream, translations } from './payload.ts';
import { measureFirstEvents, checkTarget } from './probe.ts';
import { readMachineTime, readUsage, readMemory, stopAll } from './processes.ts';
import { computeMedian } from './statistics.ts';
import { computeResults, formatTable, type Samples } from './table.ts';
import { type Target, startBare, toDirectTarget, startTollgate, type Place } from './targets.ts';

type Figures = Readonly<Record<string, number>>;

interface Setting {
  readonly vendor: Vendor;
  readonly folder: string;
  readonly seconds: number;
  /** Notes what makes a figure doubtful. */
  warn(message: string): void;
  /** Notes which share of the processors went to programs outside the run during a load. */
  noteOthers(target: Target, share: number): void;
}

/** Puts a target under one load and returns its figures by name; `table.ts` says what each is. */
type Measure = (target: Target, setting: Setting) => Promise<Figures>;

interface Loaded {
  readonly perSecond: number;
  readonly requests: number;
  readonly cpuMicroseconds: number;
  readonly reads: number;
  readonly p50: number;
  readonly p99: number;
}

/** Seconds of processor time that no process of this run has used, since some moment. */
function computeOthersTime(target: Target, vendor: Vendor): number {
  const own = readUsage(process.pid);
  const parts = new Set([target.pid, vendor.pid]);
  return (
    readMachineTime() - own.cpu - own.children - [...parts].reduce((sum, pid) => sum + readUsage(pid).cpu, 0)
  );
}

/** One load, with what it cost the target, and whether connections to the vendor were kept. */
async function measureLoad(
  target: Target,
  kind: keyof typeof calls,
  connections: number,
  setting: Setting,
  translated = false,
): Promise<Loaded> {
  const { vendor, folder, seconds } = setting;
  const call = translated && target.translates ? translations[kind] : calls[kind];
  const opened = await vendor.state();
  const othersBefore = computeOthersTime(target, vendor);
  const before = readUsage(target.pid);
  const result = await load(target, call, { connections, seconds, folder });
  const after = readUsage(target.pid);
  setting.noteOthers(
    target,
    (computeOthersTime(target, vendor) - othersBefore) / (result.microseconds / 1e6) / availableParallelism(),
  );
  const { accepted } = await vendor.state();
  const fresh = accepted - opened.accepted;
  if (fresh > 2 * connections + 8)
    setting.warn(
      `${target.name} keeps no connections: ` +
        `${fresh} new ones to the vendor for ${result.requests} ${kind} calls`,
    );
  return {
    perSecond: (result.requests / result.microseconds) * 1e6,
    requests: result.requests,
    cpuMicroseconds: (after.cpu - before.cpu) * 1e6,
    reads: after.reads - before.reads,
    p50: result.p50,
    p99: result.p99,
  };
}

async function measureJsonThroughput(target: Target, setting: Setting): Promise<Figures> {
  const { perSecond, cpuMicroseconds, requests } = await measureLoad(target, 'json', 32, setting);
  return { jsonRate: perSecond, jsonCpu: cpuMicroseconds / requests };
}

/** Sum and count of the ledger's histogram, or undefined for a target without one. */
async function readLedger({ metrics }: Target): Promise<{ sum: number; count: number } | undefined> {
  if (!metrics) return undefined;
  const text = await (await fetch(metrics)).text();
  const buildPattern = (name: string): RegExp =>
    new RegExp(`^tollgate_ledger_commit_seconds_${name}(?:{[^}]*})? (\\S+)$`, 'm');
  const readFigure = (name: string): number => Number(buildPattern(name).exec(text)?.[1] ?? NaN);
  return { sum: readFigure('sum'), count: readFigure('count') };
}

const syncs = 40;

/** Microseconds of one appended page made durable, in the folder of the ledger. */
function measureSync(folder: string): number {
  const file = join(folder, 'sync-probe');
  const descriptor = openSync(file, 'w');
  const page = Buffer.alloc(4096, 1);
  const times = Array.from({ length: syncs }, () => {
    const began = performance.now();
    writeSync(descriptor, page);
    fsyncSync(descriptor);
    return (performance.now() - began) * 1000;
  });
  closeSync(descriptor);
  rmSync(file);
  return computeMedian(times);
}

async function measureJsonLatency(target: Target, setting: Setting): Promise<Figures> {
  const disk = target.data === undefined ? {} : { sync: measureSync(target.data) };
  const before = await readLedger(target);
  const { p50, p99, requests } = await measureLoad(target, 'json', 1, setting);
  const after = await readLedger(target);
  const latency = { jsonP50: p50, jsonP99: p99, ...disk };
  if (!before || !after) return latency;
  return {
    ...latency,
    ledgerWait: ((after.sum - before.sum) / requests) * 1e6,
    ledgerCommits: (after.count - before.count) / requests,
  };
}

/**
 * A client of another protocol than the vendor's; targets that translate nothing are asked in the vendor's
 * own words.
 */
async function measureTranslatedJson(target: Target, setting: Setting): Promise<Figures> {
  const { perSecond, cpuMicroseconds, requests } = await measureLoad(target, 'json', 32, setting, true);
  return { translatedJsonRate: perSecond, translatedJsonCpu: cpuMicroseconds / requests };
}

async function measureTranslatedStreams(target: Target, setting: Setting): Promise<Figures> {
  setting.vendor.pace(false);
  const { perSecond, cpuMicroseconds, requests } = await measureLoad(target, 'stream', 32, setting, true);
  return {
    translatedRate: perSecond * eventsPerStream,
    translatedCpu: cpuMicroseconds / (requests * eventsPerStream),
  };
}

async function measureLongConversation(target: Target, setting: Setting): Promise<Figures> {
  const verbatim = await measureLoad(target, 'long', 1, setting);
  const translated = await measureLoad(target, 'long', 1, setting, true);
  return { longP50: verbatim.p50, translatedLongP50: translated.p50 };
}

type StreamLoad = 'few' | 'many' | 'burst';

/**
 * Names the figures of a stream measure; reads are counted for proxies alone, the vendor reads only requests.
 */
function nameStreamFigures(
  prefix: StreamLoad,
  target: Target,
  { perSecond, cpuMicroseconds, requests, reads }: Loaded,
): Figures {
  const events = requests * eventsPerStream;
  const proxied = target.startups.length ? { [`${prefix}PerRead`]: events / reads } : {};
  return {
    [`${prefix}Rate`]: perSecond * eventsPerStream,
    [`${prefix}Cpu`]: cpuMicroseconds / events,
    ...proxied,
  };
}

function measureStreams(name: StreamLoad, connections: number, paced: boolean): Measure {
  return async (target, setting) => {
    setting.vendor.pace(paced);
    return nameStreamFigures(name, target, await measureLoad(target, 'stream', connections, setting));
  };
}

async function measureFirstEvent(target: Target, setting: Setting): Promise<Figures> {
  setting.vendor.pace(true);
  return { firstEvent: computeMedian(await measureFirstEvents(target, setting.seconds)) * 1000 };
}

/** In the order of a round. */
const measures: readonly Measure[] = [
  measureJsonThroughput,
  measureJsonLatency,
  measureStreams('few', 32, true),
  measureStreams('many', 256, true),
  measureStreams('burst', 32, false),
  measureFirstEvent,
  measureTranslatedJson,
  measureTranslatedStreams,
  measureLongConversation,
];

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
  return [toDirectTarget(vendor), await startBare(place), await startTollgate(place)];
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
