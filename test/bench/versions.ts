/**
 * Processor time of a call, all threads, of this checkout and of another one, in interleaved rounds of one
 * run: a JSON call that is alone, and at 32 connections a JSON call, a translated one and an unpaced stream of
 * 100 events.
 *
 * node test/bench/versions.ts <another checkout>      BENCH_ROUNDS=5 BENCH_SECONDS=3 BENCH_WARM_UP=12
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatTable } from '../../plugins/shared/table.ts';
import { load } from './load.ts';
import { startVendor } from './nginx.ts';
import { calls, translations, type Call } from './payload.ts';
import { readUsage, stopAll } from './processes.ts';
import { computeMedian } from './statistics.ts';
import { startBare, startTollgate, type Target } from './targets.ts';

const project = join(import.meta.dirname, '../..');
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 3);
/** Seconds of each kind of call until V8 has optimized what runs. Fewer measure how far it has come. */
const warmUp = Number(process.env.BENCH_WARM_UP ?? 12);
const crowd = 32;
const kinds: Readonly<Record<string, readonly [Call, number]>> = {
  'JSON, one connection': [calls.json, 1],
  JSON: [calls.json, crowd],
  'JSON, translated': [translations.json, crowd],
  'stream of 100 events': [calls.stream, crowd],
};

// Where nginx is installed is often no part of a user's path.
process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-versions-'));

async function startGateway(vendor: string, from: string, name: string): Promise<Target> {
  const own = join(folder, name);
  mkdirSync(own);
  return { ...(await startTollgate({ vendor, folder: own, project: from, starts: 1 })), name };
}

/** Microseconds of processor time of a call, by target: the median of its rounds. */
async function measure(targets: readonly Target[], call: Call, connections: number): Promise<number[]> {
  const samples = targets.map((): number[] => []);
  // The bare proxy translates nothing.
  const measured = [...targets.entries()].filter(
    ([, { translates = false }]) => translates || call !== translations.json,
  );
  for (const [, target] of measured)
    await load(target, call, { connections: crowd, seconds: warmUp, folder });
  for (let round = 0; round < rounds; round += 1)
    for (const [index, target] of measured) {
      const begun = readUsage(target.pid).cpu;
      const { requests } = await load(target, call, { connections, seconds, folder });
      samples[index]?.push(((readUsage(target.pid).cpu - begun) * 1e6) / requests);
    }
  return samples.map(computeMedian);
}

try {
  const [, , before] = process.argv;
  if (!before) throw new Error('usage: node test/bench/versions.ts <another checkout>');
  const { origin: vendor } = await startVendor(folder);
  const targets = [
    await startBare({ vendor, folder, project, starts: 1 }),
    await startGateway(vendor, before, 'before'),
    await startGateway(vendor, project, 'now'),
  ];
  const rows: string[][] = [];
  for (const [kind, [call, connections]] of Object.entries(kinds)) {
    const medians = await measure(targets, call, connections);
    const [, old = NaN, now = NaN] = medians;
    rows.push([kind, ...medians.map((cost) => cost.toFixed(0)), (now / old).toFixed(2)]);
  }
  process.stdout.write(`${formatTable(['µs of processor time', 'bare', 'before', 'now', 'ratio'], rows)}\n`);
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
