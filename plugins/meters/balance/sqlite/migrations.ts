/**
 * The steps that make the tables. Each entry is one row, with its legs in columns, and is never changed. What
 * does change is kept apart and can be computed from the entries: the sums of accounts and keys, and the
 * pending reservations. A step is never changed once it is released; `PRAGMA user_version` holds a file's
 * version.
 */
import { laterSteps, type Dialect } from '../later-tables.ts';
import type { Migrations } from '../versions.ts';

const tables = `
CREATE TABLE accounts (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- Kept beside the entries, since admission reads them with every call; always recomputable from the
  -- entries.
  total INTEGER NOT NULL DEFAULT 0,
  used INTEGER NOT NULL DEFAULT 0,
  pending INTEGER NOT NULL DEFAULT 0,
  created INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL,
  last_four TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  account INTEGER REFERENCES accounts (id) CHECK ((account IS NULL) = (kind = 'operator')),
  spend_cap INTEGER,
  models TEXT,
  expires INTEGER,
  calls_per_minute INTEGER,
  disabled INTEGER NOT NULL DEFAULT 0,
  created INTEGER NOT NULL,
  -- Of a root: what it and those that took its place have spent and hold. A key that was never rotated is its
  -- own root.
  used INTEGER NOT NULL DEFAULT 0,
  pending INTEGER NOT NULL DEFAULT 0,
  root TEXT NOT NULL,
  rotated_to TEXT,
  -- Of a root that has a rate: when the minute began in which its calls were last counted, and how many there
  -- were.
  minute INTEGER NOT NULL DEFAULT 0,
  calls INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX keys_of_account ON keys (account, id);
CREATE INDEX keys_by_last_four ON keys (last_four);

-- Reservations that have not ended; what is known of their calls is written by their owner's beats.
CREATE TABLE pending (
  call TEXT PRIMARY KEY,
  number INTEGER NOT NULL,
  account INTEGER NOT NULL,
  key TEXT,
  root TEXT,
  amount INTEGER NOT NULL,
  owner TEXT NOT NULL,
  claim TEXT,
  created INTEGER NOT NULL,
  sent INTEGER NOT NULL DEFAULT 0,
  delivered INTEGER NOT NULL DEFAULT 0,
  owed INTEGER NOT NULL DEFAULT 0,
  model TEXT,
  provider TEXT,
  price TEXT,
  input INTEGER NOT NULL DEFAULT 0,
  output INTEGER NOT NULL DEFAULT 0,
  usage TEXT NOT NULL DEFAULT '{}',
  costs TEXT NOT NULL DEFAULT '[]',
  attempts INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE owners (owner TEXT PRIMARY KEY, beat INTEGER NOT NULL, lease INTEGER NOT NULL)
  STRICT, WITHOUT ROWID;

CREATE TABLE prices (version TEXT PRIMARY KEY, rates TEXT NOT NULL, created INTEGER NOT NULL)
  STRICT, WITHOUT ROWID;

CREATE TABLE claims (
  name TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  expires INTEGER NOT NULL,
  call TEXT NOT NULL,
  state TEXT NOT NULL,
  status INTEGER,
  headers TEXT,
  body BLOB,
  whole INTEGER
) STRICT;

CREATE INDEX claims_by_expiry ON claims (expires) WHERE state = 'done';

CREATE TABLE entries (
  number INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  account INTEGER NOT NULL REFERENCES accounts (id),
  at INTEGER NOT NULL,
  -- The legs: amounts that move between the four books of the account, and sum to zero.
  credits INTEGER NOT NULL DEFAULT 0,
  available INTEGER NOT NULL DEFAULT 0,
  reserved INTEGER NOT NULL DEFAULT 0,
  revenue INTEGER NOT NULL DEFAULT 0,
  -- Of a reserve entry; what follows it names it by its number.
  call TEXT,
  key TEXT,
  reservation INTEGER,
  -- Of credits.
  source TEXT,
  reference TEXT,
  -- Of ends.
  reason TEXT,
  basis TEXT,
  model TEXT,
  provider TEXT,
  price TEXT,
  input INTEGER NOT NULL DEFAULT 0,
  output INTEGER NOT NULL DEFAULT 0,
  usage TEXT,
  costs TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  flags TEXT NOT NULL DEFAULT '',
  CHECK (credits + available + reserved + revenue = 0)
) STRICT;

CREATE UNIQUE INDEX one_reservation ON entries (call) WHERE kind = 'reserve';
CREATE UNIQUE INDEX one_end ON entries (reservation) WHERE kind = 'post' OR kind = 'void' OR kind = 'expire';
CREATE UNIQUE INDEX one_overage ON entries (reservation) WHERE kind = 'overage';
CREATE UNIQUE INDEX one_adjustment ON entries (reservation) WHERE kind = 'adjustment';
CREATE UNIQUE INDEX one_credit ON entries (reference) WHERE reference IS NOT NULL;
CREATE INDEX booked_of_account ON entries (account) WHERE kind <> 'reserve';

CREATE TRIGGER entries_stay BEFORE UPDATE ON entries
  BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_remain BEFORE DELETE ON entries
  BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;
`;

const dialect: Dialect = {
  // A number is never used again, even if the last rows are deleted.
  identity: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  integer: 'INTEGER',
  small: 'INTEGER',
  flag: 'INTEGER',
  text: 'TEXT',
  sorted: 'TEXT',
  table: ' STRICT',
  keyed: ' STRICT, WITHOUT ROWID',
  busy: ' STRICT, WITHOUT ROWID',
  oneOf: () => '',
};

const guards = `
CREATE TRIGGER actions_stay BEFORE UPDATE ON operator_actions
  BEGIN SELECT RAISE(ABORT, 'actions are never changed'); END;
CREATE TRIGGER actions_remain BEFORE DELETE ON operator_actions
  BEGIN SELECT RAISE(ABORT, 'actions are never deleted'); END;
`;

// No query can use it, and each end wrote a page of it.
const fewerIndexes = 'DROP INDEX booked_of_account';

export const migrations: Migrations = {
  first: 3,
  steps: [tables, ...laterSteps(dialect, guards), fewerIndexes],
};
