/** What the ledger stores besides money: documents, prices, and the log of operators' actions. */
import { readAction } from '../corrections.ts';
import { readDocument } from '../documents.ts';
import { askRows, nameStatements, type Operations } from './steps.ts';

const sql = nameStatements('kept', {
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
  *listActions({ before = Number.MAX_SAFE_INTEGER, limit }) {
    return (yield* askRows(sql.actions, before, limit)).map(readAction);
  },
} satisfies Partial<Operations>;
