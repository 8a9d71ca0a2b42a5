/**
 * What the ledger stores besides money: which call holds which idempotency key, with the outcomes of those
 * that have ended, documents, prices, and the log of operators' actions.
 */
import { readAction } from '../books.ts';
import { isOver } from '../decisions.ts';
import { readClaim, type Claim, type StoredOutcome } from '../reservations.ts';
import { createReader, pickColumn, readCount, readText } from '../rows.ts';
import { ask, askRows, Conditions, nameStatements, type Asked, type Operations } from './steps.ts';

const sql = nameStatements('kept', {
  claim: 'SELECT * FROM claims WHERE name = $1',
  takeClaim: `
    INSERT INTO claims (name, fingerprint, expires, call, state) VALUES ($1, $2, $3, $4, 'running')
    ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.fingerprint, expires = excluded.expires,
      call = excluded.call, state = 'running',
      status = NULL, headers = NULL, body = NULL, whole = NULL`,
  freeClaim: 'DELETE FROM claims WHERE name = $1',
  endClaim:
    "UPDATE claims SET state = 'done', status = $2, headers = $3, body = $4, whole = $5 WHERE name = $1",
  sweepClaims: `
    DELETE FROM claims WHERE name IN (
      SELECT name FROM claims WHERE state = 'done' AND expires <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING name`,
  document: 'SELECT version, body FROM documents WHERE name = $1',
  addDocument:
    'INSERT INTO documents (name, version, body) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING RETURNING version',
  replaceDocument: `UPDATE documents SET version = version + 1, body = $2
      WHERE name = $1 AND version = $3 RETURNING version`,
  addPrice: 'INSERT INTO prices (version, rates, created) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
  addAction: 'INSERT INTO operator_actions (at, author, action, subject, detail) VALUES ($1, $2, $3, $4, $5)',
});

export function takeClaim({ name, fingerprint, expires }: Claim, call: string): Asked {
  return ask(sql.takeClaim, name, fingerprint, expires, call);
}

/**
 * Ends a claim: with its call's outcome, with `undefined` if no outcome could be stored, or with `free`,
 * so that it can be taken again.
 */
export function settleClaim(name: string, outcome: StoredOutcome | 'free' | undefined): Asked {
  if (outcome === 'free') return ask(sql.freeClaim, name);
  const { status, headers, body, whole } = outcome ?? {};
  return ask(
    sql.endClaim,
    name,
    status,
    headers && JSON.stringify(headers),
    body && Buffer.from(body),
    whole,
  );
}

const readDocument = createReader({ version: readCount, text: pickColumn('body', readText) });

export const kept = {
  *findClaim({ name, at }) {
    const [row] = yield* askRows(sql.claim, name);
    const claim = row && readClaim(row);
    return claim && !isOver(claim, at) ? claim : undefined;
  },
  *sweep({ at, limit }) {
    return (yield* askRows(sql.sweepClaims, at, limit)).length;
  },
  *readDocument(name) {
    const [row] = yield* askRows(sql.document, name);
    return row && readDocument(row);
  },
  *writeDocument({ name, text, replaces }) {
    const written =
      replaces === 0
        ? yield* askRows(sql.addDocument, name, text)
        : yield* askRows(sql.replaceDocument, name, text, replaces);
    return written.length > 0;
  },
  *definePrice({ version, rates, at }) {
    yield* askRows(sql.addPrice, version, rates, at);
  },
  *recordAction({ at, author, action, subject, detail }) {
    yield* askRows(sql.addAction, at, author, action, subject, detail);
  },
  *listActions({ before, limit, author, action, subject, from, to }) {
    const conditions = new Conditions({
      'number <': before,
      'author =': author,
      'action =': action,
      'subject =': subject,
      'at >=': from,
      'at <': to,
    });
    const text = `SELECT * FROM operator_actions ${conditions.where}
      ORDER BY number DESC LIMIT ${conditions.addValue(limit)}`;
    return (yield* askRows({ text }, ...conditions.values)).map(readAction);
  },
} satisfies Partial<Operations>;
