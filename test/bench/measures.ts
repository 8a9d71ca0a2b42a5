/**
 * The measures of a round. Each puts a target under one load and returns its figures by name; a figure's
 * label, unit and sense are in `rows.ts`.
 */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { load } from './load.ts';
import type { Vendor } from './nginx.ts';
import { calls, eventsPerStream, translations } from './payload.ts';
import { measureFirstEvents } from './probe.ts';
import { readMachineTime, readUsage } from './processes.ts';
import { computeMedian } from './statistics.ts';
import type { Target } from './targets.ts';

export type Figures = Readonly<Record<string, number>>;

export interface Setting {
  readonly vendor: Vendor;
  readonly folder: string;
  readonly seconds: number;
  /** Notes what makes a figure doubtful. */
  warn(message: string): void;
  /** Notes which share of the processors went to programs outside the run during a load. */
  noteOthers(target: Target, share: number): void;
}

export type Measure = (target: Target, setting: Setting) => Promise<Figures>;

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
export const measures: readonly Measure[] = [
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
