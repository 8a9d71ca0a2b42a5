/**
 * Budgets: those that the calls of a batch count in, and what operators and the delivery of warnings do with
 * them. A batch locks each after the accounts, in the order of the ids, so that two batches never wait for
 * each other; its periods are read after its lock.
 */
import {
  computeAllowed,
  readBudget,
  readPeriod,
  encodeRaises,
  findReached,
  buildRecord,
  findStart,
  readWarning,
  warningsKept,
  type Budget,
  type Scope,
  moveLines,
  readShares,
} from '../budgets/budget.ts';
import { Sheet } from '../budgets/sheet.ts';
import { readCount, readList, readText, type Row } from '../rows.ts';
import type { Concerned } from './locked-rows.ts';
import {
  askRows,
  Conditions,
  nameStatements,
  type Operations,
  type Steps,
  ask,
  askAll,
  askRecords,
  selectRecords,
  type Asked,
} from './steps.ts';

const added = 'budget, event, threshold, used, allowed, start, at';
const changed = 'budget, start, ends, used, pending, warned, exhausted';

const warningRows = `
  SELECT budget_warnings.*, budgets.scope, budgets.subject, budgets.per, budgets.zone
  FROM budget_warnings JOIN budgets ON budgets.id = budget_warnings.budget`;

const sql = nameStatements('budgets', {
  any: 'SELECT id FROM budgets LIMIT 1',
  // Those of accounts, of their teams, of keys and tags, and those in which the ending calls count.
  lockAll: `
    SELECT * FROM budgets WHERE id IN (
      SELECT id FROM budgets
        WHERE deleted IS NULL AND scope IN ('account', 'team') AND subject = ANY($1::text[])
      UNION ALL SELECT budgets.id FROM accounts, json_array_elements_text(accounts.line::json) above
        JOIN budgets ON scope = 'team' AND subject = above.value AND budgets.deleted IS NULL
        WHERE accounts.name = ANY($1::text[])
      UNION ALL SELECT budgets.id FROM keys
        JOIN budgets ON scope = 'key' AND subject = keys.root AND budgets.deleted IS NULL
        WHERE keys.id = ANY($2::text[])
      UNION ALL SELECT id FROM budgets WHERE deleted IS NULL AND scope = 'tag' AND subject = ANY($3::text[])
      UNION ALL SELECT (share.value->>0)::bigint
        FROM entries, json_array_elements(entries.budgets::json) share
        WHERE kind = 'reserve' AND call = ANY($4::text[]))
    ORDER BY id FOR NO KEY UPDATE`,
  periods: `
    SELECT budget_periods.* FROM budget_periods, (${selectRecords('budget_periods', 'budget, start')}) wanted
    WHERE budget_periods.budget = wanted.budget AND budget_periods.start = wanted.start`,
  addToPeriods: `
    INSERT INTO budget_periods (${changed}) ${selectRecords('budget_periods', changed)}
    ON CONFLICT (budget, start) DO UPDATE SET used = budget_periods.used + excluded.used,
      pending = budget_periods.pending + excluded.pending,
      warned = excluded.warned, exhausted = excluded.exhausted`,
  addWarnings: `
    INSERT INTO budget_warnings (${added}, due) ${selectRecords('budget_warnings', `${added}, due`)}`,
  account: 'SELECT name AS subject FROM accounts WHERE name = $1',
  root: "SELECT root AS subject FROM keys WHERE id = $1 AND kind = 'user'",
  add: `
    INSERT INTO budgets (scope, subject, per, zone, allowed, hard, thresholds, created)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (scope, subject, per) WHERE deleted IS NULL DO NOTHING RETURNING id`,
  same: 'SELECT id FROM budgets WHERE scope = $1 AND subject = $2 AND per = $3 AND deleted IS NULL',
  lock: 'SELECT * FROM budgets WHERE id = $1 AND deleted IS NULL FOR NO KEY UPDATE',
  change: 'UPDATE budgets SET allowed = $2, hard = $3, thresholds = $4, raises = $5 WHERE id = $1',
  mark: 'UPDATE budget_periods SET warned = $3, exhausted = false WHERE budget = $1 AND start = $2',
  remove: 'UPDATE budgets SET deleted = $2 WHERE id = $1 AND deleted IS NULL RETURNING id',
  // Only one account moves at a time, or two moves could make a cycle together.
  lockMoves: 'SELECT pg_advisory_xact_lock(7461188902)',
  // The lines that name $3 are those that change when it is cut out of them.
  lines: `
    SELECT name, line FROM accounts WHERE name = $1 OR name = $2 OR replace(line, $3, '') <> line
    ORDER BY id FOR NO KEY UPDATE`,
  move: 'UPDATE accounts SET line = $2 WHERE name = $1',
  isDue: 'SELECT id FROM budget_warnings WHERE due <= $1 LIMIT 1',
  due: `
    ${warningRows} WHERE budget_warnings.due <= $1 ORDER BY budget_warnings.due LIMIT $2
    FOR UPDATE OF budget_warnings SKIP LOCKED`,
  claim: 'UPDATE budget_warnings SET due = $2, attempts = attempts + 1 WHERE id = $1',
  // Reads only the oldest, however many there are.
  forget: `
    DELETE FROM budget_warnings WHERE id IN (
      SELECT id FROM (SELECT id, at, due FROM budget_warnings ORDER BY id LIMIT 100) AS oldest
        WHERE due IS NULL AND at < $1)`,
  ended: 'UPDATE budget_warnings SET due = NULL WHERE id = $1',
});

