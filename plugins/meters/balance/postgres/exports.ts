/**
 * Where an export from a PostgreSQL ledger ends: no lower number can still appear. A transaction takes its id
 * before it takes numbers from a sequence, and holds a lock on the sequence until it ends.
 * `pg_snapshot_xmin` would wait for transactions of every database on the server.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { buildOutageError } from '../queue.ts';
import { readCount, readFlag } from '../rows.ts';
import { nameStatements } from '../sql/steps.ts';
import type { Query } from './connection.ts';

/**
 * A condition: no transaction with an id below `horizon` may still write numbers of `sequence`; both are SQL.
 * `pg_locks` has the last 32 bits of ids, so their distance is compared. A lock whose transaction has no id
 * there belongs to one that is just ending.
 */
export function buildNoneOpenSql(sequence: string, horizon: string): string {
  return `NOT EXISTS (
    SELECT FROM pg_locks AS numbers
    LEFT JOIN pg_locks AS self ON self.virtualtransaction = numbers.virtualtransaction
      AND self.locktype = 'transactionid' AND self.mode = 'ExclusiveLock'
    WHERE numbers.locktype = 'relation' AND numbers.mode = 'RowExclusiveLock'
      AND numbers.relation = (${sequence})::regclass
      AND numbers.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (self.transactionid IS NULL
        OR ((${horizon} - self.transactionid::text::bigint + 2147483648) & 4294967295) > 2147483648))`;
}

const sql = nameStatements('exports', {
  taken: 'SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS number FROM entry_numbers',
  // Higher than the id of every transaction that has begun to write.
  horizon: 'SELECT pg_current_xact_id()::text::bigint AS number',
  ended: `SELECT ${buildNoneOpenSql("'entry_numbers'", '$1::bigint')} AS ended`,
});

async function readNumber(query: Query, name: 'taken' | 'horizon'): Promise<number> {
  const [row] = await query(sql[name]);
  return row ? readCount(row, 'number') : 0;
}

/** Milliseconds between two checks, and the number of checks. */
const pause = 25;
const mostLooks = 400;

/**
 * Entries take their numbers before they are committed. So this waits until all transactions that have
 * taken one are over. Throws if one takes too long.
 */
export async function findLastEntry(query: Query): Promise<number> {
  const taken = await readNumber(query, 'taken');
  const horizon = await readNumber(query, 'horizon');
  for (let look = 0; look < mostLooks; look += 1) {
    const [row] = await query(sql.ended, [horizon]);
    if (row && readFlag(row, 'ended')) return taken;
    await sleep(pause);
  }
  throw buildOutageError(new Error('a transaction takes too long, whose entries may still appear'));
}
