/** Documents in PostgreSQL. */
import type { StoredDocument } from '../../../../core/index.ts';
import { documentOf, type DocumentWrite } from '../documents.ts';
import { statements, type Query } from './connection.ts';

const sql = statements('documents', {
  read: 'SELECT version, body FROM documents WHERE name = $1',
  add: `
    INSERT INTO documents (name, version, body) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING RETURNING version`,
  replace: `
    UPDATE documents SET version = version + 1, body = $2 WHERE name = $1 AND version = $3
    RETURNING version`,
});

export async function readDocument(query: Query, name: string): Promise<StoredDocument | undefined> {
  const [row] = await query(sql.read, [name]);
  return row && documentOf(row);
}

export async function writeDocument(query: Query, { name, text, replaces }: DocumentWrite): Promise<boolean> {
  const rows =
    replaces === 0 ? await query(sql.add, [name, text]) : await query(sql.replace, [name, text, replaces]);
  return rows.length === 1;
}
