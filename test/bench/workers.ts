/**
 * What a call costs with one worker, with two, and with two gateways that share nothing: processor time of
 * all processes of the gateway at 32 connections, in interleaved rounds. Two processes on two cores slow each
 * other down, whatever they share, so the last one tells what sharing the ledger costs. Time of PostgreSQL's
 * own processes is not counted.
 *
 * node test/bench/workers.ts [postgres]     BENCH_ROUNDS=7 BENCH_SECONDS=3
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, startPostgres } from '../support/postgres.ts';
import { listChildren } from '../support/worker-processes.ts';
import { load } from './load.ts';
import { startVendor } from './nginx.ts';
import { calls } from './payload.ts';
import { stopAll, usageOf } from './processes.ts';
import { median } from './statistics.ts';
import { tollgateTarget, type Target } from './targets.ts';

const project = join(import.meta.dirname, '../..');
const rounds = Number(process.env.BENCH_ROUNDS ?? 7);
const seconds = Number(process.env.BENCH_SECONDS ?? 3);

/** The delivered configuration with so many workers, and with a ledger at `url` if there is one. */
function configuration(workers: number, url: string | undefined): string {
  const store = url === undefined ? { kind: 'sqlite' } : { kind: 'postgres', url };
  return `
import delivered from '${project}/gateway.config.ts';
import { balance } from '${project}/plugins/meters/balance/index.ts';
const ledger = balance({ store: ${JSON.stringify(store)} });
export default {
  ...delivered,
  server: { ...delivered.server, workers: ${workers} },
  plugins: delivered.plugins.map((plugin) => (plugin.name === 'balance' ? ledger : plugin)),
};
`;
}

/** Seconds of processor time of a process and its children. */
function cpuOf(pid: number): number {
  return listChildren(pid).reduce((sum, child) => sum + usageOf(child).cpu, usageOf(pid).cpu);
}

async function targetWith(name: string, workers: number, vendor: string): Promise<Target> {
  const own = join(folder, name.replaceAll(' ', '-'));
  mkdirSync(own);
  const config = join(own, 'gateway.config.ts');
  const database = server && (await createDatabase(server.url));
  writeFileSync(config, configuration(workers, database?.url));
  return { ...(await tollgateTarget({ vendor, folder: own, project, config, starts: 1 })), name };
}

/** Microseconds of processor time of a call, with all targets under load at once. */
async function measureCost(targets: readonly Target[]): Promise<number> {
  const cpu = (): number => targets.reduce((sum, { pid }) => sum + cpuOf(pid), 0);
  const before = cpu();
  const connections = 32 / targets.length;
  const results = await Promise.all(
    targets.map((target) => load(target, calls.json, { connections, seconds, folder })),
  );
  return ((cpu() - before) / results.reduce((sum, { requests }) => sum + requests, 0)) * 1e6;
}

process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-workers-'));
const server = process.argv.includes('postgres') ? await startPostgres({ durable: true }) : undefined;
try {
  const { origin } = await startVendor(folder);
  const one = await targetWith('one worker', 1, origin);
  const setups: readonly (readonly Target[])[] = [
    [one],
    [await targetWith('two workers', 2, origin)],
    [one, await targetWith('another gateway', 1, origin)],
  ];
  const costs = setups.map((): number[] => []);
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, targets] of setups.entries()) {
      const cost = await measureCost(targets);
      if (round > 0) costs[index]?.push(cost);
    }
  const [single = [], ...others] = costs;
  process.stdout.write(`one worker: ${median(single).toFixed(0)} us of processor time a call\n`);
  for (const [index, name] of ['two workers', 'two gateways'].entries()) {
    const own = others[index] ?? [];
    const ratio = median(own.map((cost, round) => cost / (single[round] ?? NaN)));
    process.stdout.write(`${name}: ${median(own).toFixed(0)} us, ${ratio.toFixed(2)} times as much\n`);
  }
} finally {
  await stopAll();
  await server?.end();
  rmSync(folder, { recursive: true, force: true });
}
