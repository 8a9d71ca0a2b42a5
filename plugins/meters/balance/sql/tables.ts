/**
 * The tables of a ledger, for both databases. Each entry is one row, with its legs in columns, and is
 * never changed. What changes is stored separately and can be computed from the entries: the sums of
 * accounts, keys and budgets, the roll-ups, and the pending reservations.
 */
import { creditSources } from '../accounts.ts';
import { entryKinds } from '../books.ts';
import { scopes } from '../budgets/budget.ts';
import { periodNames } from '../budgets/periods.ts';
import { buildCallTables, buildRollupTables } from './call-tables.ts';

/** How a database spells what the tables need. */
export interface Dialect {
  /** A primary key of numbers, none of which is ever reused. */
  readonly identity: string;
  readonly integer: string;
  readonly small: string;
  readonly flag: string;
  readonly text: string;
  /** Text in the order of its bytes. */
  readonly sorted: string;
  readonly bytes: string;
  /** What follows the columns of any table, and of one found by its primary key. */
  readonly table: string;
  readonly keyed: string;
  /** Leaves room in the pages of a table whose rows often change. */
  readonly buildFill: (percent: number) => string;
  /** A condition that the database checks with each row, if that costs little. */
  readonly buildCheck: (condition: string) => string;
  /** What the account of an entry refers to, and the columns and indexes that only this database has. */
  readonly ofAccount: string;
  readonly entryColumns: string;
  readonly indexes: string;
  /** A trigger that notes what is inserted into a log, if the condition on its row holds. */
  readonly buildNote: (log: string, buildCondition?: (row: string) => string) => string;
  /** Refuses changes of a table; `rows` says what they are. */
  readonly buildGuard: (table: string, rows: string) => string;
}

function buildOneOf(column: string, words: readonly string[]): string {
  return `${column} IN (${words.map((word) => `'${word}'`).join(', ')})`;
}

function buildAccountTables({ identity, integer, small, flag, text, sorted, ...dialect }: Dialect): string {
  const { table, keyed, buildFill, buildCheck } = dialect;
  return `
CREATE TABLE accounts (
  id ${identity},
  name ${sorted} NOT NULL UNIQUE,
  -- Kept beside the entries, since admission reads them with every call.
  total ${integer} NOT NULL DEFAULT 0,
  used ${integer} NOT NULL DEFAULT 0,
  pending ${integer} NOT NULL DEFAULT 0,
  created ${integer} NOT NULL,
  -- The names of the accounts above it, nearest first, as a JSON list.
  line ${text},
  state ${text} NOT NULL DEFAULT 'open'
)${table}${buildFill(50)};

CREATE TABLE keys (
  id ${sorted} PRIMARY KEY,
  hash ${text} NOT NULL,
  last_four ${text} NOT NULL,
  name ${text} NOT NULL,
  kind ${text} NOT NULL${buildCheck(buildOneOf('kind', ['user', 'operator']))},
  account ${integer} REFERENCES accounts (id) CHECK ((account IS NULL) = (kind = 'operator')),
  spend_cap ${integer},
  models ${text},
  expires ${integer},
  calls_per_minute ${small},
  disabled ${flag} NOT NULL DEFAULT false,
  created ${integer} NOT NULL,
  -- Of a root: what it and those that took its place have spent and hold. A key that was never rotated is its
  -- own root.
  used ${integer} NOT NULL DEFAULT 0,
  pending ${integer} NOT NULL DEFAULT 0,
  root ${text} NOT NULL,
  rotated_to ${text},
  -- Of a root that has a rate: when the minute began in which its calls were last counted, and how many there
  -- were.
  minute ${integer} NOT NULL DEFAULT 0,
  calls ${small} NOT NULL DEFAULT 0,
  tags ${text},
  read_only ${flag} NOT NULL DEFAULT false,
  deleted ${integer}
)${keyed}${buildFill(50)};
CREATE INDEX keys_of_account ON keys (account, id);
CREATE INDEX keys_by_last_four ON keys (last_four);`;
}

