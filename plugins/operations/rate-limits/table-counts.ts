/**
 * Counts calls for all processes that share a ledger, in tables beside it. A running call is a row with the
 * process that runs it. Each process beats, and the others delete the calls of one that stopped. While the
 * database cannot be used, each process counts for itself.
 */
import { randomUUID } from 'node:crypto';
import type { TableDeclaration, TableRow, Tables, TableStatement } from '../../../core/index.ts';
import { toName, untilOneEnds, type Counts, type Left, type Taking, type Want } from './counter.ts';

export const declaration: TableDeclaration = {
  name: 'rate_limits',
  migrations: [
    // `ends` is in milliseconds since the epoch.
    `CREATE TABLE plugin_rate_limits_windows (name text PRIMARY KEY, used bigint NOT NULL,
      ends bigint NOT NULL)`,
    `CREATE TABLE plugin_rate_limits_running (name text, call text, process text NOT NULL,
      PRIMARY KEY (name, call))`,
    'CREATE TABLE plugin_rate_limits_processes (process text PRIMARY KEY, beat bigint NOT NULL)',
  ],
};

/** Milliseconds between two beats, and how many a process may miss before it is dead. */
const pause = 2000;
const mostMissed = 5;

const sql = {
  take: `
    INSERT INTO plugin_rate_limits_windows AS last (name, used, ends) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET
      used = CASE WHEN last.ends <= $4 THEN excluded.used ELSE last.used + excluded.used END,
      ends = CASE WHEN last.ends <= $4 THEN excluded.ends ELSE last.ends END
    WHERE last.ends <= $4 OR last.used + excluded.used <= $5 RETURNING name`,
  look: 'SELECT used, ends FROM plugin_rate_limits_windows WHERE name = $1',
  give: 'UPDATE plugin_rate_limits_windows SET used = used - $2 WHERE name = $1 AND ends > $3',
  // A window of no use but its lock: of two calls at once, the second then counts the first.
  lock: `
    INSERT INTO plugin_rate_limits_windows (name, used, ends) VALUES ($1, 0, $2)
    ON CONFLICT (name) DO UPDATE SET ends = excluded.ends`,
  start: `
    INSERT INTO plugin_rate_limits_running (name, call, process) SELECT $1, $2, $3
    WHERE (SELECT count(*) FROM plugin_rate_limits_running WHERE name = $1) < $4
      AND NOT EXISTS (SELECT 1 FROM plugin_rate_limits_running WHERE name = $5) RETURNING call`,
  running: 'SELECT call FROM plugin_rate_limits_running WHERE name = $1 ORDER BY call',
  end: 'DELETE FROM plugin_rate_limits_running WHERE name = $1 AND call = $2',
  beat: `
    INSERT INTO plugin_rate_limits_processes (process, beat) VALUES ($1, $2)
    ON CONFLICT (process) DO UPDATE SET beat = excluded.beat`,
  processes: 'SELECT process, beat FROM plugin_rate_limits_processes',
  forget: 'DELETE FROM plugin_rate_limits_windows WHERE ends < $1',
  free: `
    DELETE FROM plugin_rate_limits_running WHERE process IN
      (SELECT process FROM plugin_rate_limits_processes WHERE process = $1 AND beat = $2)`,
  bury: 'DELETE FROM plugin_rate_limits_processes WHERE process = $1 AND beat = $2',
};

function isParallel({ kind }: Want): boolean {
  return kind === 'parallel';
}

type Seen = readonly [beat: unknown, missed: number];

export class TableCounts implements Counts {
  readonly #window: number;
  readonly #own: Counts;
  readonly #process = randomUUID();
  #tables: Tables | undefined;
  #beats = 0;
  /** The last beat of each other process, and for how many of ours it has not changed. */
  #seen = new Map<string, Seen>();
  /** Calls whose rows could not be deleted, or whose write failed without saying whether it took effect. */
  #owed: TableStatement[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** `own` counts while the tables cannot be used. */
  constructor(window: number, own: Counts) {
    this.#window = window * 1000;
    this.#own = own;
  }

  /** Counts in these tables from now on. A reload of the configuration may bring others. */
  async useTables(tables: Tables): Promise<void> {
    this.#tables = tables;
    await this.beat();
    this.#timer ??= setInterval(() => void this.beat().catch(() => undefined), pause).unref();
  }