export const findAnyBudget = ask(sql.any);

/** Budgets are found by accounts and keys, by name and id, by tags, and by the ids of calls that end. */
export function lockBudgets({ accounts, keys, tags, calls }: Omit<Concerned, 'claims' | 'moments'>): Asked {
  return ask(sql.lockAll, accounts, keys, tags, calls);
}

type Place = readonly [budget: number, start: number];

/** Finds periods by their budgets and starts. */
export function* findPeriods(wanted: readonly Place[]): Steps<readonly Row[]> {
  const places = wanted.map(([budget, start]) => ({ budget, start }));
  const [rows = []] = yield* askAll([askRecords(sql.periods, places)]);
  return rows;
}

export function listBudgetWrites(sheet: Sheet): Asked[] {
  const warnings = sheet.warnings.map((warning) => ({ ...warning, due: warning.at }));
  return [askRecords(sql.addToPeriods, sheet.listChanges()), askRecords(sql.addWarnings, warnings)];
}

/** Reads the periods in which calls at these moments and with these shares count. */
export function* readSheet(
  rows: readonly Row[],
  moments: readonly number[],
  shares: readonly (string | undefined)[],
): Steps<Sheet> {
  const budgets = rows.map(readBudget);
  const wanted = new Map<string, Place>();
  const addWanted = (budget: number, start: number): unknown =>
    wanted.set(`${budget} ${start}`, [budget, start]);
  for (const budget of budgets) for (const at of moments) addWanted(budget.id, findStart(budget, at));
  for (const { budget, start } of shares.flatMap(readShares)) addWanted(budget, start);
  const periods = yield* findPeriods([...wanted.values()]);
  return new Sheet(budgets, periods.map(readPeriod));
}

/** The subject as budgets store it; undefined if there is no such key or account. */
function* findSubject(scope: Scope, named: string): Steps<string | undefined> {
  if (scope === 'tag') return named;
  const [row] = yield* askRows(scope === 'key' ? sql.root : sql.account, named);
  return row && readText(row, 'subject');
}

/** Changes a budget, and marks in its current period which warnings the new limit can still cause. */
function* editBudget(id: number, at: number, changing: (budget: Budget) => Budget): Steps<boolean> {
  const [row] = yield* askRows(sql.lock, id);
  if (!row) return false;
  const changed = changing(readBudget(row));
  const { limit, hard, thresholds, raises } = changed;
  yield* askRows(sql.change, id, limit, hard, JSON.stringify(thresholds), encodeRaises(raises));
  const start = findStart(changed, at);
  const [period] = yield* findPeriods([[id, start]]);
  if (period) {
    const warned = findReached(thresholds, readPeriod(period).used, computeAllowed(changed, at));
    yield* askRows(sql.mark, id, start, warned);
  }
  return true;
}