/** What a call used: stored with its reservation while it runs, and then on the entry that ends it. */
function buildConsumptionColumns({ integer, small, text }: Dialect, usage = '', costs = ''): string {
  return `
  model ${text},
  provider ${text},
  price ${text},
  input ${integer} NOT NULL DEFAULT 0,
  output ${integer} NOT NULL DEFAULT 0,
  usage ${text}${usage},
  costs ${text}${costs},
  attempts ${small} NOT NULL DEFAULT 0`;
}

function buildEntryTable(dialect: Dialect): string {
  const { integer, text, sorted, table, buildCheck, ofAccount, entryColumns, buildGuard } = dialect;
  return `
CREATE TABLE entries (
  number ${integer} PRIMARY KEY,
  kind ${text} NOT NULL${buildCheck(buildOneOf('kind', entryKinds))},
  account ${integer} NOT NULL${ofAccount},
  at ${integer} NOT NULL,
  -- The legs: amounts that move between the four books of the account.
  credits ${integer} NOT NULL DEFAULT 0,
  available ${integer} NOT NULL DEFAULT 0,
  reserved ${integer} NOT NULL DEFAULT 0,
  revenue ${integer} NOT NULL DEFAULT 0,
  call ${sorted}${buildCheck("(call IS NULL) = (kind = 'credit')")},
  key ${sorted},
  reservation ${integer}${buildCheck("(reservation IS NULL) = (kind IN ('credit', 'reserve'))")},
  -- Of credits.
  source ${text}${buildCheck(buildOneOf('source', creditSources))},
  reference ${text},
  -- Of credits and ends.
  reason ${text},
  -- Of ends.
  basis ${text},
  ${buildConsumptionColumns(dialect)},
  flags ${text} NOT NULL DEFAULT '',
  -- The periods of budgets that a call counts in, as a JSON list: so their sums can be computed from the
  -- entries.
  budgets ${text},
  -- What the vendor bills. Null: as much as was charged.
  vendor ${integer},
  author ${text},
  ${entryColumns}
  CONSTRAINT legs_sum_to_zero CHECK (credits + available + reserved + revenue = 0)
)${table};
CREATE UNIQUE INDEX one_end ON entries (reservation) WHERE kind = 'post' OR kind = 'void' OR kind = 'expire';
CREATE UNIQUE INDEX one_overage ON entries (reservation) WHERE kind = 'overage';
CREATE UNIQUE INDEX one_adjustment ON entries (reservation) WHERE kind = 'adjustment';
CREATE UNIQUE INDEX one_credit ON entries (reference) WHERE reference IS NOT NULL;
CREATE INDEX credits_of_account ON entries (account, at) WHERE credits <> 0;
${buildGuard('entries', 'entries')}`;
}

/** Reservations that have not ended. Their owners' beats record how far their calls have come. */
function buildRunningTables(dialect: Dialect): string {
  const { integer, small, flag, text, sorted, bytes, table, keyed, buildFill, buildCheck } = dialect;
  return `
CREATE TABLE pending (
  call ${sorted} PRIMARY KEY,
  number ${integer} NOT NULL,
  account ${integer} NOT NULL,
  key ${text},
  root ${text},
  amount ${integer} NOT NULL,
  owner ${sorted} NOT NULL,
  claim ${text},
  created ${integer} NOT NULL,
  sent ${flag} NOT NULL DEFAULT false,
  delivered ${integer} NOT NULL DEFAULT 0,
  owed ${integer} NOT NULL DEFAULT 0,
  ${buildConsumptionColumns(dialect, " NOT NULL DEFAULT '{}'", " NOT NULL DEFAULT '[]'")},
  budgets ${text}
)${keyed}${buildFill(70)};

CREATE TABLE owners (owner ${sorted} PRIMARY KEY, beat ${integer} NOT NULL, lease ${integer} NOT NULL)
  ${keyed}${buildFill(50)};

CREATE TABLE claims (
  name ${sorted} PRIMARY KEY,
  fingerprint ${text} NOT NULL,
  expires ${integer} NOT NULL,
  call ${text} NOT NULL,
  state ${text} NOT NULL${buildCheck(buildOneOf('state', ['running', 'done']))},
  status ${small},
  headers ${text},
  body ${bytes},
  whole ${flag}
)${table};
CREATE INDEX claims_by_expiry ON claims (expires) WHERE state = 'done';`;
}

