/**
 * Rows a second of an export of all entries, as the admin API writes it, and the processor time of a row.
 *
 * node test/bench/exports.ts [postgres]      EXPORT_ENTRIES=1000000 EXPORT_FOLDER=/tmp
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportEntries } from '../../plugins/meters/balance/operator/export.ts';
import { startPostgres } from '../support/postgres.ts';
import { openLedger } from './long-ledger.ts';

const entries = Number(process.env.EXPORT_ENTRIES ?? 1_000_000);
const folder = mkdtempSync(join(process.env.EXPORT_FOLDER ?? tmpdir(), 'tollgate-exports-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const server = process.argv.includes('postgres') ? await startPostgres({ durable: true }) : undefined;
const store = await openLedger({ folder, server }, 'long', entries);
for (let round = 1; round <= 3; round += 1)
  for (const format of ['csv', 'jsonl'] as const) {
    const [began, used] = [performance.now(), process.cpuUsage()];
    let rows = 0;
    for await (const part of (await exportEntries(store, { format, after: 0 })).lines)
      rows += String(part).split('\n').length - 1;
    const seconds = (performance.now() - began) / 1000;
    const { user, system } = process.cpuUsage(used);
    process.stdout.write(
      `\n${server ? 'PostgreSQL' : 'SQLite'}, ${format}: ${(rows / seconds).toFixed(0)} rows/s, ` +
        `${((user + system) / rows).toFixed(1)} us of this process a row, ${rows} rows`,
    );
  }
process.stdout.write('\n');
await store.close();
await server?.end();
