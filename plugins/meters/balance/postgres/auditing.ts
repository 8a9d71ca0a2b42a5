/**
 * Feeds the books to an auditor, all from one snapshot. Entries get their numbers before they are committed,
 * so one may appear after others with higher numbers. So the next audit finds what is new by the snapshot of
 * the last one, and not by numbers alone. Up to the highest number of the last one, what is new has a
 * transaction that began before it. Others have transactions of another server, from which `pg_dump` copied.
 */
import { type AuditReport, Auditor } from '../audit.ts';
import { selectChecks, type CheckedRollups } from '../calls/rollup-audit.ts';
import { readCount, readText, type Row } from '../rows.ts';
import { findPeriods } from '../sql/budgets.ts';
import { accountRows, keyRows, pendingRows, termRows } from '../sql/selects.ts';
import { nameStatements } from '../sql/steps.ts';
import { runSteps, type Query } from './connection.ts';

const sql = nameStatements('audit', {
  // An audit may read for longer than any other statement.
  begin: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  patience: "SELECT set_config('idle_in_transaction_session_timeout', '60000', true)",
  end: 'COMMIT',
  snapshot: 'SELECT pg_current_snapshot()::text AS snapshot',
  prices: 'SELECT version, rates FROM prices',
  entries: `
    SELECT entries.*, accounts.name AS account_name FROM entries
    LEFT JOIN accounts ON accounts.id = entries.account
    WHERE entries.number > $1 AND ($2::pg_snapshot IS NULL OR entries.number > $4
      OR NOT pg_visible_in_snapshot(entries.written, $2) AND entries.written < pg_snapshot_xmax($2))
    ORDER BY entries.number LIMIT $3`,
  accounts: accountRows,
  everyPeriod: 'SELECT * FROM budget_periods',
  terms: termRows,
  keys: keyRows,
  pending: pendingRows,
});

/** Rows read at a time: so few that they do not hold up the rest of the event loop. */
const page = 500;
/** Milliseconds after which every transaction that took its numbers earlier has ended. */
const settled = 60_000;

/** An audit in progress: the books as far as they were read. */
class Reading {
  readonly #rates = new Map<string, string>();
  readonly #auditor = new Auditor((version) => this.#rates.get(version));
  /** The snapshot of the last audit; undefined before the first. */
  #seen: string | undefined;
  /**
   * The highest number that each audit saw, oldest first. Once an audit is old enough, no entry up to its
   * number can still appear.
   */
  #highest: { readonly at: number; readonly number: number }[] = [];

  async audit(query: Query): Promise<AuditReport> {
    await query(sql.begin);
    await query(sql.patience);
    const [snapshot] = await query(sql.snapshot);
    for (const row of await query(sql.prices))
      this.#rates.set(readText(row, 'version'), readText(row, 'rates'));
    this.#auditor.readTerms(await query(sql.terms));
    const known = this.#highest.at(-1)?.number ?? 0;
    let highest = known;
    for (let after = this.#findFloor(); ;) {
      const rows = await query(sql.entries, [after, this.#seen ?? null, page, known]);
      for (const row of rows) this.#auditor.addEntry(row);
      const last = rows.at(-1);
      if (last) after = readCount(last, 'number');
      highest = Math.max(highest, after);
      if (rows.length < page) break;
    }
    const [accounts, keys, pending, periods] = [
      await query(sql.accounts),
      await query(sql.keys),
      await query(sql.pending),
      await this.#readPeriods(query),
    ];
    const rollups: CheckedRollups[] = [];
    for (const check of selectChecks(this.#auditor.known.audits))
      rollups.push({ ...check, rows: await query({ text: check.text }) });
    await query(sql.end);
    this.#seen = snapshot && readText(snapshot, 'snapshot');
    this.#highest.push({ at: performance.now(), number: highest });
    return this.#auditor.buildReport({ accounts, keys, pending, periods, rollups });
  }

  async #readPeriods(query: Query): Promise<readonly Row[]> {
    const wanted = this.#auditor.periods;
    return wanted ? runSteps(query, findPeriods(wanted)) : query(sql.everyPeriod);
  }

  #findFloor(): number {
    const old = this.#highest.findLastIndex(({ at }) => at < performance.now() - settled);
    this.#highest = this.#highest.slice(Math.max(old, 0));
    return old < 0 ? 0 : (this.#highest[0]?.number ?? 0);
  }
}

/**
 * Returns a function that audits what it has not audited before. No other caller may use the connection
 * meanwhile.
 */
export function createAudit(): (query: Query) => Promise<AuditReport> {
  let reading = new Reading();
  return async (query) => {
    try {
      return await reading.audit(query);
    } catch (error) {
      // Only a part of what was new has been read: the next audit starts from the beginning.
      reading = new Reading();
      throw error;
    }
  };
}
