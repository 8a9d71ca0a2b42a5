/** The log of operators' actions in PostgreSQL. */
import { actionOf, type Action, type ActionRecord } from '../corrections.ts';
import { statements, type Query } from './connection.ts';

const sql = statements('actions', {
  add: 'INSERT INTO operator_actions (at, author, action, subject, detail) VALUES ($1, $2, $3, $4, $5)',
  list: 'SELECT * FROM operator_actions WHERE number < $1 ORDER BY number DESC LIMIT $2',
});

export async function recordAction(
  query: Query,
  { at, author, action, subject, detail }: Action,
): Promise<void> {
  await query(sql.add, [at, author, action, subject, detail]);
}

export async function listActions(
  query: Query,
  {
    before = Number.MAX_SAFE_INTEGER,
    limit,
  }: { readonly before?: number | undefined; readonly limit: number },
): Promise<readonly ActionRecord[]> {
  return (await query(sql.list, [before, limit])).map(actionOf);
}
