/**
 * The tables of a ledger, in PostgreSQL's words; `sqlite/database.ts` spells them for SQLite. Each entry is
 * one row, with its legs in columns, and is never changed. What changes is stored separately and can be
 * computed from the entries: the sums of accounts, keys and budgets, the roll-ups, and the pending
 * reservations.
 */
import { creditSources } from '../accounts.ts';
import { entryKinds } from '../books.ts';
import { scopes } from '../budgets/budget.ts';
import { periodNames } from '../budgets/periods.ts';
import { callTables, formerTables } from './call-tables.ts';

function checkWords(column: string, words: readonly string[]): string {
  return `CHECK (${column} IN (${words.map((word) => `'${word}'`).join(', ')}))`;
}

/** What a call used: stored with its reservation while it runs, and then on the entry that ends it. */
function buildConsumptionColumns(usage = '', costs = ''): string {
  return `
  model text,
  provider text,
  price text,
  input bigint NOT NULL DEFAULT 0,
  output bigint NOT NULL DEFAULT 0,
  usage text${usage},
  costs text${costs},
  attempts integer NOT NULL DEFAULT 0`;
}

/**
 * Text between slashes and stars is for SQLite alone. Checks without a name, which cost little there,
 * and the type `xid8` are for PostgreSQL alone. `COLLATE "C"` sorts text in the order of its bytes. A fill
 * factor leaves room in the pages of a table whose rows often change.
 */
