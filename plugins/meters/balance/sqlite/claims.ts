/** Which call holds which idempotency key, and the outcomes of those that have ended. */
import type { DatabaseSync } from 'node:sqlite';
import { isOver } from '../decisions.ts';
import { claimOf } from '../records.ts';
import type { Claim, ClaimRecord, StoredOutcome } from '../store.ts';

function prepare(database: DatabaseSync) {
  return {
    claim: database.prepare('SELECT * FROM claims WHERE name = ?'),
    take: database.prepare(`
      INSERT INTO claims (name, fingerprint, expires, call, state) VALUES (?, ?, ?, ?, 'running')
      ON CONFLICT DO UPDATE SET fingerprint = excluded.fingerprint, expires = excluded.expires,
        call = excluded.call, state = 'running',
        status = NULL, headers = NULL, body = NULL, whole = NULL`),
    free: database.prepare('DELETE FROM claims WHERE name = ?'),
    done: database.prepare(
      "UPDATE claims SET state = 'done', status = ?, headers = ?, body = ?, whole = ? WHERE name = ?",
    ),
    sweep: database.prepare(`
      DELETE FROM claims WHERE rowid IN
        (SELECT rowid FROM claims WHERE state = 'done' AND expires <= ? LIMIT ?)`),
  };
}

export class Claims {
  readonly #sql: ReturnType<typeof prepare>;

  constructor(database: DatabaseSync) {
    this.#sql = prepare(database);
  }

  readonly findClaim = ({
    name,
    at,
  }: {
    readonly name: string;
    readonly at: number;
  }): ClaimRecord | undefined => {
    const row = this.#sql.claim.get(name);
    const claim = row && claimOf(row);
    return claim && !isOver(claim, at) ? claim : undefined;
  };

  take({ name, fingerprint, expires }: Claim, call: string): void {
    this.#sql.take.run(name, fingerprint, expires, call);
  }

  /**
   * Ends a claim: with its call's outcome, with `undefined` where no outcome could be kept, or with `free`,
   * so that it can be taken again.
   */
  settle(name: string, outcome: StoredOutcome | 'free' | undefined): void {
    if (outcome === 'free') this.#sql.free.run(name);
    else if (outcome)
      this.#sql.done.run(
        outcome.status,
        JSON.stringify(outcome.headers),
        outcome.body,
        outcome.whole ? 1 : 0,
        name,
      );
    else this.#sql.done.run(null, null, null, null, name);
  }

  readonly sweep = ({ at, limit }: { readonly at: number; readonly limit: number }): number => {
    return Number(this.#sql.sweep.run(at, limit).changes);
  };
}
