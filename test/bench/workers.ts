/**
 * What a call costs with one and with two workers: processor time of all processes of the gateway at 32
 * connections, in interleaved rounds. Time of PostgreSQL's own processes is not counted.
 *
 * node test/bench/workers.ts [postgres]     BENCH_ROUNDS=7 BENCH_SECONDS=3
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, startPostgres } from '../support/postgres.ts';
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
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  const own = usageOf(pid).cpu;
  return children.filter(Boolean).reduce((sum, child) => sum + usageOf(Number(child)).cpu, own);
}

async function targetWith(workers: number, vendor: string): Promise<Target> {
  const own = join(folder, `workers-${workers}`);
  mkdirSync(own);
  const config = join(own, 'gateway.config.ts');
  const database = server && (await createDatabase(server.url));
  writeFileSync(config, configuration(workers, database?.url));
  const name = `${workers} worker${workers > 1 ? 's' : ''}`;
  return { ...(await tollgateTarget({ vendor, folder: own, project, config, starts: 1 })), name };
}

process.env.PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin`;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-workers-'));
const server = process.argv.includes('postgres') ? await startPostgres({ durable: true }) : undefined;
try {
  const { origin } = await startVendor(folder);
  const targets = [await targetWith(1, origin), await targetWith(2, origin)];
  const costs = targets.map((): number[] => []);
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, target] of targets.entries()) {
      const before = cpuOf(target.pid);
      const { requests } = await load(target, calls.json, { connections: 32, seconds, folder });
      if (round > 0) costs[index]?.push(((cpuOf(target.pid) - before) / requests) * 1e6);
    }
  const [one = [], two = []] = costs;
  const ratio = median(two.map((cost, round) => cost / (one[round] ?? NaN)));
  process.stdout.write(
    `${median(one).toFixed(0)} us of processor time a call with one worker, ` +
      `${median(two).toFixed(0)} us with two; median ratio of the rounds ${ratio.toFixed(2)}\n`,
  );
} finally {
  await stopAll();
  await server?.end();
  rmSync(folder, { recursive: true, force: true });
}
