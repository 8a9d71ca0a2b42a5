CREATE SCHEMA tollgate;
SET search_path = tollgate;
CREATE TABLE steps (count integer NOT NULL);
INSERT INTO steps VALUES (2);

CREATE TABLE accounts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  -- Kept beside the entries, since admission reads them with every call; always recomputable from the entries.
  total bigint NOT NULL DEFAULT 0,
  used bigint NOT NULL DEFAULT 0,
  pending bigint NOT NULL DEFAULT 0,
  created bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE keys (
  id text COLLATE "C" PRIMARY KEY,
  hash text NOT NULL,
  last_four text NOT NULL,
  name text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('user', 'operator')),
  account bigint REFERENCES accounts (id) CHECK ((account IS NULL) = (kind = 'operator')),
  spend_cap bigint,
  models text,
  expires bigint,
  calls_per_minute integer,
  disabled boolean NOT NULL DEFAULT false,
  created bigint NOT NULL,
  -- Of a root: what it and those that took its place have spent and hold. A key that was never rotated is its own root.
  used bigint NOT NULL DEFAULT 0,
  pending bigint NOT NULL DEFAULT 0,
  root text NOT NULL,
  rotated_to text,
  -- Of a root that has a rate: when the minute began in which its calls were last counted, and how many there were.
  minute bigint NOT NULL DEFAULT 0,
  calls integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX keys_of_account ON keys (account, id);
CREATE INDEX keys_by_last_four ON keys (last_four);

CREATE TABLE prices (version text PRIMARY KEY, rates text NOT NULL, created bigint NOT NULL);

-- Taken with an account's lock held, so that the entries of one account are numbered in the order they were written.
CREATE SEQUENCE entry_numbers;

