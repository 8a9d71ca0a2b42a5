/**
 * Feeds the books to an auditor, in parts, so that reports do not have to wait for a long audit. Entries
 * are never changed, so it does not matter when they are read. The stored sums are read in one transaction
 * with the last entries, so that both are of the same moment.
 */
import type { DatabaseSync } from 'node:sqlite';
import { deserialize, serialize } from 'node:v8';
import { type AuditReport, Auditor } from '../audit.ts';
import { selectChecks, type CheckedRollups } from '../calls/rollup-audit.ts';
import { readText, type Row } from '../rows.ts';
import { accountRows, entryRows, keyRows, pendingRows, termRows } from '../sql/selects.ts';

/** Entries that are read at a time. */
const part = 20_000;

/**
 * What SQLite does in its own way. `auditPart` audits a part of what was not audited before, and returns
 * undefined while there is more. `getAuditState` returns what the auditor knows by now, with which another
 * thread can continue.
 */
export function createAudit(database: DatabaseSync, state: Uint8Array | undefined) {
  const newest = database.prepare('SELECT coalesce(max(number), 0) AS number FROM entries');
  const rates = database.prepare('SELECT rates FROM prices WHERE version = ?');
  const entries = database.prepare(`${entryRows} WHERE entries.number > ? ORDER BY entries.number LIMIT ?`);
  const terms = database.prepare(termRows);
  const everyPeriod = database.prepare('SELECT * FROM budget_periods');
  const period = database.prepare('SELECT * FROM budget_periods WHERE budget = ? AND start = ?');
  const findRates = (version: string): string | undefined => {
    const row = rates.get(version);
    return row && readText(row, 'rates');
  };
  const auditor = new Auditor(findRates, state && deserialize(state));

  function* readPeriodRows(): Generator<Row> {
    const wanted = auditor.periods;
    if (!wanted) yield* everyPeriod.iterate();
    for (const [budget, start] of wanted ?? []) yield* period.all(budget, start);
  }

  function* readRollups(): Generator<CheckedRollups> {
    for (const check of selectChecks(auditor.known.audits))
      yield { ...check, rows: database.prepare(check.text).iterate() };
  }

  function auditPart(): AuditReport | undefined {
    database.exec('BEGIN');
    try {
      let read = 0;
      auditor.readTerms(terms.iterate());
      for (const row of entries.iterate(auditor.known.last, part)) {
        auditor.addEntry(row);
        read += 1;
      }
      if (read === part) return undefined;
      return auditor.buildReport({
        accounts: database.prepare(accountRows).iterate(),
        keys: database.prepare(keyRows).iterate(),
        pending: database.prepare(pendingRows).iterate(),
        periods: readPeriodRows(),
        rollups: readRollups(),
      });
    } finally {
      database.exec('COMMIT');
    }
  }
  return {
    auditPart,
    getAuditState: (): Uint8Array => serialize(auditor.known),
    // Entries appear in the order of their numbers.
    findLastEntry: () => Number(newest.get()?.number),
  };
}
