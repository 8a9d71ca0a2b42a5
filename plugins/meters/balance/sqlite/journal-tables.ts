/**
 * The second step of the tables: one row for each transaction, with its legs in columns. Entries are never changed. What
 * does change is kept apart and can be computed from them again: the sums of accounts and keys, and the pending
 * reservations with what is known of their calls. The contents of a file of the first step are carried over.
 */

const entries = `
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

CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_remain BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;
`;

const others = `
CREATE TABLE accounts (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- Kept beside the entries, since admission reads them with every call; always recomputable from the entries.
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
  -- Of a root: what it and those that took its place have spent and hold. A key that was never rotated is its own root.
  used INTEGER NOT NULL DEFAULT 0,
  pending INTEGER NOT NULL DEFAULT 0,
  root TEXT NOT NULL,
  rotated_to TEXT
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

CREATE TABLE owners (owner TEXT PRIMARY KEY, beat INTEGER NOT NULL, lease INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE prices (version TEXT PRIMARY KEY, rates TEXT NOT NULL, created INTEGER NOT NULL) STRICT, WITHOUT ROWID;

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
`;

/** SQL for the amount that an old transaction moved on one of its books. */
function leg(account: string): string {
  return `coalesce((SELECT amount FROM old_entries WHERE old_entries."transaction" = booked.id AND old_entries.account = ${account}), 0)`;
}

const carried = `
INSERT INTO accounts (id, name, total, used, pending, created)
  SELECT id, name, total, used, pending, created FROM old_accounts WHERE kind = 'user';
INSERT INTO keys (id, hash, last_four, name, kind, account, disabled, created, root)
  SELECT substr(hash, 1, 16), hash, last_four, name, 'user', account, disabled, created, substr(hash, 1, 16) FROM old_keys;
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation,
    source, reference, reason, basis, model, provider, price, usage, attempts)
  SELECT booked.id, booked.kind, booked.account, booked.at, ${leg('3')}, ${leg('booked.account')}, ${leg('1')}, ${leg('2')},
    iif(booked.kind = 'reserve', held.id, NULL), held.key, iif(booked.kind = 'reserve', NULL, made.id),
    booked.source, booked.reference, booked.reason, booked.basis, coalesce(booked.model, held.model), coalesce(booked.provider, held.provider),
    booked.price, booked.usage, coalesce(booked.attempts, 0)
  FROM transactions booked
  LEFT JOIN reservations held ON held.number = booked.reservation
  LEFT JOIN transactions made ON made.reservation = booked.reservation AND made.kind = 'reserve'
  ORDER BY booked.id;
UPDATE keys SET used = (SELECT coalesce(sum(revenue), 0) FROM entries WHERE key = keys.id),
  pending = (SELECT coalesce(sum(reserved), 0) FROM entries WHERE key = keys.id);
INSERT INTO pending (call, number, account, key, root, amount, owner, created)
  SELECT held.id, made.id, held.account, held.key, (SELECT id FROM keys WHERE keys.id = held.key), held.amount, held.owner, held.created
  FROM reservations held JOIN transactions made ON made.reservation = held.number AND made.kind = 'reserve' WHERE held.state = 'pending';
`;

const old = ['accounts', 'keys', 'entries'];

export const journalTables = `
DROP TRIGGER entries_stay; DROP TRIGGER entries_remain; DROP TRIGGER transactions_stay; DROP TRIGGER transactions_remain;
DROP INDEX one_end; DROP INDEX one_credit;
CREATE INDEX old_by_reservation ON transactions (reservation);
${old.map((table) => `ALTER TABLE ${table} RENAME TO old_${table};`).join('\n')}
${others}
${entries}
${carried}
DROP TABLE old_entries; DROP TABLE transactions; DROP TABLE reservations; DROP TABLE old_keys; DROP TABLE old_accounts;
`;
