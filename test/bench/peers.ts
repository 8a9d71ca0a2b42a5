/**
 * Tollgate with everything on beside the gateways that a registry has, and the bare proxy, in interleaved
 * rounds of one run. Every target is checked first: its replies hold what the vendor said.
 *
 * npm run bench:peers      BENCH_ROUNDS=3 BENCH_SECONDS=6 BENCH_WARM_UP=6
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatTable } from '../../plugins/shared/table.ts';
import { startVendor } from './nginx.ts';
import { calls } from './payload.ts';
import { startLiteLlm, startPortkey } from './peer-targets.ts';
import { checkTarget } from './probe.ts';
import { readMemory, stopAll } from './processes.ts';
import { compareCosts, type Kind } from './side-by-side.ts';
import { startBare, startTollgate } from './targets.ts';

const kinds: readonly Kind[] = [
  { name: 'JSON, 1 connection', call: calls.json, connections: 1 },
  { name: 'JSON, 32', call: calls.json, connections: 32 },
  { name: 'JSON, 256', call: calls.json, connections: 256 },
  { name: 'stream of 100 events, 64', call: calls.stream, connections: 64 },
];

process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-peers-'));
const run = {
  folder,
  rounds: Number(process.env.BENCH_ROUNDS ?? 3),
  seconds: Number(process.env.BENCH_SECONDS ?? 6),
  warmUp: Number(process.env.BENCH_WARM_UP ?? 6),
};

try {
  const { origin: vendor } = await startVendor(folder);
  const place = { vendor, folder, project: join(import.meta.dirname, '../..'), starts: 1 };
  const starts = [startBare, startTollgate, startPortkey, startLiteLlm];
  const targets = [];
  for (const start of starts) targets.push(await start(place));
  for (const target of targets) await checkTarget(target);
  const rows: string[][] = [];
  for (const kind of kinds) {
    const costs = await compareCosts(targets, kind, run);
    rows.push([`${kind.name}: µs`, ...costs.map(({ processor }) => processor.toFixed(0))]);
    rows.push([`${kind.name}: p50, ms`, ...costs.map(({ p50 }) => (p50 / 1000).toFixed(2))]);
  }
  rows.push(['memory, MB', ...targets.map(({ pid }) => readMemory(pid).toFixed(0))]);
  process.stdout.write(`${formatTable(['', ...targets.map(({ name }) => name)], rows)}\n`);
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
