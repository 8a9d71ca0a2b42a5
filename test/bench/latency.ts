/**
 * One call after the other on one connection: the parts alone (`parts.ts`), Tollgate as delivered, and
 * Tollgate of another checkout, in interleaved rounds of one run. Prints the medians of each round's p50 and
 * what Tollgate adds to the parts.
 *
 * node test/bench/latency.ts      BEFORE=<another checkout> BENCH_ROUNDS=7 BENCH_SECONDS=3
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../support/free-port.ts';
import { load } from './load.ts';
import { startVendor } from './nginx.ts';
import { calls } from './payload.ts';
import { start, stopAll, readUsage } from './processes.ts';
import { computeMedian } from './statistics.ts';
import { startTollgate, type Target } from './targets.ts';

const project = join(import.meta.dirname, '../..');
const rounds = Number(process.env.BENCH_ROUNDS ?? 7);
const seconds = Number(process.env.BENCH_SECONDS ?? 3);
const connections = Number(process.env.BENCH_CONNECTIONS ?? 1);

async function startParts(vendor: string, folder: string, from: string, name: string): Promise<Target> {
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const args = [join(from, 'test/bench/parts.ts'), String(port), vendor, folder];
  const { pid } = await start({ command: process.execPath, args, origin, log: join(folder, 'parts.log') });
  return { name, origin, headers: {}, pid, startups: [] };
}

async function startGateway(vendor: string, folder: string, from: string, name: string): Promise<Target> {
  const own = join(folder, name);
  mkdirSync(own);
  return { ...(await startTollgate({ vendor, folder: own, project: from, starts: 1 })), name };
}

process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-latency-'));
try {
  const { origin } = await startVendor(folder);
  const before = process.env.BEFORE;
  const targets = [
    await startParts(origin, folder, before ?? project, 'parts'),
    ...(before ? [await startGateway(origin, folder, before, 'before')] : []),
    await startGateway(origin, folder, project, 'tollgate'),
  ];
  const p50s = targets.map((): number[] => []);
  const cpus = targets.map((): number[] => []);
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, target] of targets.entries()) {
      const { cpu } = readUsage(target.pid);
      const { p50, requests } = await load(target, calls.json, { connections, seconds, folder });
      if (round === 0) continue;
      p50s[index]?.push(p50);
      cpus[index]?.push(((readUsage(target.pid).cpu - cpu) / requests) * 1e6);
    }
  const parts = p50s[0] ?? [];
  for (const [index, { name }] of targets.entries()) {
    const own = p50s[index] ?? [];
    const added = computeMedian(own.map((p50, round) => p50 - (parts[round] ?? NaN)));
    process.stdout.write(
      `${name}: p50 ${computeMedian(own)} us (best ${Math.min(...own)}), ${added} us more than the parts; ` +
        `processor ${computeMedian(cpus[index] ?? []).toFixed(0)} us\n`,
    );
  }
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