  async take(call: string, wants: readonly Want[]): Promise<Taking> {
    const at = Date.now();
    const asked = wants.map((want) => this.#listTakes(call, want, at));
    let answers: Awaited<ReturnType<Tables['write']>>;
    try {
      answers = await this.#write(asked.flat());
    } catch {
      this.#noteOwed(call, wants);
      return this.#own.take(call, wants);
    }
    const taken = wants.map((want, index) => {
      const [first = [], second = []] = answers.slice(index * 2);
      return { want, isTaken: (isParallel(want) ? second : first).length > 0, row: second[0] };
    });
    const left = taken.map(({ want, row }) => toLeft(want, row, at));
    const refused = taken.findIndex(({ isTaken }) => !isTaken);
    if (refused < 0) return { left, refused: false, from: this };
    await this.give(
      call,
      taken.filter(({ isTaken }) => isTaken).map(({ want }) => want),
    );
    return { left: left.slice(0, refused + 1), refused: true, from: this };
  }

  async give(call: string, wants: readonly Want[]): Promise<void> {
    const at = Date.now();
    try {
      await this.#write(wants.map((want) => this.#buildGive(call, want, at)));
    } catch {
      this.#noteOwed(call, wants);
    }
  }

  async listRunning(want: Want): Promise<readonly string[]> {
    try {
      if (!this.#tables) return await this.#own.listRunning(want);
      const rows = await this.#tables.read({ sql: sql.running, values: [toName(want)] });
      return rows.map(({ call }) => String(call));
    } catch {
      return this.#own.listRunning(want);
    }
  }

  /** Shows that this process lives, and frees what dead ones hold. */
  async beat(): Promise<void> {
    this.#beats += 1;
    const owed = this.#owed;
    const [, others = []] = await this.#write([
      { sql: sql.beat, values: [this.#process, this.#beats] },
      { sql: sql.processes },
      { sql: sql.forget, values: [Date.now()] },
      ...owed,
    ]);
    // More may have been added meanwhile.
    this.#owed = this.#owed.slice(owed.length);
    const seen = new Map<string, Seen>();
    const dead: TableStatement[] = [];
    for (const { process, beat } of others) {
      const name = String(process);
      const [last, before] = this.#seen.get(name) ?? [undefined, 0];
      const missed = last === beat ? before + 1 : 0;
      const values = [name, Number(beat)];
      if (name === this.#process) continue;
      if (missed < mostMissed) seen.set(name, [beat, missed]);
      else dead.push({ sql: sql.free, values }, { sql: sql.bury, values });
    }
    this.#seen = seen;
    if (dead.length > 0) await this.#write(dead);
  }

  /** Stops to beat. What this process still holds is given back by others, as if it had died. */
  close(): void {
    clearInterval(this.#timer);
  }

  async #write(statements: readonly TableStatement[]): ReturnType<Tables['write']> {
    if (!this.#tables) throw new Error('the tables are not open yet');
    return this.#tables.write(statements);
  }

  /** Two statements: the rows of the second tell what is left, or whether the call has a place. */
  #listTakes(call: string, want: Want, at: number): [TableStatement, TableStatement] {
    const { amount, limit, unless } = want;
    const [name, ends] = [toName(want), at + this.#window];
    return isParallel(want)
      ? [
          { sql: sql.lock, values: [name, ends] },
          { sql: sql.start, values: [name, call, this.#process, limit, unless ? toName(unless) : ''] },
        ]
      : [
          { sql: sql.take, values: [name, amount, ends, at, limit] },
          { sql: sql.look, values: [name] },
        ];
  }

  /** What was used beyond what was taken is owed, whatever the limit. */
  #buildGive(call: string, want: Want, at: number): TableStatement {
    const name = toName(want);
    if (isParallel(want)) return { sql: sql.end, values: [name, call] };
    if (want.amount > 0) return { sql: sql.give, values: [name, want.amount, at] };
    return {
      sql: sql.take,
      values: [name, -want.amount, at + this.#window, at, Number.MAX_SAFE_INTEGER],
    };
  }

  #noteOwed(call: string, wants: readonly Want[]): void {
    for (const want of wants.filter(isParallel))
      this.#owed.push({ sql: sql.end, values: [toName(want), call] });
  }
}

function toLeft({ kind, limit }: Want, row: TableRow | undefined, at: number): Left {
  if (kind === 'parallel') return { limit, remaining: 0, resetAfter: untilOneEnds };
  const [used, ends] = [Number(row?.used ?? 0), Number(row?.ends ?? at)];
  return { limit, remaining: Math.max(0, limit - used), resetAfter: Math.max(0, ends - at) };
}
