/** The operations that move money, on one SQLite connection, inside a transaction that the caller began. */
import type { Handlers } from '../operations.ts';
import { readProgress } from '../reservations.ts';
import { readCount, readText } from '../rows.ts';
import { listConsumption, type CallTransaction } from './call-transaction.ts';

type LedgerName = 'reserve' | 'settle' | 'beat' | 'recover' | 'expire';

export function createLedgerHandlers({
  calls,
  sql,
  owner: self,
}: CallTransaction): Pick<Handlers, LedgerName> {
  return {
    reserve: (request) => calls.reserve(request),
    settle: (settlement) => calls.settle(settlement),
    beat({ lease, progress }) {
      sql.beat.run(self, lease);
      for (const call of progress) {
        const { id, sent, delivered, owed } = call;
        sql.progress.run(sent ? 1 : 0, delivered, owed, ...listConsumption(call), id, self);
      }
    },
    recover({ owner, beat, limit, at }) {
      const row = sql.beatOf.get(owner);
      if ((row ? readCount(row, 'beat') : 0) !== beat) return [];
      const rows = sql.pendingOf.all(owner, limit);
      const recovered = rows.flatMap((found) => calls.recover(readProgress(found), at) ?? []);
      sql.dropOwner.run(owner);
      return recovered;
    },
    expire({ before, limit, at }) {
      const ids = sql.pendingBefore.all(before, limit).map((row) => readText(row, 'call'));
      return ids.filter((id) => calls.expire(id, at));
    },
  };
}
