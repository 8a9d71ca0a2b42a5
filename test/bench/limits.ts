/**
 * What can be had on this machine: beside the bare proxy, the parts alone of which Tollgate is made
 * (`parts.ts`). No gateway that is made of them, and keeps its books on this disk, comes nearer to the bare
 * proxy than they do.
 *
 * node test/bench/limits.ts      BENCH_ROUNDS=5 BENCH_SECONDS=5
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from './load.ts';
import { startVendor } from './nginx.ts';
import { calls } from './payload.ts';
import { freePort, start, stopAll } from './processes.ts';
import { median } from './statistics.ts';
import { bareTarget, type Target } from './targets.ts';

const project = join(import.meta.dirname, '../..');
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 5);

async function partsTarget(
  name: string,
  vendor: string,
  folder: string,
  ...how: readonly string[]
): Promise<Target> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const args = [join(project, 'test/bench/parts.ts'), String(port), vendor, folder, ...how];
  const { pid } = await start({ command: process.execPath, args, origin, log: join(folder, `${name}.log`) });
  return { name, origin, headers: {}, pid, startups: [] };
}

interface Figures {
  readonly perSecond: number;
  readonly longP50: number;
}

async function measure(target: Target, folder: string): Promise<Figures> {
  const { requests, microseconds } = await load(target, calls.json, { connections: 32, seconds, folder });
  const { p50 } = await load(target, calls.long, { connections: 1, seconds, folder });
  return { perSecond: (requests / microseconds) * 1e6, longP50: p50 };
}

// Where nginx is installed is often no part of a user's path.
process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;

const folder = mkdtempSync(join(tmpdir(), 'tollgate-limits-'));
try {
  const vendor = await startVendor(folder);
  const bare = await bareTarget({ vendor: vendor.origin, folder, project });
  const parts = [
    await partsTarget('parts', vendor.origin, folder),
    await partsTarget('parts, body said anew', vendor.origin, folder, 'said-anew'),
  ];
  const ratios = parts.map(() => ({ rate: [] as number[], long: [] as number[] }));
  for (let round = 0; round <= rounds; round += 1) {
    const least = await measure(bare, folder);
    for (const [index, target] of parts.entries()) {
      const { perSecond, longP50 } = await measure(target, folder);
      if (round === 0) continue;
      ratios[index]?.rate.push(perSecond / least.perSecond);
      ratios[index]?.long.push(longP50 / least.longP50);
    }
  }
  for (const [index, { rate, long }] of ratios.entries()) {
    process.stdout.write(
      `${parts[index]?.name}: ${median(rate).toFixed(2)} × bare in JSON calls a second at 32 connections; ` +
        `a conversation of 1 MB takes ${median(long).toFixed(1)} × as long\n`,
    );
  }
} finally {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
}
