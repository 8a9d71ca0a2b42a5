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
  rotated_to TEXT,
  -- Of a root that has a rate: when the minute began in which its calls were last counted, and how many there were.
  minute INTEGER NOT NULL DEFAULT 0,
  calls INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_of_account ON keys (account, id);
CREATE INDEX keys_by_last_four ON keys (last_four);
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
INSERT INTO accounts (id, name, total, used, pending, created) VALUES (1, 'acme', 5000000000, 283, 70, 1);
INSERT INTO accounts (id, name, total, used, pending, created) VALUES (2, 'zeta', 10, 0, 0, 1);
INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute, disabled, created, used, pending, root, rotated_to, minute, calls) VALUES ('aaaaaaaaaaaa0001', 'aaaaaaaaaaaa0001000000000000000000000000000000000000000000000000', '0001', 'laptop', 'user', 1, 4000, '["house/*"]', 8000000000000000, 50, 0, 5, 220, 70, 'aaaaaaaaaaaa0001', 'aaaaaaaaaaaa0004', 0, 3);
INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute, disabled, created, used, pending, root, rotated_to, minute, calls) VALUES ('aaaaaaaaaaaa0002', 'aaaaaaaaaaaa0002000000000000000000000000000000000000000000000000', '0002', '', 'user', 1, NULL, NULL, NULL, NULL, 0, 5, 63, 0, 'aaaaaaaaaaaa0002', NULL, 0, 0);
INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute, disabled, created, used, pending, root, rotated_to, minute, calls) VALUES ('aaaaaaaaaaaa0003', 'aaaaaaaaaaaa0003000000000000000000000000000000000000000000000000', '0003', '', 'operator', NULL, NULL, NULL, NULL, NULL, 0, 5, 0, 0, 'aaaaaaaaaaaa0003', NULL, 0, 0);
INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute, disabled, created, used, pending, root, rotated_to, minute, calls) VALUES ('aaaaaaaaaaaa0004', 'aaaaaaaaaaaa0004000000000000000000000000000000000000000000000000', '0004', 'laptop', 'user', 1, 4000, '["house/*"]', 9000000000000000, 50, 0, 5, 0, 0, 'aaaaaaaaaaaa0001', NULL, 0, 0);
INSERT INTO prices (version, rates, created) VALUES ('price-1', '{"input":"0.001","output":"0.001"}', 1);
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (1, 'credit', 1, 2, -5000000000, 5000000000, 0, 0, NULL, NULL, NULL, 'top-up', 'invoice-1', NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (2, 'credit', 2, 3, -10, 10, 0, 0, NULL, NULL, NULL, 'bonus', NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (3, 'reserve', 1, 1000, 0, -100, 100, 0, 'posted', 'aaaaaaaaaaaa0001', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (4, 'post', 1, 2000, 0, 40, -100, 60, NULL, 'aaaaaaaaaaaa0001', 3, NULL, NULL, 'completed', 'usage', 'house/model', 'house', 'price-1', 60, 0, '{"input":60,"output":0}', '[]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (5, 'reserve', 1, 1000, 0, -100, 100, 0, 'above', 'aaaaaaaaaaaa0001', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (6, 'post', 1, 2000, 0, 0, -100, 100, NULL, 'aaaaaaaaaaaa0001', 5, NULL, NULL, 'completed', 'usage', 'house/model', 'house', 'price-1', 160, 0, '{"input":160,"output":0}', '[]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (7, 'overage', 1, 2000, 0, -60, 0, 60, NULL, 'aaaaaaaaaaaa0001', 5, NULL, NULL, 'completed', 'usage', 'house/model', 'house', 'price-1', 0, 0, '{}', '[]', 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (8, 'reserve', 1, 1000, 0, -100, 100, 0, 'voided', 'aaaaaaaaaaaa0002', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (9, 'void', 1, 2000, 0, 100, -100, 0, NULL, 'aaaaaaaaaaaa0002', 8, NULL, NULL, 'upstream_failed', 'none', 'house/model', 'house', 'price-1', 0, 0, '{"input":0,"output":0}', '[]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (10, 'reserve', 1, 1000, 0, -100, 100, 0, 'claimed', 'aaaaaaaaaaaa0002', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (11, 'post', 1, 2000, 0, 90, -100, 10, NULL, 'aaaaaaaaaaaa0002', 10, NULL, NULL, 'completed', 'usage', 'house/model', 'house', 'price-1', 10, 0, '{"input":10,"output":0}', '[]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (12, 'reserve', 1, 5, 0, -30, 30, 0, 'old', 'aaaaaaaaaaaa0002', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (13, 'expire', 1, 1500, 0, 30, -30, 0, NULL, 'aaaaaaaaaaaa0002', 12, NULL, NULL, 'expired', 'none', NULL, NULL, NULL, 0, 0, '{}', '[]', 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (14, 'adjustment', 1, 2000, 0, -20, 0, 20, NULL, 'aaaaaaaaaaaa0002', 12, NULL, NULL, 'completed', 'usage', 'house/model', 'house', 'price-1', 20, 0, '{"input":20,"output":0}', '[]', 1, 'late');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (15, 'reserve', 1, 1000, 0, -40, 40, 0, 'left', 'aaaaaaaaaaaa0002', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (16, 'post', 1, 1600, 0, 7, -40, 33, NULL, 'aaaaaaaaaaaa0002', 15, NULL, NULL, 'recovered', 'estimate', 'house/model', 'house', 'price-1', 33, 0, '{"input":33,"output":0}', '[]', 1, 'recovered');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (17, 'reserve', 1, 1000, 0, -70, 70, 0, 'running', 'aaaaaaaaaaaa0004', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO pending (call, number, account, key, root, amount, owner, claim, created, sent, delivered, owed, model, provider, price, input, output, usage, costs, attempts) VALUES ('running', 17, 1, 'aaaaaaaaaaaa0004', 'aaaaaaaaaaaa0001', 70, 'alive', NULL, 1000, 1, 10, 12, 'house/model', 'house', 'price-1', 12, 0, '{"input":12,"output":0}', '[]', 1);
INSERT INTO owners (owner, beat, lease) VALUES ('alive', 1795374101738, 1000);
INSERT INTO claims (name, fingerprint, expires, call, state, status, headers, body, whole) VALUES ('c', 'f', 9000000000000000, 'claimed', 'done', 200, '{"a":"b"}', x'010203', 1);
PRAGMA user_version = 3;
