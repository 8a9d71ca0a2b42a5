/**
 * Checks that no lower number can still appear. A transaction takes its id before it takes numbers from a
 * sequence, and holds a lock on the sequence until it ends. `pg_snapshot_xmin` would wait for transactions
 * of every database on the server.
 */

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
