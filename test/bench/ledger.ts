/**
 * The ledger alone: reserve and settle, each durable when it is answered, with many calls in flight.
 * Processor time is listed for the event loop and for the writer's thread, since a busy machine changes
 * rates more than that.
 *
 * node test/bench/ledger.ts [postgres] [--json]      LEDGER_PAIRS=100000 LEDGER_FLIGHT=256 LEDGER_KEYS=64
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { startPostgres } from '../support/postgres.ts';
import { fill, keys, reserveOne, settleOne } from './pairs.ts';

const pairs = Number(process.env.LEDGER_PAIRS ?? 100_000);
const inFlight = Number(process.env.LEDGER_FLIGHT ?? 256);
const rounds = 3;

interface Round {
  readonly perSecond: number;
  readonly loopMicroseconds: number;
  readonly writerMicroseconds: number;
}

async function runRound(store: Store, count: number): Promise<Round> {
  let left = count;
  const spend = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await settleOne(store, await reserveOne(store));
    }
  };
  const [began, all, loop] = [performance.now(), process.cpuUsage(), process.threadCpuUsage()];
  await Promise.all(Array.from({ length: inFlight }, spend));
  const seconds = (performance.now() - began) / 1000;
  const total = process.cpuUsage(all);
  const own = process.threadCpuUsage(loop);
  const loopTime = own.user + own.system;
  return {
    perSecond: count / seconds,
    loopMicroseconds: loopTime / count,
    writerMicroseconds: (total.user + total.system - loopTime) / count,
  };
}

const folder = mkdtempSync(join(tmpdir(), 'tollgate-ledger-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const server = process.argv.includes('postgres') ? await startPostgres({ durable: true }) : undefined;
const name = server ? 'PostgreSQL, fsync on' : 'SQLite, synchronous=FULL';
const store = server
  ? await openPostgres({ url: server.url })
  : await openSqlite({ file: join(folder, 'ledger.db') });
await fill(store);
await runRound(store, Math.min(pairs, 20_000));
const measured: Round[] = [];
for (let index = 0; index < rounds; index += 1) measured.push(await runRound(store, pairs));
await store.close();
await server?.end();
const [best] = measured.toSorted((first, second) => second.perSecond - first.perSecond);
if (process.argv.includes('--json')) {
  process.stdout.write(`${JSON.stringify({ pairs, inFlight, keys, rounds: measured })}\n`);
} else if (best) {
  const { perSecond, loopMicroseconds, writerMicroseconds } = best;
  process.stdout.write(
    `ledger (${name}): ${perSecond.toFixed(0)} reserve+settle/s at best of ${rounds} rounds of ${pairs}, ` +
      `${inFlight} in flight, ${keys} keys; ` +
      `processor time a call: ${loopMicroseconds.toFixed(1)} ` +
      `us on the event loop, ${writerMicroseconds.toFixed(1)} us in other threads\n`,
  );
}
