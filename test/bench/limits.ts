/**
 * What can be had on this machine: beside the bare proxy, the parts alone of which Tollgate is made
 * (`parts.ts`), and Tollgate as it is delivered. No gateway that is made of these parts, and keeps its books
 * on this disk, comes nearer to the bare proxy than they do.
 *
 * node test/bench/limits.ts      BENCH_ROUNDS=5 BENCH_SECONDS=5
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatTable } from '../../plugins/shared/table.ts';
import { findFreePort } from '../support/free-port.ts';
import { load } from './load.ts';
import { startVendor } from './nginx.ts';
import { calls, translations } from './payload.ts';
import { start, stopAll, readUsage } from './processes.ts';
import { computeMedian } from './statistics.ts';
import { startBare, startTollgate, type Target } from './targets.ts';

const project = join(import.meta.dirname, '../..');
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 5);

async function startParts(
  name: string,
  vendor: string,
  folder: string,
  ...how: readonly string[]
): Promise<Target> {
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const args = [join(project, 'test/bench/parts.ts'), String(port), vendor, folder, ...how];
  const { pid } = await start({ command: process.execPath, args, origin, log: join(folder, `${name}.log`) });
  return { name, origin, headers: {}, pid, startups: [] };
}

type Figures = Readonly<Record<string, number>>;

/** Streams and one connection measure the events' way and each call's waits; the rest is work. */
async function measure(target: Target, folder: string): Promise<Figures> {
  const buildOptions = (connections: number) => ({ connections, seconds, folder });
  const before = readUsage(target.pid).cpu;
  const json = await load(target, calls.json, buildOptions(32));
  const jsonCpu = (readUsage(target.pid).cpu - before) * 1e6;
  const stream = await load(target, calls.stream, buildOptions(32));
  const translated = target.translates ? await load(target, translations.json, buildOptions(32)) : json;
  const one = await load(target, calls.json, buildOptions(1));
  const long = await load(target, calls.long, buildOptions(1));
  const computeRate = ({ requests, microseconds }: typeof json): number => (requests / microseconds) * 1e6;
  return {
    'JSON calls a second': computeRate(json),
    'processor µs of a JSON call': jsonCpu / json.requests,
    'streams a second': computeRate(stream),
    'translated JSON calls a second': computeRate(translated),
    'µs with one connection': one.p50,
    'µs of a conversation of 1 MB': long.p50,
  };
}

// Where nginx is installed is often no part of a user's path.
process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;

const folder = mkdtempSync(join(tmpdir(), 'tollgate-limits-'));
try {
  const vendor = await startVendor(folder);
  const place = { vendor: vendor.origin, folder, project };
  const targets = [
    await startBare(place),
    await startParts('parts', vendor.origin, folder),
    await startParts('parts, body rewritten', vendor.origin, folder, 'rewritten'),
    await startTollgate(place),
  ];
  const samples = targets.map((): Figures[] => []);
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, target] of targets.entries()) {
      const figures = await measure(target, folder);
      if (round > 0) samples[index]?.push(figures);
    }
  const columns = ['measure', ...targets.map(({ name }) => name), 'tollgate to bare', 'tollgate to parts'];
  const rows = Object.keys(samples[0]?.[0] ?? {}).map((name) => {
    const values = samples.map((figures) => figures.map((each) => each[name] ?? NaN));
    // Ratios within a round, since all of it ran under the same load of the machine.
    const formatRatio = (to: number): string =>
      computeMedian(
        (values.at(-1) ?? []).map((value, round) => value / (values[to]?.[round] ?? NaN)),
      ).toFixed(2);
    return [name, ...values.map((all) => computeMedian(all).toFixed(0)), formatRatio(0), formatRatio(1)];
  });
  process.stdout.write(`${formatTable(columns, rows)}\n`);
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
