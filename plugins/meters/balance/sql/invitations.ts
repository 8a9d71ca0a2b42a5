/**
 * Invitations: one transaction makes the key and ends the invitation, with its row locked, so that two
 * processes never both redeem it.
 */
import { readInvitation } from '../invitations/records.ts';
import { readInteger, readText } from '../rows.ts';
import { accounts } from './accounts.ts';
import { budgets } from './budgets.ts';
import { askRows, Conditions, nameStatements, type Operations } from './steps.ts';

const invitationRows = `SELECT invitations.*, accounts.name AS account_name
  FROM invitations JOIN accounts ON accounts.id = invitations.account`;

const sql = nameStatements('invitations', {
  // A closed account gets no new keys.
  add: `
    INSERT INTO invitations (id, hash, account, name, terms, author, created, expires)
    SELECT $1, $2, id, $4, $5, $6, $7, $8 FROM accounts WHERE name = $3 AND state <> 'closed' RETURNING id`,
  // The id is the start of the hash, so one index finds both.
  find: `${invitationRows} WHERE invitations.id = substr($1, 1, 16) AND invitations.hash = $1`,
  lock: `SELECT id, expires, ended FROM invitations WHERE id = substr($1, 1, 16) AND hash = $1 FOR UPDATE`,
  end: 'UPDATE invitations SET ended = $2, key = $3 WHERE id = $1 AND ended IS NULL RETURNING id',
});

export const invitations = {
  *createInvitation({ id, hash, account, name, terms, author, created, expires }) {
    const stated = [name, terms, author, created, expires];
    return (yield* askRows(sql.add, id, hash, account, ...stated)).length > 0;
  },
  *findInvitation(hash) {
    const [row] = yield* askRows(sql.find, hash);
    return row && readInvitation(row);
  },
  *redeemInvitation({ hash, key, budgets: wanted }) {
    const [row] = yield* askRows(sql.lock, hash);
    if (!row) return 'not_found';
    if (row.ended !== null || readInteger(row, 'expires') <= key.at) return 'ended';
    if (!(yield* accounts.createKey(key))) return 'ended';
    for (const budget of wanted) yield* budgets.createBudget(budget);
    yield* askRows(sql.end, readText(row, 'id'), key.at, key.id);
    return 'created';
  },
  *withdrawInvitation({ id, at }) {
    return (yield* askRows(sql.end, id, at, undefined)).length > 0;
  },
  *listInvitations({ after = '', limit, account, wanted }) {
    const conditions = new Conditions({
      'invitations.id >': after,
      'invitations.id =': wanted,
      'accounts.name =': account,
    });
    const page = `${invitationRows} ${conditions.where} ORDER BY invitations.id
      LIMIT ${conditions.addValue(limit)}`;
    return (yield* askRows({ text: page }, ...conditions.values)).map(readInvitation);
  },
} satisfies Partial<Operations>;
