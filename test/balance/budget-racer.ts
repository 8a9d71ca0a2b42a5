/**
 * A process that asks for calls at the same moment as others: `node budget-racer.ts sqlite <file>` or
 * `postgres <url>`. Each line on stdin is a wave of calls; each line on stdout is the outcome of one.
 */
import { createInterface } from 'node:readline';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { runWave, type Wave } from './budget-race.ts';

const [kind, address = ''] = process.argv.slice(2);
const store =
  kind === 'postgres'
    ? await openPostgres({ url: address, connections: 1 })
    : await openSqlite({ file: address, busyTimeout: 60_000 });
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const wave: Wave = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(await runWave(store, wave))}\n`);
}
await store.close();
