/** Which call holds which idempotency key, and the outcomes of those that have ended. */
import { isOver } from '../decisions.ts';
import type { Argument } from '../operations.ts';
import { readClaim, type Claim, type ClaimRecord, type StoredOutcome } from '../reservations.ts';
import { ask, askRows, nameStatements, type Asked, type Steps } from './steps.ts';

const sql = nameStatements('claims', {
  find: 'SELECT * FROM claims WHERE name = $1',
  take: `
    INSERT INTO claims (name, fingerprint, expires, call, state) VALUES ($1, $2, $3, $4, 'running')
    ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.fingerprint, expires = excluded.expires,
      call = excluded.call, state = 'running',
      status = NULL, headers = NULL, body = NULL, whole = NULL`,
  free: 'DELETE FROM claims WHERE name = $1',
  done: "UPDATE claims SET state = 'done', status = $2, headers = $3, body = $4, whole = $5 WHERE name = $1",
  sweep: `
    DELETE FROM claims WHERE name IN (
      SELECT name FROM claims WHERE state = 'done' AND expires <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING name`,
});

export function* findClaim({ name, at }: Argument<'findClaim'>): Steps<ClaimRecord | undefined> {
  const [row] = yield* askRows(sql.find, name);
  const claim = row && readClaim(row);
  return claim && !isOver(claim, at) ? claim : undefined;
}

export function takeClaim({ name, fingerprint, expires }: Claim, call: string): Asked {
  return ask(sql.take, name, fingerprint, expires, call);
}

/**
 * Ends a claim: with its call's outcome, with `undefined` if no outcome could be stored, or with `free`,
 * so that it can be taken again.
 */
export function settleClaim(name: string, outcome: StoredOutcome | 'free' | undefined): Asked {
  if (outcome === 'free') return ask(sql.free, name);
  const { status, headers, body, whole } = outcome ?? {};
  return ask(sql.done, name, status, headers && JSON.stringify(headers), body && Buffer.from(body), whole);
}

export function* sweep({ at, limit }: Argument<'sweep'>): Steps<number> {
  return (yield* askRows(sql.sweep, at, limit)).length;
}
