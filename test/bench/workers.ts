/**
 * What a call costs with one worker, with two, and with two gateways that share nothing: processor time of
 * all processes of the gateway at 32 connections, in interleaved rounds. Two processes on two cores slow
 * each other down, whatever they share, so what workers cost is divided by the last one to tell what
 * sharing costs. Each process first answers thousands of calls: until then its code is not compiled, and of
 * two workers each gets half of the calls. Time of PostgreSQL's own processes is not counted.
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
import { stopAll, readUsage } from './processes.ts';
import { computeMedian } from './statistics.ts';
import { startTollgate, type Target } from './targets.ts';

const project = join(import.meta.dirname, '../..');
const rounds = Number(process.env.BENCH_ROUNDS ?? 7);
const seconds = Number(process.env.BENCH_SECONDS ?? 3);
/** Calls that each process answers before it is measured. */
const warmUp = 8000;

/** The delivered configuration with so many workers, and with a ledger at `url` if there is one. */
function buildConfiguration(workers: number, url: string | undefined): string {
  const store = url === undefined ? { kind: 'sqlite' } : { kind: 'postgres', url };
  return `
import delivered from '${project}/gateway.config.ts';
import { balance } from '${project}/plugins/meters/balance/index.ts';
const ledger = balance({ store: ${JSON.stringify(store)} });
export default {
  ...delivered,
  server: { ...delivered.server, workers: ${workers} },
  plugins: delivered.plugins.map((plugin) => (plugin?.name === 'balance' ? ledger : plugin)),
};
`;
}

/** Seconds of processor time of a process and its children. */
function readCpu(pid: number): number {
  return listChildren(pid).reduce((sum, child) => sum + readUsage(child).cpu, readUsage(pid).cpu);
}

async function startWithWorkers(name: string, workers: number, vendor: string): Promise<Target> {
  const own = join(folder, name.replaceAll(' ', '-'));
  mkdirSync(own);
  const config = join(own, 'gateway.config.ts');
  const database = server && (await createDatabase(server.url));
  writeFileSync(config, buildConfiguration(workers, database?.url));
  return { ...(await startTollgate({ vendor, folder: own, project, config, starts: 1 })), name };
}

/** Puts all targets under load at once. Returns the number of calls, and seconds of processor time. */
async function measure(targets: readonly Target[]): Promise<{ made: number; cpu: number }> {
  const sumCpu = (): number => targets.reduce((sum, { pid }) => sum + readCpu(pid), 0);
  const before = sumCpu();
  const connections = 32 / targets.length;
  const results = await Promise.all(
    targets.map((target) => load(target, calls.json, { connections, seconds, folder })),
  );
  return { made: results.reduce((sum, { requests }) => sum + requests, 0), cpu: sumCpu() - before };
}

process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-workers-'));
const server = process.argv.includes('postgres') ? await startPostgres({ durable: true }) : undefined;
try {
  const { origin } = await startVendor(folder);
  const one = await startWithWorkers('one worker', 1, origin);
  const setups: readonly (readonly [name: string, targets: readonly Target[], processes: number])[] = [
    ['one worker', [one], 1],
    ['two workers', [await startWithWorkers('two workers', 2, origin)], 2],
    ['two gateways', [one, await startWithWorkers('another gateway', 1, origin)], 2],
  ];
  for (const [, targets, processes] of setups)
    for (let made = 0; made < warmUp * processes;) made += (await measure(targets)).made;
  const costs = setups.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [index, [, targets]] of setups.entries()) {
      const { made, cpu } = await measure(targets);
      costs[index]?.push((cpu / made) * 1e6);
    }
  const [single = [], shared = [], apart = []] = costs;
  const formatRatio = (own: readonly number[], to: readonly number[]): string =>
    computeMedian(own.map((cost, round) => cost / (to[round] ?? NaN))).toFixed(2);
  for (const [index, [name]] of setups.entries()) {
    const own = costs[index] ?? [];
    process.stdout.write(`${name}: ${computeMedian(own).toFixed(0)} us of processor time a call, `);
    process.stdout.write(`${formatRatio(own, single)} times as much as one worker\n`);
  }
  process.stdout.write(`two workers to two gateways: ${formatRatio(shared, apart)}\n`);
} finally {
  await stopAll();
  await server?.end();
  rmSync(folder, { recursive: true, force: true });
}
