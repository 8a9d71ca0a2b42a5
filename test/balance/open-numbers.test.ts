/** Which transactions hold back the numbers of a sequence in PostgreSQL. */
import { expect, it } from 'vitest';
import { buildNoneOpenSql, openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openDatabase } from '../support/database.ts';
import { queryDatabase, startHolder } from './postgres-database.ts';

it('a transaction below the horizon holds back its numbers until it ends, in any epoch', async () => {
  const { url, drop } = await openDatabase();
  const store = await openPostgres({ url });
  const ask = async (horizon: bigint): Promise<unknown> =>
    (
      await queryDatabase(url, `SELECT ${buildNoneOpenSql("'entry_numbers'", '$1::bigint')} AS free`, [
        horizon,
      ])
    )[0]?.free;
  const holder = await startHolder(url);
  await holder.takeNumber();
  const [row] = await queryDatabase(
    url,
    `SELECT transactionid::text::bigint AS id FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'transactionid' AND datname = current_database()`,
  );
  const id = BigInt(String(row?.id));
  const epoch = 2n ** 32n;
  for (const past of [0n, epoch, 5n * epoch]) {
    expect([await ask(past + id), await ask(past + id + 1n)]).toEqual([true, false]);
    expect(await ask(past + id + 2n ** 30n)).toBe(false);
  }
  await holder.release();
  await expect.poll(() => ask(id + 1n)).toBe(true);
  await store.close();
  await drop();
});
