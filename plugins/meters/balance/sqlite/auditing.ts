/** Feeds the books to an auditor, all as of one moment: a read transaction sees nothing that is committed after it began. */
import type { DatabaseSync } from 'node:sqlite';
import { Auditor, priceReader, usageReader, type AuditReport, type PendingRow } from '../audit.ts';
import { entryOf, pendingRowOf } from '../records.ts';
import { text } from '../rows.ts';
import type { People } from './people.ts';
import { entryColumns } from './reports.ts';

/** The answer audits what was not audited by it before. */
export function auditor(database: DatabaseSync, people: People): () => AuditReport {
  const rates = database.prepare('SELECT rates FROM prices WHERE version = ?');
  const entries = database.prepare(`SELECT ${entryColumns} WHERE entries.number > ? ORDER BY entries.number`);
  const pending = database.prepare('SELECT call, number, accounts.name AS account_name, amount FROM pending LEFT JOIN accounts ON accounts.id = pending.account');
  const price = priceReader((version) => {
    const row = rates.get(version);
    return row && text(row, 'rates');
  });
  const auditor = new Auditor({ price, usage: usageReader });

  function* pendingRows(): Generator<PendingRow> {
    for (const row of pending.iterate()) yield pendingRowOf(row);
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