function buildBudgetTables({ identity, integer, small, flag, text, sorted, ...dialect }: Dialect): string {
  const { table, keyed, buildFill, buildCheck } = dialect;
  return `
CREATE TABLE budgets (
  id ${identity},
  scope ${text} NOT NULL${buildCheck(buildOneOf('scope', scopes))},
  subject ${sorted} NOT NULL,
  per ${text} NOT NULL${buildCheck(buildOneOf('per', periodNames))},
  zone ${text} NOT NULL,
  allowed ${integer} NOT NULL,
  hard ${flag} NOT NULL,
  thresholds ${text} NOT NULL,
  raises ${text} NOT NULL DEFAULT '[]',
  created ${integer} NOT NULL,
  -- A deleted budget stays: calls that it counted may still end, and the audit needs it.
  deleted ${integer}
)${table};
CREATE UNIQUE INDEX one_budget ON budgets (scope, subject, per) WHERE deleted IS NULL;

-- Kept beside the entries, since each reservation reads the current one. Written with the lock of its budget.
CREATE TABLE budget_periods (
  budget ${integer} NOT NULL,
  start ${integer} NOT NULL,
  ends ${integer} NOT NULL,
  used ${integer} NOT NULL,
  pending ${integer} NOT NULL,
  warned ${small} NOT NULL,
  exhausted ${flag} NOT NULL,
  PRIMARY KEY (budget, start)
)${keyed}${buildFill(50)};

CREATE TABLE budget_warnings (
  id ${identity},
  budget ${integer} NOT NULL,
  event ${text} NOT NULL${buildCheck(buildOneOf('event', ['threshold', 'exhausted']))},
  threshold ${small} NOT NULL,
  used ${integer} NOT NULL,
  allowed ${integer} NOT NULL,
  start ${integer} NOT NULL,
  at ${integer} NOT NULL,
  attempts ${small} NOT NULL DEFAULT 0,
  -- When it is delivered or tried again; null once that is done.
  due ${integer}
)${table};
CREATE INDEX due_warnings ON budget_warnings (due) WHERE due IS NOT NULL;`;
}

function buildKeptTables({ identity, integer, text, table, keyed, buildGuard }: Dialect): string {
  return `
CREATE TABLE prices (version ${text} PRIMARY KEY, rates ${text} NOT NULL, created ${integer} NOT NULL)
  ${keyed};

CREATE TABLE documents (name ${text} PRIMARY KEY, version ${integer} NOT NULL, body ${text} NOT NULL)
  ${keyed};

CREATE TABLE operator_actions (
  number ${identity},
  at ${integer} NOT NULL,
  author ${text} NOT NULL,
  action ${text} NOT NULL,
  subject ${text} NOT NULL,
  detail ${text} NOT NULL
)${table};
${buildGuard('operator_actions', 'actions')}`;
}

/**
 * Runs whenever a ledger opens, and changes each ledger once. A call whose reservation was extended has
 * several `reserve` entries; `attempts` says how many attempts preceded each. It is no numbered step, because
 * the previous version refuses higher numbers, and it reads and writes such a ledger correctly.
 */
export const expansion = `
CREATE UNIQUE INDEX IF NOT EXISTS one_reservation_each ON entries (call, attempts) WHERE kind = 'reserve';
DROP INDEX IF EXISTS one_reservation;
-- How many migrations of each plugin's tables have run.
CREATE TABLE IF NOT EXISTS declared_tables (name text PRIMARY KEY, migrations bigint NOT NULL);
-- What each plugin writes for calls whose process died, for any process that ends them.
CREATE TABLE IF NOT EXISTS declared_recoveries (name text PRIMARY KEY, sql text NOT NULL);`;

/** Makes all tables. */
export function buildAllTables(dialect: Dialect): string {
  return [
    buildAccountTables,
    buildEntryTable,
    buildRunningTables,
    buildBudgetTables,
    buildCallTables,
    buildRollupTables,
    buildKeptTables,
  ]
    .map((tables) => tables(dialect))
    .concat(dialect.indexes)
    .join('\n');
}