export const tables = `
CREATE TABLE accounts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  -- Kept beside the entries, since admission reads them with every call.
  total bigint NOT NULL DEFAULT 0,
  used bigint NOT NULL DEFAULT 0,
  pending bigint NOT NULL DEFAULT 0,
  created bigint NOT NULL,
  -- The names of the accounts above it, nearest first, as a JSON list.
  line text,
  state text NOT NULL DEFAULT 'open'
) WITH (fillfactor = 50) /* STRICT */;

CREATE TABLE keys (
  id text COLLATE "C" PRIMARY KEY,
  hash text NOT NULL,
  last_four text NOT NULL,
  name text NOT NULL,
  kind text NOT NULL ${checkWords('kind', ['user', 'operator'])},
  account bigint REFERENCES accounts (id),
  spend_cap bigint,
  models text,
  expires bigint,
  calls_per_minute integer,
  disabled boolean NOT NULL DEFAULT false,
  created bigint NOT NULL,
  -- Of a root: what it and those that took its place have spent and hold. A key that was never rotated is its
  -- own root.
  used bigint NOT NULL DEFAULT 0,
  pending bigint NOT NULL DEFAULT 0,
  root text NOT NULL,
  rotated_to text,
  -- Of a root that has a rate: when the minute began in which its calls were last counted, and how many there
  -- were.
  minute bigint NOT NULL DEFAULT 0,
  calls integer NOT NULL DEFAULT 0,
  tags text,
  read_only boolean NOT NULL DEFAULT false,
  deleted bigint,
  CONSTRAINT operators_have_no_account CHECK ((account IS NULL) = (kind = 'operator'))
) WITH (fillfactor = 50) /* STRICT, WITHOUT ROWID */;
CREATE INDEX keys_of_account ON keys (account, id);
CREATE INDEX keys_by_last_four ON keys (last_four);

CREATE TABLE entries (
  number bigint PRIMARY KEY,
  kind text NOT NULL ${checkWords('kind', entryKinds)},
  account bigint NOT NULL /* REFERENCES accounts (id) */,
  at bigint NOT NULL,
  -- The legs: amounts that move between the four books of the account.
  credits bigint NOT NULL DEFAULT 0,
  available bigint NOT NULL DEFAULT 0,
  reserved bigint NOT NULL DEFAULT 0,
  revenue bigint NOT NULL DEFAULT 0,
  call text COLLATE "C" CHECK ((call IS NULL) = (kind = 'credit')),
  key text COLLATE "C",
  reservation bigint CHECK ((reservation IS NULL) = (kind IN ('credit', 'reserve'))),
  -- Of credits.
  source text ${checkWords('source', creditSources)},
  reference text,
  -- Of credits and ends.
  reason text,
  -- Of ends.
  basis text,
  ${buildConsumptionColumns()},
  flags text NOT NULL DEFAULT '',
  -- The periods of budgets that a call counts in, as a JSON list: so their sums can be computed from the
  -- entries.
  budgets text,
  -- What the vendor bills. Null: as much as was charged.
  vendor bigint,
  author text,
  -- Numbers are taken before they are committed, so only the transaction that wrote an entry tells whether an
  -- audit has seen it.
  written xid8 NOT NULL DEFAULT pg_current_xact_id(),
  CONSTRAINT legs_sum_to_zero CHECK (credits + available + reserved + revenue = 0)
) /* STRICT */;
CREATE UNIQUE INDEX one_end ON entries (reservation) WHERE kind = 'post' OR kind = 'void' OR kind = 'expire';
CREATE UNIQUE INDEX one_overage ON entries (reservation) WHERE kind = 'overage';
CREATE UNIQUE INDEX one_adjustment ON entries (reservation) WHERE kind = 'adjustment';
CREATE UNIQUE INDEX one_credit ON entries (reference) WHERE reference IS NOT NULL;
CREATE INDEX credits_of_account ON entries (account, at) WHERE credits <> 0;

-- Reservations that have not ended. Their owners' beats record how far their calls have come.
CREATE TABLE pending (
  call text COLLATE "C" PRIMARY KEY,
  number bigint NOT NULL,
  account bigint NOT NULL,
  key text,
  root text,
  amount bigint NOT NULL,
  owner text COLLATE "C" NOT NULL,
  claim text,
  created bigint NOT NULL,
  sent boolean NOT NULL DEFAULT false,
  delivered bigint NOT NULL DEFAULT 0,
  owed bigint NOT NULL DEFAULT 0,
  ${buildConsumptionColumns(" NOT NULL DEFAULT '{}'", " NOT NULL DEFAULT '[]'")},
  budgets text
) WITH (fillfactor = 70) /* STRICT, WITHOUT ROWID */;

CREATE TABLE owners (owner text COLLATE "C" PRIMARY KEY, beat bigint NOT NULL, lease bigint NOT NULL)
  WITH (fillfactor = 50) /* STRICT, WITHOUT ROWID */;

CREATE TABLE claims (
  name text COLLATE "C" PRIMARY KEY,
  fingerprint text NOT NULL,
  expires bigint NOT NULL,
  call text NOT NULL,
  state text NOT NULL ${checkWords('state', ['running', 'done'])},
  status integer,
  headers text,
  body bytea,
  whole boolean
) /* STRICT */;
CREATE INDEX claims_by_expiry ON claims (expires) WHERE state = 'done';

CREATE TABLE budgets (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope text NOT NULL ${checkWords('scope', scopes)},
  subject text COLLATE "C" NOT NULL,
  per text NOT NULL ${checkWords('per', periodNames)},
  zone text NOT NULL,
  allowed bigint NOT NULL,
  hard boolean NOT NULL,
  thresholds text NOT NULL,
  raises text NOT NULL DEFAULT '[]',
  created bigint NOT NULL,
  -- A deleted budget stays: calls that it counted may still end, and the audit needs it.
  deleted bigint
) /* STRICT */;
CREATE UNIQUE INDEX one_budget ON budgets (scope, subject, per) WHERE deleted IS NULL;

-- Kept beside the entries, since each reservation reads the current one. Written with the lock of its budget.
CREATE TABLE budget_periods (
  budget bigint NOT NULL,
  start bigint NOT NULL,
  ends bigint NOT NULL,
  used bigint NOT NULL,
  pending bigint NOT NULL,
  warned integer NOT NULL,
  exhausted boolean NOT NULL,
  PRIMARY KEY (budget, start)
) WITH (fillfactor = 50) /* STRICT, WITHOUT ROWID */;

CREATE TABLE budget_warnings (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  budget bigint NOT NULL,
  event text NOT NULL ${checkWords('event', ['threshold', 'exhausted'])},
  threshold integer NOT NULL,
  used bigint NOT NULL,
  allowed bigint NOT NULL,
  start bigint NOT NULL,
  at bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  -- When it is delivered or tried again; null once that is done.
  due bigint
) /* STRICT */;
CREATE INDEX due_warnings ON budget_warnings (due) WHERE due IS NOT NULL;
${callTables}
${formerTables}

CREATE TABLE prices (version text PRIMARY KEY, rates text NOT NULL, created bigint NOT NULL)
  /* STRICT, WITHOUT ROWID */;

CREATE TABLE documents (name text PRIMARY KEY, version bigint NOT NULL, body text NOT NULL)
  /* STRICT, WITHOUT ROWID */;

CREATE TABLE operator_actions (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  author text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  detail text NOT NULL
) /* STRICT */;`;

