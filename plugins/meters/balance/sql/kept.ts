/** What the ledger keeps besides money: documents, prices, and the log of operators' actions. */
import { actionOf } from '../corrections.ts';
import { documentOf } from '../documents.ts';
import { ask, statements, type Operations } from './steps.ts';

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

export const kept = {
  *readDocument(name) {
    const [row] = yield* ask(sql.document, name);
    return row && documentOf(row);
  },
  *writeDocument({ name, text, replaces }) {
    const written =
      replaces === 0
        ? yield* ask(sql.addDocument, name, text)
        : yield* ask(sql.replaceDocument, name, text, replaces);
    return written.length > 0;
  },
  *definePrice({ version, rates, at }) {
    yield* ask(sql.addPrice, version, rates, at);
  },
  *recordAction({ at, author, action, subject, detail }) {
    yield* ask(sql.addAction, at, author, action, subject, detail);
  },
  *listActions({ before = Number.MAX_SAFE_INTEGER, limit }) {
    return (yield* ask(sql.actions, before, limit)).map(actionOf);
  },
} satisfies Partial<Operations>;
