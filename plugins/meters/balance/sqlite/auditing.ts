/** Feeds the books to an auditor, all as of one moment: a read transaction sees nothing that is committed after it began. */
import type { DatabaseSync } from 'node:sqlite';
import { Auditor, priceReader, usageReader, type AuditReport, type PendingRow } from '../audit.ts';
import type { People } from './people.ts';
import { entryColumns, entryOf } from './reports.ts';
import { count, integer, text } from './rows.ts';

/** The answer audits what was not audited by it before. */
export function auditor(database: DatabaseSync, people: People): () => AuditReport {
  const rates = database.prepare('SELECT rates FROM prices WHERE version = ?');
  const entries = database.prepare(`SELECT ${entryColumns} WHERE entries.number > ? ORDER BY entries.number`);
  const pending = database.prepare('SELECT call, number, accounts.name AS account, amount FROM pending LEFT JOIN accounts ON accounts.id = pending.account');
  const price = priceReader((version) => {
    const row = rates.get(version);
    return row && text(row, 'rates');
  });
  const auditor = new Auditor({ price, usage: usageReader });

  function* pendingRows(): Generator<PendingRow> {
    for (const row of pending.iterate()) yield { call: text(row, 'call'), number: count(row, 'number'), account: text(row, 'account'), amount: integer(row, 'amount') };
  }

  return () => {
    database.exec('BEGIN');
    try {
      for (const row of entries.iterate(auditor.last)) auditor.entry(entryOf(row));
      return auditor.report({ accounts: people.everyAccount(), keys: people.everyKey(), pending: pendingRows() });
    } finally {
      database.exec('COMMIT');
    }
  };
}
