/** Documents in SQLite. */
import type { DatabaseSync } from 'node:sqlite';
import type { StoredDocument } from '../../../../core/index.ts';
import { documentOf, type DocumentWrite } from '../documents.ts';

export class DocumentTable {
  readonly #sql;

  constructor(database: DatabaseSync) {
    this.#sql = {
      read: database.prepare('SELECT version, body FROM documents WHERE name = ?'),
      add: database.prepare(
        'INSERT INTO documents (name, version, body) VALUES (?, 1, ?) ON CONFLICT DO NOTHING',
      ),
      replace: database.prepare(
        'UPDATE documents SET version = version + 1, body = ? WHERE name = ? AND version = ?',
      ),
    };
  }

  readonly readDocument = (name: string): StoredDocument | undefined => {
    const row = this.#sql.read.get(name);
    return row && documentOf(row);
  };

  readonly writeDocument = ({ name, text, replaces }: DocumentWrite): boolean => {
    const written =
      replaces === 0 ? this.#sql.add.run(name, text) : this.#sql.replace.run(text, name, replaces);
    return written.changes === 1n;
  };
}
