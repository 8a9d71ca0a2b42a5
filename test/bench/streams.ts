/**
 * What a stream costs whose events come as slowly as a model writes them: processor time, all threads, of a
 * stream of 100 events, at several paces, in the gateway as it is delivered, which says how many streams a
 * core carries; and the memory of streams that are open and wait for their vendor.
 *
 * node test/bench/streams.ts     BENCH_ROUNDS=3 BENCH_SECONDS=12 BENCH_STREAMS=100
 */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatTable } from '../../plugins/shared/table.ts';
import { load, makeCall } from './load.ts';
import { startVendor } from './nginx.ts';
import { calls, eventsPerStream, replies, translations } from './payload.ts';
import { readMemory, readUsage, stopAll } from './processes.ts';
import { computeMedian } from './statistics.ts';
import { startTollgate, type Target } from './targets.ts';

const project = join(import.meta.dirname, '../..');
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const seconds = Number(process.env.BENCH_SECONDS ?? 12);
/** How many run at once. */
const connections = Number(process.env.BENCH_STREAMS ?? 100);
const kinds = { verbatim: calls.stream, translated: translations.stream };
/** Events a second of each stream. */
const paces = [25, 50, 100];

/** The delivered one, which would refuse calls where other programs keep it from the processor. */
const configuration = `
import delivered from '${project}/gateway.config.ts';
const plugins = delivered.plugins.filter((plugin) => plugin?.name !== 'overload');
export default { ...delivered, plugins };
`;

interface Measured {
  /** Microseconds of processor time of a stream. */
  readonly cost: number;
  readonly bytesPerStream: number;
}

/** Streams that are unfinished at the end count by what was read of them. */
async function measure(target: Target, kind: keyof typeof kinds, bytesPerStream?: number): Promise<Measured> {
  const before = readUsage(target.pid).cpu;
  const { bytes, requests } = await load(target, kinds[kind], { connections, seconds, folder });
  const each = bytesPerStream ?? bytes / requests;
  return { cost: ((readUsage(target.pid).cpu - before) * 1e6) / (bytes / each), bytesPerStream: each };
}

const [firstEvent = ''] = replies.events.split(/(?<=\n\n)/);

/** Opens streams whose vendor sends one event, and returns the kilobytes that each adds to the gateway. */
async function measureMemory(start: (origin: string) => Promise<Target>): Promise<number> {
  const vendor = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(firstEvent);
    });
  });
  await once(vendor.listen(0, '127.0.0.1'), 'listening');
  const address = vendor.address();
  if (typeof address !== 'object' || address === null) throw new Error('the vendor has no port');
  const target = await start(`http://127.0.0.1:${address.port}`);
  const open = async (count: number): Promise<void> => {
    const streams = await Promise.all(Array.from({ length: count }, () => makeCall(target, kinds.verbatim)));
    await Promise.all(streams.map(({ body }) => body?.getReader().read()));
  };
  await open(100);
  const before = readMemory(target.pid);
  await open(connections * 10);
  await sleep(5000);
  vendor.close();
  return ((readMemory(target.pid) - before) * 1024) / (connections * 10);
}

process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-streams-'));
try {
  const config = join(folder, 'gateway.config.ts');
  writeFileSync(config, configuration);
  const start = (vendor: string, own: string): Promise<Target> =>
    startTollgate({ vendor, folder: own, project, config, starts: 1 });
  const kilobytes = await measureMemory((vendor) => start(vendor, folder));
  await stopAll();
  process.stdout.write(`${kilobytes.toFixed(0)} kB for each stream that is open\n`);
  const rows: string[][] = [];
  for (const perSecond of paces) {
    const own = join(folder, `${perSecond}`);
    mkdirSync(own);
    const vendor = await startVendor(own, perSecond);
    const target = await start(vendor.origin, own);
    for (const kind of ['verbatim', 'translated'] as const) {
      vendor.pace(false);
      // Until thousands of calls are answered, the code is not compiled.
      await measure(target, kind);
      const unpaced = await measure(target, kind);
      vendor.pace(true);
      const costs: number[] = [];
      for (let round = 0; round < rounds; round += 1)
        costs.push((await measure(target, kind, unpaced.bytesPerStream)).cost);
      const cost = computeMedian(costs);
      const perCore = (1e6 * eventsPerStream) / (cost * perSecond);
      const figures = [perSecond, unpaced.cost, cost, perCore];
      rows.push([kind, ...figures.map((figure) => figure.toFixed(0))]);
    }
    await stopAll();
  }
  const head = ['STREAM', 'EVENTS A SECOND', 'UNPACED, µs', 'PACED, µs', 'STREAMS A CORE'];
  process.stdout.write(`${formatTable(head, rows)}\n`);
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
