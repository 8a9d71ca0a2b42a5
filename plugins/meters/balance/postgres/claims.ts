/** Which call holds which idempotency key, and the outcomes of those that have ended. */
import { isOver } from '../decisions.ts';
import { claimOf } from '../records.ts';
import type { Claim, ClaimRecord, StoredOutcome } from '../store.ts';
import { statements, type Query } from './connection.ts';

const sql = statements('claims', {
  find: 'SELECT * FROM claims WHERE name = $1',
  take: `
    INSERT INTO claims (name, fingerprint, expires, call, state) VALUES ($1, $2, $3, $4, 'running')
    ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.fingerprint, expires = excluded.expires,
      call = excluded.call, state = 'running',
      status = NULL, headers = NULL, body = NULL, whole = NULL`,
  free: 'DELETE FROM claims WHERE name = $1',
  done: "UPDATE claims SET state = 'done', status = $2, headers = $3, body = $4, whole = $5 WHERE name = $1",
  sweep: `
    DELETE FROM claims WHERE name IN
      (SELECT name FROM claims WHERE state = 'done' AND expires <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING name`,
});

export async function findClaim(
  query: Query,
  { name, at }: { readonly name: string; readonly at: number },
): Promise<ClaimRecord | undefined> {
  const [row] = await query(sql.find, [name]);
  const claim = row && claimOf(row);
  return claim && !isOver(claim, at) ? claim : undefined;
}

export function takeClaim(
  query: Query,
  { name, fingerprint, expires }: Claim,
  call: string,
): Promise<unknown> {
  return query(sql.take, [name, fingerprint, expires, call]);
}

/**
 * Ends a claim: with its call's outcome, with `undefined` where no outcome could be kept, or with `free`, so
 * that it can be taken again.
 */
export function settleClaim(
  query: Query,
  name: string,
  outcome: StoredOutcome | 'free' | undefined,
): Promise<unknown> {
  if (outcome === 'free') return query(sql.free, [name]);
  if (!outcome) return query(sql.done, [name, null, null, null, null]);
  return query(sql.done, [
    name,
    outcome.status,
    JSON.stringify(outcome.headers),
    Buffer.from(outcome.body),
    outcome.whole,
  ]);
}

export async function sweep(
  query: Query,
  { at, limit }: { readonly at: number; readonly limit: number },
): Promise<number> {
  const rows = await query(sql.sweep, [at, limit]);
  return rows.length;
}
