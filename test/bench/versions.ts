/**
 * Processor time of a call, all threads, of this checkout and of another one, in interleaved rounds of one
 * run: a JSON call that is alone, and at 32 connections a JSON call, a translated one and an unpaced stream
 * of 100 events.
 *
 * node test/bench/versions.ts <another checkout>      BENCH_ROUNDS=5 BENCH_SECONDS=3 BENCH_WARM_UP=12
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatTable } from '../../plugins/shared/table.ts';
import { startVendor } from './nginx.ts';
import { calls, translations } from './payload.ts';
import { stopAll } from './processes.ts';
import { compareCosts, type Kind } from './side-by-side.ts';
import { startBare, startTollgate, type Target } from './targets.ts';

const project = join(import.meta.dirname, '../..');
const kinds: readonly Kind[] = [
  { name: 'JSON, one connection', call: calls.json, connections: 1 },
  { name: 'JSON', call: calls.json, connections: 32 },
  { name: 'JSON, translated', call: translations.json, connections: 32 },
  { name: 'stream of 100 events', call: calls.stream, connections: 32 },
];

// Where nginx is installed is often no part of a user's path.
process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-versions-'));
const run = {
  folder,
  rounds: Number(process.env.BENCH_ROUNDS ?? 5),
  seconds: Number(process.env.BENCH_SECONDS ?? 3),
  warmUp: Number(process.env.BENCH_WARM_UP ?? 12),
};

async function startGateway(vendor: string, from: string, name: string): Promise<Target> {
  const own = join(folder, name);
  mkdirSync(own);
  return { ...(await startTollgate({ vendor, folder: own, project: from, starts: 1 })), name };
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
  for (const kind of kinds) {
    const costs = (await compareCosts(targets, kind, run)).map(({ processor }) => processor);
    const [, old = NaN, now = NaN] = costs;
    rows.push([kind.name, ...costs.map((cost) => cost.toFixed(0)), (now / old).toFixed(2)]);
  }
  process.stdout.write(`${formatTable(['µs of processor time', 'bare', 'before', 'now', 'ratio'], rows)}\n`);
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
