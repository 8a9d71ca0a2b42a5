/**
 * The first step of the tables, in which a transaction has a row with its facts and a row for each of its entries. It
 * stays because files were made by it, and because new files go through the same steps as old ones.
 */
const systemAccounts = { reservations: 1n, revenue: 2n, credits: 3n } as const;

/** Written as comparisons: for an `IN` of more than two values SQLite builds a temporary table with every row it checks. */
function oneOf(column: string, values: readonly string[]): string {
  return values.map((value) => `${column} = '${value}'`).join(' OR ');
}

export const firstTables = `
CREATE TABLE accounts (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (${oneOf('kind', ['user', 'system'])}),
  -- Kept beside the entries, since admission reads them with every call; always recomputable from the entries.
  total INTEGER NOT NULL DEFAULT 0,
  used INTEGER NOT NULL DEFAULT 0,
  pending INTEGER NOT NULL DEFAULT 0,
  created INTEGER NOT NULL
) STRICT;

INSERT INTO accounts (id, name, kind, created) VALUES
  (${systemAccounts.reservations}, 'reservations', 'system', 0),
  (${systemAccounts.revenue}, 'revenue', 'system', 0),
  (${systemAccounts.credits}, 'credits', 'system', 0);

CREATE TABLE keys (
  hash TEXT PRIMARY KEY,
  last_four TEXT NOT NULL,
  name TEXT NOT NULL,
  account INTEGER NOT NULL REFERENCES accounts (id),
  disabled INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
  created INTEGER NOT NULL
) STRICT;

CREATE TABLE reservations (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account INTEGER NOT NULL REFERENCES accounts (id),
  key TEXT NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount >= 0),
  state TEXT NOT NULL DEFAULT 'pending' CHECK (${oneOf('state', ['pending', 'posted', 'voided', 'expired'])}),
  -- Who answers for the reservation, and until when it is taken to be alive.
  owner TEXT NOT NULL,
  lease INTEGER NOT NULL,
  created INTEGER NOT NULL
) STRICT;

CREATE TABLE transactions (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (${oneOf('kind', ['credit', 'reserve', 'post', 'void', 'expire', 'overage', 'adjustment'])}),
  account INTEGER NOT NULL REFERENCES accounts (id),
  reservation INTEGER REFERENCES reservations (number) CHECK (reservation IS NOT NULL OR kind = 'credit'),
  at INTEGER NOT NULL,
  -- Of credits.
  source TEXT CHECK (${oneOf('source', ['top-up', 'bonus', 'gift-card'])}),
  reference TEXT,
  -- Of ends.
  reason TEXT,
  basis TEXT CHECK (${oneOf('basis', ['usage', 'estimate', 'none'])}),
  model TEXT,
  provider TEXT,
  price TEXT,
  usage TEXT,
  attempts INTEGER
) STRICT;

CREATE UNIQUE INDEX one_end ON transactions (reservation) WHERE ${oneOf('kind', ['post', 'void', 'expire'])};
CREATE UNIQUE INDEX one_credit ON transactions (reference) WHERE reference IS NOT NULL;

CREATE TABLE entries (
  "transaction" INTEGER NOT NULL REFERENCES transactions (id),
  account INTEGER NOT NULL REFERENCES accounts (id),
  amount INTEGER NOT NULL,
  PRIMARY KEY ("transaction", account)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_remain BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;
CREATE TRIGGER transactions_stay BEFORE UPDATE ON transactions BEGIN SELECT RAISE(ABORT, 'transactions are never changed'); END;
CREATE TRIGGER transactions_remain BEFORE DELETE ON transactions BEGIN SELECT RAISE(ABORT, 'transactions are never deleted'); END;
`;
