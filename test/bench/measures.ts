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
import { firstEvents } from './probe.ts';
import { machineTime, usageOf } from './processes.ts';
import { median } from './statistics.ts';
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
function timeOfOthers(target: Target, vendor: Vendor): number {
  const own = usageOf(process.pid);
  const parts = new Set([target.pid, vendor.pid]);
  return machineTime() - own.cpu - own.children - [...parts].reduce((sum, pid) => sum + usageOf(pid).cpu, 0);
}

/** One load, with what it cost the target, and whether connections to the vendor were kept. */
async function loaded(
  target: Target,
  kind: keyof typeof calls,
  connections: number,
  setting: Setting,
  translated = false,
): Promise<Loaded> {
  const { vendor, folder, seconds } = setting;
  const call = translated && target.translates ? translations[kind] : calls[kind];
  const opened = await vendor.state();
  const othersBefore = timeOfOthers(target, vendor);
  const before = usageOf(target.pid);
  const result = await load(target, call, { connections, seconds, folder });
  const after = usageOf(target.pid);
  setting.noteOthers(
    target,
    (timeOfOthers(target, vendor) - othersBefore) / (result.microseconds / 1e6) / availableParallelism(),
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

async function jsonThroughput(target: Target, setting: Setting): Promise<Figures> {
  const { perSecond, cpuMicroseconds, requests } = await loaded(target, 'json', 32, setting);
  return { jsonRate: perSecond, jsonCpu: cpuMicroseconds / requests };
}

/** Sum and count of the ledger's histogram, or undefined for a target without one. */
async function ledger({ metrics }: Target): Promise<{ sum: number; count: number } | undefined> {
  if (!metrics) return undefined;
  const text = await (await fetch(metrics)).text();
  const line = (name: string): RegExp =>
    new RegExp(`^tollgate_ledger_commit_seconds_${name}(?:{[^}]*})? (\\S+)$`, 'm');
  const figure = (name: string): number => Number(line(name).exec(text)?.[1] ?? NaN);
  return { sum: figure('sum'), count: figure('count') };
}

const syncs = 40;

/** Microseconds of one appended page made durable, in the folder of the ledger. */
function syncTime(folder: string): number {
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
  return median(times);
}

async function jsonLatency(target: Target, setting: Setting): Promise<Figures> {
  const disk = target.data === undefined ? {} : { sync: syncTime(target.data) };
  const before = await ledger(target);
  const { p50, p99, requests } = await loaded(target, 'json', 1, setting);
  const after = await ledger(target);
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
async function translatedJson(target: Target, setting: Setting): Promise<Figures> {
  const { perSecond, cpuMicroseconds, requests } = await loaded(target, 'json', 32, setting, true);
  return { translatedJsonRate: perSecond, translatedJsonCpu: cpuMicroseconds / requests };
}

async function translatedStreams(target: Target, setting: Setting): Promise<Figures> {
  setting.vendor.pace(false);
  const { perSecond, cpuMicroseconds, requests } = await loaded(target, 'stream', 32, setting, true);
  return {
    translatedRate: perSecond * eventsPerStream,
    translatedCpu: cpuMicroseconds / (requests * eventsPerStream),
  };
}

async function longConversation(target: Target, setting: Setting): Promise<Figures> {
  const verbatim = await loaded(target, 'long', 1, setting);
  const translated = await loaded(target, 'long', 1, setting, true);
  return { longP50: verbatim.p50, translatedLongP50: translated.p50 };
}

type StreamLoad = 'few' | 'many' | 'burst';

/**
 * Names the figures of a stream measure; reads are counted for proxies alone, the vendor reads only requests.
 */
function streamFigures(
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

function streams(name: StreamLoad, connections: number, paced: boolean): Measure {
  return async (target, setting) => {
    setting.vendor.pace(paced);
    return streamFigures(name, target, await loaded(target, 'stream', connections, setting));
  };
}

async function timeToFirstEvent(target: Target, setting: Setting): Promise<Figures> {
  setting.vendor.pace(true);
  return { firstEvent: median(await firstEvents(target, setting.seconds)) * 1000 };
}

/** In the order of a round. */
export const measures: readonly Measure[] = [
  jsonThroughput,
  jsonLatency,
  streams('few', 32, true),
  streams('many', 256, true),
  streams('burst', 32, false),
  timeToFirstEvent,
  translatedJson,
  translatedStreams,
  longConversation,
];
