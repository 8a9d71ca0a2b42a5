/** What the ledger keeps besides money: documents, prices, and the log of operators' actions. */
import type { StoredDocument } from '../../../../core/index.ts';
import { actionOf, type Action, type ActionRecord } from '../corrections.ts';
import { documentOf, type DocumentWrite } from '../documents.ts';
import type { PriceDefinition } from '../store.ts';
import { ask, statements, type Steps } from './steps.ts';

const sql = statements('kept', {
  document: 'SELECT version, body FROM documents WHERE name = $1',
  addDocument:
    'INSERT INTO documents (name, version, body) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING RETURNING version',
  replaceDocument: `UPDATE documents SET version = version + 1, body = $2
      WHERE name = $1 AND version = $3 RETURNING version`,
  addPrice: 'INSERT INTO prices (version, rates, created) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
  addAction: 'INSERT INTO operator_actions (at, author, action, subject, detail) VALUES ($1, $2, $3, $4, $5)',
  actions: 'SELECT * FROM operator_actions WHERE number < $1 ORDER BY number DESC LIMIT $2',
});

export function* readDocument(name: string): Steps<StoredDocument | undefined> {
  const [row] = yield* ask(sql.document, name);
  return row && documentOf(row);
}

export function* writeDocument({ name, text, replaces }: DocumentWrite): Steps<boolean> {
  const written =
    replaces === 0
      ? yield* ask(sql.addDocument, name, text)
      : yield* ask(sql.replaceDocument, name, text, replaces);
  return written.length > 0;
}

export function* definePrice({ version, rates, at }: PriceDefinition): Steps<void> {
  yield* ask(sql.addPrice, version, rates, at);
}

export function* recordAction({ at, author, action, subject, detail }: Action): Steps<void> {
  yield* ask(sql.addAction, at, author, action, subject, detail);
}

export function* listActions({
  before = Number.MAX_SAFE_INTEGER,
  limit,
}: {
  readonly before?: number | undefined;
  readonly limit: number;
}): Steps<readonly ActionRecord[]> {
  return (yield* ask(sql.actions, before, limit)).map(actionOf);
}
