/** Which owners are alive, how far their calls have come, and how the calls of dead owners are ended. */
import { readProgress } from '../reservations.ts';
import { readCount, readText } from '../rows.ts';
import { decideCalls, type CallBatch } from './call-batch.ts';
import { writeRecoveries } from './plugin-tables.ts';
import {
  askRecords,
  askRows,
  nameStatements,
  selectRecords,
  sendAll,
  type Operations,
  type Steps,
} from './steps.ts';

const progressed = `sent, delivered, owed, model, provider, price, input, output, usage, costs, attempts`;

const sql = nameStatements('owners', {
  // The first beat is the time. So an owner that was forgotten and comes back never repeats a beat that was
  // seen before.
  beat: `
    INSERT INTO owners (owner, beat, lease)
    VALUES ($1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, $2)
    ON CONFLICT (owner) DO UPDATE SET beat = owners.beat + 1, lease = excluded.lease`,
  beatWhilePending: `
    INSERT INTO owners (owner, beat, lease)
    SELECT $1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, $2
    WHERE EXISTS (SELECT 1 FROM pending WHERE pending.owner = $1)
    ON CONFLICT (owner) DO UPDATE SET beat = owners.beat + 1, lease = excluded.lease RETURNING owner`,
  progress: `
    UPDATE pending SET ${progressed
      .split(', ')
      .map((column) => `${column} = come.${column}`)
      .join(', ')}
    FROM (${selectRecords('pending', `call, owner, ${progressed}`)}) come
    WHERE pending.call = come.call AND pending.owner = come.owner`,
  // Locks the owner: a beat that comes now waits, and then finds the calls ended.
  beatOf: 'SELECT beat FROM owners WHERE owner = $1 FOR UPDATE',
  pendingOf: 'SELECT * FROM pending WHERE owner = $1 ORDER BY number LIMIT $2',
  dropOwner:
    'DELETE FROM owners WHERE owner = $1 AND NOT EXISTS (SELECT 1 FROM pending WHERE pending.owner = $1)',
  pendingBefore: 'SELECT call FROM pending WHERE created < $1 ORDER BY number LIMIT $2',
});

/** Beats only while something is reserved; returns false otherwise. */
export function* beatWhilePending(owner: string, lease: number): Steps<boolean> {
  return (yield* askRows(sql.beatWhilePending, owner, lease)).length > 0;
}

function endCalls<Result>(
  owner: string,
  calls: readonly string[],
  decide: (batch: CallBatch) => Result,
): Steps<Result> {
  const nothing = { accounts: [], keys: [], claims: [], tags: [], moments: [] };
  return decideCalls(owner, { ...nothing, calls }, decide);
}

export const owners = {
  *beat({ lease, progress }, owner) {
    yield* askRows(sql.beat, owner, lease);
    yield* sendAll([
      askRecords(
        sql.progress,
        progress.map(({ id, ...come }) => ({ call: id, owner, ...come })),
      ),
    ]);
  },
  *recover({ owner, beat, limit, at, leaveOut }, self) {
    const [row] = yield* askRows(sql.beatOf, owner);
    if ((row ? readCount(row, 'beat') : 0) !== beat) return [];
    const left = (yield* askRows(sql.pendingOf, owner, limit)).map(readProgress);
    const ids = left.map(({ id }) => id);
    const recovered = yield* endCalls(self, ids, (batch) =>
      left.flatMap((progress) => batch.recover(progress, at) ?? []),
    );
    yield* askRows(sql.dropOwner, owner);
    yield* writeRecoveries(recovered, leaveOut);
    return recovered;
  },
  *expire({ before, limit, at, leaveOut }, self) {
    const ids = (yield* askRows(sql.pendingBefore, before, limit)).map((row) => readText(row, 'call'));
    const expired = yield* endCalls(self, ids, (batch) => ids.filter((id) => batch.expire(id, at)));
    yield* writeRecoveries(
      expired.map((id) => ({ id, amount: 0n })),
      leaveOut,
    );
    return expired;
  },
} satisfies Partial<Operations>;