CREATE TABLE entries (
  number bigint PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('credit', 'reserve', 'post', 'void', 'expire', 'overage', 'adjustment')),
  account bigint NOT NULL,
  at bigint NOT NULL,
  -- The legs: amounts that move between the four books of the account.
  credits bigint NOT NULL,
  available bigint NOT NULL,
  reserved bigint NOT NULL,
  revenue bigint NOT NULL,
  call text COLLATE "C" CHECK ((call IS NULL) = (kind = 'credit')),
  key text COLLATE "C",
  reservation bigint CHECK ((reservation IS NULL) = (kind IN ('credit', 'reserve'))),
  source text CHECK (source IN ('top-up', 'bonus', 'gift-card')),
  reference text,
  reason text,
  basis text,
  
  model text,
  provider text,
  price text,
  input bigint NOT NULL,
  output bigint NOT NULL,
  usage text,
  costs text,
  attempts integer NOT NULL,
  flags text NOT NULL,
  -- Numbers are taken before they are committed, so only the transaction that wrote it tells whether an audit has seen an entry.
  written xid8 NOT NULL DEFAULT pg_current_xact_id(),
  CONSTRAINT legs_sum_to_zero CHECK (credits + available + reserved + revenue = 0)
);
CREATE UNIQUE INDEX one_reservation ON entries (call) WHERE kind = 'reserve';
CREATE UNIQUE INDEX one_end ON entries (reservation) WHERE kind IN ('post', 'void', 'expire');
CREATE UNIQUE INDEX one_overage ON entries (reservation) WHERE kind = 'overage';
CREATE UNIQUE INDEX one_adjustment ON entries (reservation) WHERE kind = 'adjustment';
CREATE UNIQUE INDEX one_credit ON entries (reference) WHERE reference IS NOT NULL;
CREATE INDEX booked_of_account ON entries (account, number) WHERE kind <> 'reserve';

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'entries are never changed or deleted' USING ERRCODE = 'integrity_constraint_violation'; END $$;
CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Reservations that have not ended; what is known of their calls is written by their owner's beats.
CREATE TABLE pending (
  call text COLLATE "C" PRIMARY KEY,
  number bigint NOT NULL,
  account bigint NOT NULL,
  key text NOT NULL,
  root text,
  amount bigint NOT NULL,
  owner text COLLATE "C" NOT NULL,
  claim text,
  created bigint NOT NULL,
  sent boolean NOT NULL,
  delivered bigint NOT NULL,
  owed bigint NOT NULL,
  
  model text,
  provider text,
  price text,
  input bigint NOT NULL,
  output bigint NOT NULL,
  usage text,
  costs text,
  attempts integer NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX pending_of_owner ON pending (owner);

CREATE TABLE owners (owner text COLLATE "C" PRIMARY KEY, beat bigint NOT NULL, lease bigint NOT NULL) WITH (fillfactor = 50);

CREATE TABLE claims (
  name text COLLATE "C" PRIMARY KEY,
  fingerprint text NOT NULL,
  expires bigint NOT NULL,
  call text NOT NULL,
  state text NOT NULL CHECK (state IN ('running', 'done')),
  status integer,
  headers text,
  body bytea,
  whole boolean
);
CREATE INDEX claims_by_expiry ON claims (expires) WHERE state = 'done';

INSERT INTO accounts (id, name, total, used, pending, created) OVERRIDING SYSTEM VALUE VALUES (2, 'zeta', 10, 0, 0, 1);
INSERT INTO accounts (id, name, total, used, pending, created) OVERRIDING SYSTEM VALUE VALUES (1, 'acme', 5000000000, 283, 70, 1);
INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute, disabled, created, used, pending, root, rotated_to, minute, calls) VALUES ('aaaaaaaaaaaa0003', 'aaaaaaaaaaaa0003000000000000000000000000000000000000000000000000', '0003', '', 'operator', NULL, NULL, NULL, NULL, NULL, false, 5, 0, 0, 'aaaaaaaaaaaa0003', NULL, 0, 0);
INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute, disabled, created, used, pending, root, rotated_to, minute, calls) VALUES ('aaaaaaaaaaaa0001', 'aaaaaaaaaaaa0001000000000000000000000000000000000000000000000000', '0001', 'laptop', 'user', 1, 4000, '["house/*"]', 8000000000000000, 50, false, 5, 220, 70, 'aaaaaaaaaaaa0001', 'aaaaaaaaaaaa0004', 0, 3);
INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute, disabled, created, used, pending, root, rotated_to, minute, calls) VALUES ('aaaaaaaaaaaa0002', 'aaaaaaaaaaaa0002000000000000000000000000000000000000000000000000', '0002', '', 'user', 1, NULL, NULL, NULL, NULL, false, 5, 63, 0, 'aaaaaaaaaaaa0002', NULL, 0, 0);
INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute, disabled, created, used, pending, root, rotated_to, minute, calls) VALUES ('aaaaaaaaaaaa0004', 'aaaaaaaaaaaa0004000000000000000000000000000000000000000000000000', '0004', 'laptop', 'user', 1, 4000, '["house/*"]', 9000000000000000, 50, false, 5, 0, 0, 'aaaaaaaaaaaa0001', NULL, 0, 0);
INSERT INTO prices (version, rates, created) VALUES ('price-1', '{"input":"0.001","output":"0.001"}', 1);
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (1, 'credit', 1, 2, -5000000000, 5000000000, 0, 0, NULL, NULL, NULL, 'top-up', 'invoice-1', NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (2, 'credit', 2, 3, -10, 10, 0, 0, NULL, NULL, NULL, 'bonus', NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (3, 'reserve', 1, 1000, 0, -100, 100, 0, 'posted', 'aaaaaaaaaaaa0001', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (4, 'post', 1, 2000, 0, 40, -100, 60, 'posted', 'aaaaaaaaaaaa0001', 3, NULL, NULL, 'completed', 'usage', 'house/model', 'house', 'price-1', 60, 0, '{"input":60,"output":0}', '[]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (6, 'reserve', 1, 1000, 0, -100, 100, 0, 'above', 'aaaaaaaaaaaa0001', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (7, 'post', 1, 2000, 0, 0, -100, 100, 'above', 'aaaaaaaaaaaa0001', 6, NULL, NULL, 'completed', 'usage', 'house/model', 'house', 'price-1', 160, 0, '{"input":160,"output":0}', '[]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (8, 'overage', 1, 2000, 0, -60, 0, 60, 'above', 'aaaaaaaaaaaa0001', 6, NULL, NULL, 'completed', 'usage', 'house/model', 'house', 'price-1', 0, 0, '{}', '[]', 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (9, 'reserve', 1, 1000, 0, -100, 100, 0, 'voided', 'aaaaaaaaaaaa0002', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (10, 'void', 1, 2000, 0, 100, -100, 0, 'voided', 'aaaaaaaaaaaa0002', 9, NULL, NULL, 'upstream_failed', 'none', 'house/model', 'house', 'price-1', 0, 0, '{"input":0,"output":0}', '[]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (12, 'reserve', 1, 1000, 0, -100, 100, 0, 'claimed', 'aaaaaaaaaaaa0002', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (13, 'post', 1, 2000, 0, 90, -100, 10, 'claimed', 'aaaaaaaaaaaa0002', 12, NULL, NULL, 'completed', 'usage', 'house/model', 'house', 'price-1', 10, 0, '{"input":10,"output":0}', '[]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (15, 'reserve', 1, 5, 0, -30, 30, 0, 'old', 'aaaaaaaaaaaa0002', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (16, 'expire', 1, 1500, 0, 30, -30, 0, 'old', 'aaaaaaaaaaaa0002', 15, NULL, NULL, 'expired', 'none', NULL, NULL, NULL, 0, 0, '{}', '[]', 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (18, 'adjustment', 1, 2000, 0, -20, 0, 20, 'old', 'aaaaaaaaaaaa0002', 15, NULL, NULL, 'completed', 'usage', 'house/model', 'house', 'price-1', 20, 0, '{"input":20,"output":0}', '[]', 1, 'late');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (20, 'reserve', 1, 1000, 0, -40, 40, 0, 'left', 'aaaaaaaaaaaa0002', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (21, 'post', 1, 1600, 0, 7, -40, 33, 'left', 'aaaaaaaaaaaa0002', 20, NULL, NULL, 'recovered', 'estimate', 'house/model', 'house', 'price-1', 33, 0, '{"input":33,"output":0}', '[]', 1, 'recovered');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (23, 'reserve', 1, 1000, 0, -70, 70, 0, 'running', 'aaaaaaaaaaaa0004', NULL, NULL, NULL, NULL, NULL, 'house/model', 'house', 'price-1', 0, 0, NULL, NULL, 0, '');
INSERT INTO pending (call, number, account, key, root, amount, owner, claim, created, sent, delivered, owed, model, provider, price, input, output, usage, costs, attempts) VALUES ('running', 23, 1, 'aaaaaaaaaaaa0004', 'aaaaaaaaaaaa0001', 70, 'alive', NULL, 1000, true, 10, 12, 'house/model', 'house', 'price-1', 12, 0, '{"input":12,"output":0}', '[]', 1);
INSERT INTO owners (owner, beat, lease) VALUES ('alive', 1795374110586, 1000);
INSERT INTO claims (name, fingerprint, expires, call, state, status, headers, body, whole) VALUES ('c', 'f', 9000000000000000, 'claimed', 'done', 200, '{"a":"b"}', '\x010203', true);
SELECT setval('entry_numbers', 23);
SELECT setval(pg_get_serial_sequence('accounts', 'id'), 2);
