/**
 * Feeds the books to an auditor, all as of one moment. Entries are numbered before they are committed, so one may
 * turn up behind others with higher numbers: what an audit has seen is told by the snapshot it read in.
 */
import { Auditor, priceReader, usageReader, type AuditReport } from '../audit.ts';
import { accountOf, entryOf, keyOf, pendingRowOf } from '../records.ts';
import { count, text } from '../rows.ts';
import { statements, type Query } from './connection.ts';

const sql = statements('audit', {
  // It reads for longer than anything else may.
  begin: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  patience: "SELECT set_config('idle_in_transaction_session_timeout', '60000', true)",
  end: 'COMMIT',
  snapshot: 'SELECT pg_current_snapshot()::text AS snapshot',
  prices: 'SELECT version, rates FROM prices',
  entries: `
    SELECT entries.*, entries.call AS call_id, accounts.name AS account_name FROM entries LEFT JOIN accounts ON accounts.id = entries.account
    WHERE entries.number > $1 AND ($2::pg_snapshot IS NULL OR NOT pg_visible_in_snapshot(entries.written, $2)) ORDER BY entries.number LIMIT $3`,
  accounts: 'SELECT name, created, total, used, pending FROM accounts',
  keys: `
    SELECT keys.*, root.used AS root_used, root.pending AS root_pending, accounts.name AS account_name
    FROM keys JOIN keys root ON root.id = keys.root LEFT JOIN accounts ON accounts.id = keys.account`,
  pending: 'SELECT call, number, amount, accounts.name AS account_name FROM pending LEFT JOIN accounts ON accounts.id = pending.account',
});

/** Rows read at a time: few enough that those who share the event loop do not notice. */
const page = 500;
/** Milliseconds after which no transaction runs any more that had taken its numbers before. */
const settled = 60_000;

/** The books as far as they were read. */
class Reading {
  readonly #rates = new Map<string, string>();
  readonly #auditor = new Auditor({ price: priceReader((version) => this.#rates.get(version)), usage: usageReader });
  /** The snapshot of the last audit; undefined before the first. */
  #seen: string | undefined;
  /** Audits with the highest number they saw, the oldest first: behind one that is old enough nothing can turn up any more. */
  #highest: { readonly at: number; readonly number: number }[] = [];

  async goOn(query: Query): Promise<AuditReport> {
    await query(sql.begin);
    await query(sql.patience);
    const [snapshot] = await query(sql.snapshot);
    for (const row of await query(sql.prices)) this.#rates.set(text(row, 'version'), text(row, 'rates'));
    let highest = this.#highest.at(-1)?.number ?? 0;
    for (let after = this.#floor(); ; ) {
      const rows = await query(sql.entries, [after, this.#seen ?? null, page]);
      for (const row of rows) this.#auditor.entry(entryOf(row));
      const last = rows.at(-1);
      if (last) after = count(last, 'number');
      highest = Math.max(highest, after);
      if (rows.length < page) break;
    }
    const [accounts, keys, pending] = [await query(sql.accounts), await query(sql.keys), await query(sql.pending)];
    await query(sql.end);
    this.#seen = snapshot && text(snapshot, 'snapshot');
    this.#highest.push({ at: performance.now(), number: highest });
    return this.#auditor.report({
      accounts: accounts.map(accountOf), keys: keys.map((row) => ({ ...keyOf(row), root: text(row, 'root') })), pending: pending.map(pendingRowOf),
    });
  }

  #floor(): number {
    const old = this.#highest.findLastIndex(({ at }) => at < performance.now() - settled);
    this.#highest = this.#highest.slice(Math.max(old, 0));
    return old < 0 ? 0 : (this.#highest[0]?.number ?? 0);
  }
}

/** The answer audits what was not audited by it before; passed a connection that nobody else uses meanwhile. */
export function auditor(): (query: Query) => Promise<AuditReport> {
  let reading = new Reading();
  return async (query) => {
    try {
      return await reading.goOn(query);
    } catch (error) {
      // Half of what came since has been read: the next audit begins anew.
      reading = new Reading();
      throw error;
    }
  };
}
