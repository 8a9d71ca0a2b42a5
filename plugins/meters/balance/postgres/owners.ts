/** Which owners are alive, how far their calls have come, and how the calls of dead owners are ended. */
import { readCount, readText } from '../rows.ts';
import { nameStatements } from '../sql/steps.ts';
import type { Beat, RecoveredCall, RecoverRequest, Store } from '../store.ts';
import { CallBatch } from './call-batch.ts';
import type { Query } from './connection.ts';
import { encodeRecords } from './values.ts';

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
    WHERE EXISTS (SELECT FROM pending WHERE pending.owner = $1)
    ON CONFLICT (owner) DO UPDATE SET beat = owners.beat + 1, lease = excluded.lease RETURNING owner`,
  progress: `
    UPDATE pending SET sent = come.sent, delivered = come.delivered, owed = come.owed, model = come.model,
      provider = come.provider, price = come.price, input = come.input, output = come.output,
      usage = come.usage, costs = come.costs, attempts = come.attempts
    FROM json_populate_recordset(NULL::pending, $1) come
    WHERE pending.call = come.call AND pending.owner = $2`,
  // Locks the owner: a beat that comes now waits, and then finds the calls ended.
  beatOf: 'SELECT beat FROM owners WHERE owner = $1 FOR UPDATE',
  pendingOf: 'SELECT call FROM pending WHERE owner = $1 ORDER BY number LIMIT $2',
  dropOwner:
    'DELETE FROM owners WHERE owner = $1 AND NOT EXISTS (SELECT FROM pending WHERE pending.owner = $1)',
  pendingBefore: 'SELECT call FROM pending WHERE created < $1 ORDER BY number LIMIT $2',
});

export async function beat(query: Query, { lease, progress }: Beat, owner: string): Promise<void> {
  await query(sql.beat, [owner, lease]);
  if (progress.length > 0)
    await query(sql.progress, [
      encodeRecords(progress.map(({ id, ...come }) => ({ call: id, ...come }))),
      owner,
    ]);
}

/** Beats only while something is reserved; returns false otherwise. */
export async function beatWhilePending(query: Query, owner: string, lease: number): Promise<boolean> {
  const rows = await query(sql.beatWhilePending, [owner, lease]);
  return rows.length > 0;
}

async function endCalls<Result>(
  query: Query,
  owner: string,
  ids: readonly string[],
  work: (batch: CallBatch) => Result,
): Promise<Result> {
  const nothing = { accounts: [], keys: [], claims: [], tags: [], moments: [] };
  const batch = await CallBatch.readBatch(query, owner, { ...nothing, calls: ids });
  const result = work(batch);
  await Promise.all(batch.sendWrites());
  return result;
}

export async function recover(
  query: Query,
  { owner, beat, limit, at }: RecoverRequest,
  by: string,
): Promise<readonly RecoveredCall[]> {
  const [row] = await query(sql.beatOf, [owner]);
  if ((row ? readCount(row, 'beat') : 0) !== beat) return [];
  const rows = await query(sql.pendingOf, [owner, limit]);
  const ids = rows.map((found) => readText(found, 'call'));
  const recovered = await endCalls(query, by, ids, (batch) =>
    ids.flatMap((id) => {
      const progress = batch.getProgress(id);
      return (progress && batch.calls.recover(progress, at)) ?? [];
    }),
  );
  await query(sql.dropOwner, [owner]);
  return recovered;
}

export async function expire(
  query: Query,
  { before, limit, at }: Parameters<Store['expire']>[0],
  by: string,
): Promise<readonly string[]> {
  const rows = await query(sql.pendingBefore, [before, limit]);
  const ids = rows.map((row) => readText(row, 'call'));
  return endCalls(query, by, ids, ({ calls }) => ids.filter((id) => calls.expire(id, at)));
}
