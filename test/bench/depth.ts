/**
 * How much a long history slows a call down: reserve and settle on a new ledger and on one with millions of
 * entries. Rounds alternate between the two, so that a busy machine slows both.
 *
 * node test/bench/depth.ts [postgres]
 * DEPTH_ENTRIES=10000000 DEPTH_ROUNDS=15 DEPTH_PAIRS=200 DEPTH_FOLDER=/tmp
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { startPostgres } from '../support/postgres.ts';
import { openLedger } from './long-ledger.ts';
import { reserveOne, settleOne } from './pairs.ts';
import { computeMedian } from './statistics.ts';

const entries = Number(process.env.DEPTH_ENTRIES ?? 10_000_000);
const rounds = Number(process.env.DEPTH_ROUNDS ?? 15);
const pairs = Number(process.env.DEPTH_PAIRS ?? 200);

const folder = mkdtempSync(join(process.env.DEPTH_FOLDER ?? tmpdir(), 'tollgate-depth-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const server = process.argv.includes('postgres') ? await startPostgres({ durable: true }) : undefined;

/** Microseconds of each pair, one after the other. */
async function measure(store: Store): Promise<number> {
  const times: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const began = performance.now();
    await settleOne(store, await reserveOne(store));
    times.push((performance.now() - began) * 1000);
  }
  return computeMedian(times);
}

const short = await openLedger({ folder, server }, 'short', 0);
const began = performance.now();
const long = await openLedger({ folder, server }, 'long', entries);
process.stderr.write(` in ${((performance.now() - began) / 1000).toFixed(0)} s`);
const ratios: number[] = [];
const medians: [number[], number[]] = [[], []];
for (let round = 0; round <= rounds; round += 1) {
  const [before, after] = [await measure(short), await measure(long)];
  if (round === 0) continue;
  medians[0].push(before);
  medians[1].push(after);
  ratios.push(after / before);
}
await Promise.all([short.close(), long.close()]);
await server?.end();
process.stdout.write(
  `\n${server ? 'PostgreSQL' : 'SQLite'}: reserve + settle takes ` +
    `${computeMedian(medians[0]).toFixed(0)} us on a new ledger and ` +
    `${computeMedian(medians[1]).toFixed(0)} us with ${entries} entries; ` +
    `median ratio of the rounds ${computeMedian(ratios).toFixed(3)}\n`,
);
