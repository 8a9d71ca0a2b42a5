/** The SQL of everything that moves money, for one SQLite connection. */
import type { DatabaseSync } from 'node:sqlite';
import { pastCalls, payingAccounts, payingKeys } from '../sql/selects.ts';

function prepareSums(database: DatabaseSync) {
  return {
    account: database.prepare(`${payingAccounts} WHERE name = ?`),
    key: database.prepare(`${payingKeys} WHERE keys.id = ?`),
    changeAccount: database.prepare(
      'UPDATE accounts SET used = used + ?, pending = pending + ? WHERE id = ?',
    ),
    changeKey: database.prepare(`
      UPDATE keys SET used = used + ?, pending = pending + ?, minute = coalesce(?, minute),
        calls = coalesce(?, calls) WHERE id = ?`),
  };
}

export function prepareLedger(database: DatabaseSync) {
  return {
    ...prepareSums(database),
    addReserve: database.prepare(`
      INSERT INTO entries
        (kind, account, at, available, reserved, call, key, model, provider, price, budgets)
      VALUES ('reserve', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    addPending: database.prepare(`
      INSERT INTO pending
        (call, number, account, key, root, amount, owner, claim, created, owed, input, budgets)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    takePending: database.prepare(
      'DELETE FROM pending WHERE call = ? RETURNING call, number, account, key, root, amount, claim, budgets',
    ),
    addEnd: database.prepare(`
      INSERT INTO entries (kind, account, at, available, reserved, revenue, key, reservation, reason, basis,
        model, provider, price, input, output, usage, costs, attempts, flags, budgets, vendor)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    ended: database.prepare(`${pastCalls} AND made.call = ?`),
    // The first beat is the time. So an owner that was forgotten and comes back never repeats a beat that was
    // seen before.
    beat: database.prepare(`
      INSERT INTO owners (owner, beat, lease) VALUES (?, CAST(unixepoch('subsec') * 1000 AS INTEGER), ?)
      ON CONFLICT DO UPDATE SET beat = beat + 1, lease = excluded.lease`),
    progress: database.prepare(`
      UPDATE pending SET sent = ?, delivered = ?, owed = ?, model = ?, provider = ?, price = ?, input = ?,
        output = ?, usage = ?, costs = ?, attempts = ?
      WHERE call = ? AND owner = ?`),
    beatOf: database.prepare('SELECT beat FROM owners WHERE owner = ?'),
    // For a call that no beat has reported, the rest of what is presumed of it is read from its reservation.
    pendingOf: database.prepare(`
      SELECT pending.call, sent, delivered, owed, coalesce(pending.model, made.model) AS model,
        coalesce(pending.provider, made.provider) AS provider,
        iif(pending.input > 0, coalesce(pending.price, made.price), pending.price) AS price,
        pending.input, pending.output,
        iif(pending.attempts = 0, json_object('input', pending.input, 'output', 0), pending.usage) AS usage,
        pending.costs, pending.attempts
      FROM pending JOIN entries made ON made.number = pending.number WHERE owner = ? LIMIT ?`),
    dropOwner: database.prepare(
      'DELETE FROM owners WHERE owner = ?1 AND NOT EXISTS (SELECT 1 FROM pending WHERE owner = ?1)',
    ),
    pendingBefore: database.prepare('SELECT call FROM pending WHERE created < ? LIMIT ?'),
  };
}

export type LedgerStatements = ReturnType<typeof prepareLedger>;