/** Columns that ledgers of earlier versions lack, by table, each with its type. */
export const addedColumns: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  keys: {
    // The person or member who made or received the key.
    holder: 'text',
    // Where and for what it may be used, as JSON lists; null: anywhere, for anything.
    networks: 'text',
    protocols: 'text',
    operations: 'text',
  },
  accounts: {
    // What keys its members may make, as JSON; null: none.
    member_keys: 'text',
    postpaid: 'boolean NOT NULL DEFAULT false',
    // The number of its current terms, and when it is credited next.
    terms: 'bigint',
    allowance_due: 'bigint',
  },
  // Of entries of allowances: the start of the period that they are about.
  entries: { period: 'bigint' },
};

/** Tables whose rows are never changed, and what these are. */
export const guarded = { entries: 'entries', operator_actions: 'actions' };

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
CREATE TABLE IF NOT EXISTS declared_recoveries (name text PRIMARY KEY, sql text NOT NULL);
-- Names that are searched for, whatever the case of their ASCII letters.
CREATE INDEX IF NOT EXISTS accounts_by_word ON accounts (lower(name COLLATE "C"));
CREATE INDEX IF NOT EXISTS keys_by_word ON keys (lower(name COLLATE "C"));
CREATE INDEX IF NOT EXISTS keys_of_holder ON keys (holder) WHERE holder IS NOT NULL;
-- Links that give a key once. Times are in milliseconds since the epoch.
CREATE TABLE IF NOT EXISTS invitations (
  id text PRIMARY KEY,
  hash text NOT NULL,
  account bigint NOT NULL,
  name text NOT NULL,
  -- What the key may do, as JSON.
  terms text NOT NULL,
  author text NOT NULL,
  created bigint NOT NULL,
  expires bigint NOT NULL,
  ended bigint,
  -- Null if it was withdrawn.
  key text
);
CREATE INDEX IF NOT EXISTS invitations_of_account ON invitations (account, id);
-- What is to be erased: an account by its number and the name that it had, or a holder. The name is null once
-- all is erased.
CREATE TABLE IF NOT EXISTS erasures (
  id text PRIMARY KEY,
  account bigint,
  former text,
  keys text NOT NULL,
  created bigint NOT NULL,
  erased bigint NOT NULL DEFAULT 0,
  ended bigint
);
-- What is agreed with an account, a row for each change. Entries with numbers from \`since\` on follow it.
CREATE TABLE IF NOT EXISTS account_terms (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account bigint NOT NULL,
  since bigint NOT NULL,
  at bigint NOT NULL,
  postpaid boolean NOT NULL,
  -- The allowance: how much, for each period by the clocks of which zone. Null: there is none.
  amount bigint,
  per text,
  mode text,
  zone text
);
-- The periods for which an allowance was credited: each once, whatever the number of processes.
CREATE TABLE IF NOT EXISTS allowances (
  account bigint NOT NULL,
  period bigint NOT NULL,
  entry bigint NOT NULL,
  amount bigint NOT NULL,
  -- What the account had used and reserved before.
  spent bigint NOT NULL,
  PRIMARY KEY (account, period)
);
CREATE INDEX IF NOT EXISTS due_allowances ON accounts (allowance_due) WHERE allowance_due IS NOT NULL;`;

/** What `expansion` makes. */
export const expanded: readonly string[] = Array.from(
  expansion.matchAll(/IF NOT EXISTS (\w+)/g),
  ([, name = '']) => name,
);

/**
 * Whether a database of this version, of which this program knows `known`, is empty and needs all tables.
 * Throws if this program cannot use that version.
 */
export function needsTables(version: number, known: number): boolean {
  if (version > known)
    throw new Error(`it has version ${version} and this program knows up to ${known}: a newer one wrote it`);
  if (version > 0 && version < known)
    throw new Error(
      `it has version ${version}, which was never released, and this program reads versions from ${known}: ` +
        'start with a new ledger, or open it with the program that wrote it',
    );
  return version === 0;
}
