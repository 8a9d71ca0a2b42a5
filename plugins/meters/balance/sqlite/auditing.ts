/**
 * Feeds the books to an auditor, in parts, so that a long audit does not keep those waiting who want a
 * report. Entries are never changed, so it does not matter when they are read. The kept sums are read in one
 * transaction with the last entries, so that both are of the same moment.
 */
import type { DatabaseSync } from 'node:sqlite';
import { deserialize, serialize } from 'node:v8';
import { accountOf, keyOf } from '../accounts.ts';
import { pendingRowOf, type AuditReport } from '../audit-report.ts';
import { Auditor } from '../audit.ts';
import { entryOf } from '../books.ts';
import { periodOf, type PeriodRecord } from '../budgets/budget.ts';
import { rollupChecks, type CheckedRollups } from '../calls/rollup-audit.ts';
import type { Handlers } from '../operations.ts';
import { text } from '../rows.ts';
import { accountRows, entryRows, keyRows, pendingRows } from '../sql/selects.ts';

/** Entries that are read at a time. */
const part = 20_000;

/**
 * `auditPart` audits a part of what was not audited before, and returns undefined while there is more.
 * `auditState` returns what the auditor knows by now, with which another thread can continue.
 */
export function auditor(
  database: DatabaseSync,
  state: Uint8Array | undefined,
): Pick<Handlers, 'auditPart' | 'auditState'> {
  const rates = database.prepare('SELECT rates FROM prices WHERE version = ?');
  const entries = database.prepare(`${entryRows} WHERE entries.number > ? ORDER BY entries.number LIMIT ?`);
  const everyPeriod = database.prepare('SELECT * FROM budget_periods');
  const period = database.prepare('SELECT * FROM budget_periods WHERE budget = ? AND start = ?');
  const ratesOf = (version: string): string | undefined => {
    const row = rates.get(version);
    return row && text(row, 'rates');
  };
  const auditor = new Auditor(ratesOf, state && deserialize(state));

  function* periodRows(): Generator<PeriodRecord> {
    const wanted = auditor.periods;
    if (!wanted) for (const row of everyPeriod.iterate()) yield periodOf(row);
    for (const [budget, start] of wanted ?? []) yield* period.all(budget, start).map(periodOf);
  }

  function* checkedRollups(): Generator<CheckedRollups> {
    for (const check of rollupChecks(auditor.known.audits))
      yield { ...check, rows: database.prepare(check.text).iterate() };
  }

  function auditPart(): AuditReport | undefined {
    database.exec('BEGIN');
    try {
      let read = 0;
      for (const row of entries.iterate(auditor.known.last, part)) {
        auditor.entry(entryOf(row));
        read += 1;
      }
      if (read === part) return undefined;
      return auditor.report({
        accounts: database.prepare(accountRows).iterate().map(accountOf),
        keys: database
          .prepare(keyRows)
          .iterate()
          .map((row) => ({ ...keyOf(row), root: text(row, 'root') })),
        pending: database.prepare(pendingRows).iterate().map(pendingRowOf),
        periods: periodRows(),
        rollups: checkedRollups(),
      });
    } finally {
      database.exec('COMMIT');
    }
  }
  return { auditPart, auditState: () => serialize(auditor.known) };
}
