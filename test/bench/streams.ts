/**
 * What a stream costs whose events come as slowly as a model writes them: processor time, all threads, of a
 * stream of 100 events, at several paces and numbers of streams at once, of the gateway as it is delivered.
 * Each stream gets an event on its own, so this says how many streams a core carries.
 *
 * node test/bench/streams.ts [protocol]     BENCH_ROUNDS=3 BENCH_SECONDS=6
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatTable } from '../../plugins/shared/table.ts';
import { load } from './load.ts';
import { startVendor } from './nginx.ts';
import { calls, eventsPerStream, translations } from './payload.ts';
import { readUsage, stopAll } from './processes.ts';
import { computeMedian } from './statistics.ts';
import { startTollgate, type Target } from './targets.ts';

const project = join(import.meta.dirname, '../..');
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const seconds = Number(process.env.BENCH_SECONDS ?? 6);
const kinds = { verbatim: calls.stream, translated: translations.stream };
/** Events a second of each stream, and how many streams run at once. */
const paces = [
  [25, 200],
  [50, 200],
  [50, 1000],
  [100, 200],
] as const;

/** Microseconds of processor time of a stream. Streams that a round leaves unfinished count by their events. */
async function measure(
  target: Target,
  kind: keyof typeof kinds,
  connections: number,
  perSecond: number,
): Promise<number> {
  const before = readUsage(target.pid).cpu;
  const { microseconds } = await load(target, kinds[kind], { connections, seconds, folder });
  const events = (connections * perSecond * microseconds) / 1e6;
  return ((readUsage(target.pid).cpu - before) * 1e6 * eventsPerStream) / events;
}

process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-streams-'));
try {
  const rows: string[][] = [];
  for (const [perSecond, connections] of paces) {
    const own = join(folder, `${perSecond}-${connections}`);
    mkdirSync(own);
    const vendor = await startVendor(own, perSecond);
    const target = await startTollgate({ vendor: vendor.origin, folder: own, project, starts: 1 });
    // Until thousands of calls are answered, the code is not compiled.
    for (const kind of ['verbatim', 'translated'] as const)
      await load(target, kinds[kind], { connections: 32, seconds: 6, folder });
    vendor.pace(true);
    for (const kind of ['verbatim', 'translated'] as const) {
      const costs: number[] = [];
      for (let round = 0; round < rounds; round += 1)
        costs.push(await measure(target, kind, connections, perSecond));
      const cost = computeMedian(costs);
      const perCore = 1e6 / ((cost / eventsPerStream) * perSecond);
      rows.push([kind, `${perSecond}`, `${connections}`, cost.toFixed(0), perCore.toFixed(0)]);
    }
    await stopAll();
  }
  const head = ['STREAM OF 100 EVENTS', 'EVENTS A SECOND', 'AT ONCE', 'MICROSECONDS', 'STREAMS A CORE'];
  process.stdout.write(`${formatTable(head, rows)}\n`);
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