export const budgets = {
  *createBudget(budget) {
    const { scope, per, zone, limit, hard, thresholds, at } = budget;
    const subject = yield* findSubject(scope, budget.subject);
    if (subject === undefined) return { status: 'not_found' };
    const warned = JSON.stringify(thresholds);
    const [made] = yield* askRows(sql.add, scope, subject, per, zone, limit, hard, warned, at);
    if (made) return { status: 'created', id: readCount(made, 'id') };
    const [same] = yield* askRows(sql.same, scope, subject, per);
    return same ? { status: 'exists', id: readCount(same, 'id') } : { status: 'not_found' };
  },
  changeBudget({ id, changes, at }) {
    return editBudget(id, at, (budget) => ({ ...budget, ...changes }));
  },
  raiseBudget({ id, amount, until, at }) {
    return editBudget(id, at, (budget) => ({
      ...budget,
      raises: [...budget.raises.filter((raise) => raise.until > at), { amount, until }],
    }));
  },
  *deleteBudget({ id, at }) {
    return (yield* askRows(sql.remove, id, at)).length > 0;
  },
  *moveAccount({ account, parent }) {
    yield* askRows(sql.lockMoves);
    const rows = yield* askRows(sql.lines, account, parent ?? account, JSON.stringify(account));
    const lines = new Map(rows.map((row) => [readText(row, 'name'), readList(row, 'line')]));
    const moved = moveLines(lines, { account, parent });
    if (typeof moved === 'string') return moved;
    for (const [name, line] of moved)
      yield* askRows(sql.move, name, line.length > 0 ? JSON.stringify(line) : null);
    return 'moved';
  },
  *takeWarnings({ at, until, limit }) {
    yield* askRows(sql.forget, at - warningsKept);
    const due = (yield* askRows(sql.due, at, limit)).map(readWarning);
    for (const { id } of due) yield* askRows(sql.claim, id, until);
    return due.map((warning) => ({ ...warning, attempts: warning.attempts + 1, due: until }));
  },
  *endWarning({ id }) {
    yield* askRows(sql.ended, id);
  },
  *hasDueWarnings({ at }) {
    return (yield* askRows(sql.isDue, at)).length > 0;
  },
  *listBudgets(query) {
    const { scope, subject: named, id, after = 0, limit, at } = query;
    const root = scope === 'key' && named !== undefined ? yield* findSubject(scope, named) : undefined;
    const subject = root ?? named;
    const conditions = new Conditions(
      id === undefined ? { 'id >': after, 'scope =': scope, 'subject =': subject } : { 'id =': id },
    );
    if (id === undefined) conditions.texts.push('deleted IS NULL');
    const page = `SELECT * FROM budgets ${conditions.where} ORDER BY id LIMIT ${conditions.addValue(limit)}`;
    const budgets = (yield* askRows({ text: page }, ...conditions.values)).map(readBudget);
    const periods = yield* findPeriods(budgets.map((budget) => [budget.id, findStart(budget, at)]));
    const byBudget = new Map(periods.map(readPeriod).map((period) => [period.budget, period]));
    return budgets.map((budget) => buildRecord(budget, byBudget.get(budget.id), at));
  },
  *listWarnings({ budget, after, order, limit }) {
    const isNewest = order === 'newest';
    const conditions = new Conditions({
      [`budget_warnings.id ${isNewest ? '<' : '>'}`]: after,
      'budget_warnings.budget =': budget,
    });
    const text = `${warningRows} ${conditions.where}
      ORDER BY budget_warnings.id ${isNewest ? 'DESC' : 'ASC'} LIMIT ${conditions.addValue(limit)}`;
    return (yield* askRows({ text }, ...conditions.values)).map(readWarning);
  },
} satisfies Partial<Operations>;
