/** The books of a ledger, from the rows of its tables. */
import { readInteger, readOptional, readText, type Row } from '../../plugins/meters/balance/rows.ts';
import type { Books } from '../contract/books.ts';

export const selectEntries = `SELECT entries.*, accounts.name FROM entries
  JOIN accounts ON accounts.id = entries.account ORDER BY entries.number`;
export const selectAccounts = 'SELECT name, total, used, pending FROM accounts';

export function toBooks(entries: readonly Row[], accounts: readonly Row[]): Books {
  return {
    entries: entries.map((row) => ({
      kind: readText(row, 'kind'),
      account: readText(row, 'name'),
      call: readOptional(row, 'call', readText),
      reason: readOptional(row, 'reason', readText),
      flags: readText(row, 'flags'),
      credits: readInteger(row, 'credits'),
      available: readInteger(row, 'available'),
      reserved: readInteger(row, 'reserved'),
      revenue: readInteger(row, 'revenue'),
    })),
    accounts: accounts.map((row) => ({
      name: readText(row, 'name'),
      total: readInteger(row, 'total'),
      used: readInteger(row, 'used'),
      pending: readInteger(row, 'pending'),
    })),
  };
}
