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

INSERT INTO accounts (id, name, total, used, pending, created) OVERRIDING SYSTEM VALUE VALUES (1, 'acme', 5000000000, 283, 70, 1);
INSERT INTO accounts (id, name, total, used, pending, created) OVERRIDING SYSTEM VALUE VALUES (2, 'zeta', 10, 0, 0, 1);
INSERT INTO accounts (id, name, total, used, pending, created) OVERRIDING SYSTEM VALUE VALUES (3, 'a', 1000000000000000, 397463444, 0, 1795408614928);
INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute, disabled, created, used, pending, root, rotated_to, minute, calls) VALUES ('122c7687f162b9c0', '122c7687f162b9c005129aed2e2e704473aa13f42f9e78f0d2b87f55dabce476', 'eNOZ', '', 'user', 3, NULL, NULL, NULL, NULL, false, 1795408614950, 397463444, 0, '122c7687f162b9c0', NULL, 0, 0);
INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute, disabled, created, used, pending, root, rotated_to, minute, calls) VALUES ('aaaaaaaaaaaa0001', 'aaaaaaaaaaaa0001000000000000000000000000000000000000000000000000', '0001', 'laptop', 'user', 1, 4000, '["house/*"]', 8000000000000000, 50, false, 5, 220, 70, 'aaaaaaaaaaaa0001', 'aaaaaaaaaaaa0004', 0, 3);
INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute, disabled, created, used, pending, root, rotated_to, minute, calls) VALUES ('aaaaaaaaaaaa0002', 'aaaaaaaaaaaa0002000000000000000000000000000000000000000000000000', '0002', '', 'user', 1, NULL, NULL, NULL, NULL, false, 5, 63, 0, 'aaaaaaaaaaaa0002', NULL, 0, 0);
INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute, disabled, created, used, pending, root, rotated_to, minute, calls) VALUES ('aaaaaaaaaaaa0003', 'aaaaaaaaaaaa0003000000000000000000000000000000000000000000000000', '0003', '', 'operator', NULL, NULL, NULL, NULL, NULL, false, 5, 0, 0, 'aaaaaaaaaaaa0003', NULL, 0, 0);
INSERT INTO keys (id, hash, last_four, name, kind, account, spend_cap, models, expires, calls_per_minute, disabled, created, used, pending, root, rotated_to, minute, calls) VALUES ('aaaaaaaaaaaa0004', 'aaaaaaaaaaaa0004000000000000000000000000000000000000000000000000', '0004', 'laptop', 'user', 1, 4000, '["house/*"]', 9000000000000000, 50, false, 5, 0, 0, 'aaaaaaaaaaaa0001', NULL, 0, 0);
INSERT INTO prices (version, rates, created) VALUES ('36d91a1c812e', '{"input":"0.15","output":"0.6","tiers":[]}', 1795408615322);
INSERT INTO prices (version, rates, created) VALUES ('37b91d4688fb', '{"input":"1.25","output":"10","cacheRead":"0.31","tiers":[{"above":1000,"input":"2.5","output":"15","cacheRead":"0.625"},{"above":2500,"input":"5","output":"20"}]}', 1795408615094);
INSERT INTO prices (version, rates, created) VALUES ('381baa49a344', '{"input":"3","output":"15","cacheRead":"0.3","cacheWrite5m":"3.75","cacheWrite1h":"6","tiers":[]}', 1795408615113);
INSERT INTO prices (version, rates, created) VALUES ('53876e533300', '{"input":"2.5","output":"10","cacheRead":"1.25","inputAudio":"40","outputAudio":"80","tiers":[]}', 1795408615130);
INSERT INTO prices (version, rates, created) VALUES ('6b54f9498759', '{"input":"0","output":"0","image":"0.0417","tiers":[]}', 1795408615116);
INSERT INTO prices (version, rates, created) VALUES ('a86ef833db40', '{"input":"2.5","output":"10","cacheRead":"1.25","tiers":[]}', 1795408615290);
INSERT INTO prices (version, rates, created) VALUES ('aa99c49237a9', '{"input":"1.1","output":"4.4","cacheRead":"0.275","reasoning":"3.333333333","tiers":[]}', 1795408615042);
INSERT INTO prices (version, rates, created) VALUES ('ccdde3deeb0c', '{"input":"5","output":"10","cacheRead":"1.25","inputImage":"8","outputImage":"32","tiers":[]}', 1795408615039);
INSERT INTO prices (version, rates, created) VALUES ('dd849bf086f1', '{"input":"1","output":"5","request":"0.0005","webSearch":"0.01","tiers":[]}', 1795408615420);
INSERT INTO prices (version, rates, created) VALUES ('e5675dca8ed0', '{"input":"0.0375","output":"0.000000001","tiers":[]}', 1795408615169);
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
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (24, 'credit', 3, 1795408614980, -1000000000000000, 1000000000000000, 0, 0, NULL, NULL, NULL, 'top-up', NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (25, 'reserve', 3, 1795408615040, 0, -96664000, 96664000, 0, '01a206b1-5671-757e-93ce-54ff95c2f13d', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'images/painted', 'images-vendor', 'ccdde3deeb0c', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (26, 'reserve', 3, 1795408615042, 0, -8991400, 8991400, 0, '01a206b1-5681-7a0c-9e39-d275ed427ef0', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'messages/reasoned', 'messages-vendor', 'aa99c49237a9', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (27, 'post', 3, 1795408615080, 0, 6182550, -8991400, 2808850, '01a206b1-5681-7a0c-9e39-d275ed427ef0', '122c7687f162b9c0', 26, NULL, NULL, 'completed', 'usage', 'messages/reasoned', 'messages-vendor', 'aa99c49237a9', 2739, 146, '{"input":2739,"cacheRead":1026,"cacheWrite5m":254,"cacheWrite1h":326,"webSearches":0,"output":146}', '[["cacheRead",1026,"0.275"],["input",1713,"1.1"],["output",146,"4.4"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (28, 'post', 3, 1795408615080, 0, 72818500, -96664000, 23845500, '01a206b1-5671-757e-93ce-54ff95c2f13d', '122c7687f162b9c0', 25, NULL, NULL, 'completed', 'usage', 'images/painted', 'images-vendor', 'ccdde3deeb0c', 201, 717, '{"input":201,"cacheRead":34,"inputImage":140,"output":717,"outputImage":699}', '[["cacheRead",34,"1.25"],["inputImage",140,"8"],["outputImage",699,"32"],["input",27,"5"],["output",18,"10"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (31, 'reserve', 3, 1795408615093, 0, -9000200, 9000200, 0, '01a206b1-56b4-779c-af0f-8b731f8176ce', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'chat-completions/reasoned', 'chat-completions-vendor', 'aa99c49237a9', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (32, 'reserve', 3, 1795408615094, 0, -20107500, 20107500, 0, '01a206b1-56b5-775b-bd1f-8cf5cf408e2d', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'messages/tiered', 'messages-vendor', '37b91d4688fb', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (33, 'post', 3, 1795408615100, 0, 6770467, -9000200, 2229733, '01a206b1-56b4-779c-af0f-8b731f8176ce', '122c7687f162b9c0', 31, NULL, NULL, 'completed', 'usage', 'chat-completions/reasoned', 'chat-completions-vendor', 'aa99c49237a9', 528, 399, '{"input":528,"cacheRead":0,"inputAudio":29,"output":399,"reasoning":100,"outputAudio":41}', '[["reasoning",100,"3.333333333"],["input",528,"1.1"],["output",299,"4.4"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (35, 'post', 3, 1795408615105, 0, 17937500, -20107500, 2170000, '01a206b1-56b5-775b-bd1f-8cf5cf408e2d', '122c7687f162b9c0', 32, NULL, NULL, 'completed', 'usage', 'messages/tiered', 'messages-vendor', '37b91d4688fb', 1279, 36, '{"input":1279,"cacheRead":836,"cacheWrite5m":0,"cacheWrite1h":0,"webSearches":0,"output":36}', '[["cacheRead",836,"0.625"],["input",443,"2.5"],["output",36,"15"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (37, 'reserve', 3, 1795408615113, 0, -30630000, 30630000, 0, '01a206b1-56c9-735b-86fd-f603d4ad8956', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'messages/written', 'messages-vendor', '381baa49a344', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (38, 'reserve', 3, 1795408615116, 0, -125100000, 125100000, 0, '01a206b1-56cb-7ab1-9e31-124ec1f7ee34', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'images/apiece', 'images-vendor', '6b54f9498759', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (39, 'post', 3, 1795408615119, 0, 24842400, -30630000, 5787600, '01a206b1-56c9-735b-86fd-f603d4ad8956', '122c7687f162b9c0', 37, NULL, NULL, 'completed', 'usage', 'messages/written', 'messages-vendor', '381baa49a344', 1769, 171, '{"input":1769,"cacheRead":772,"cacheWrite5m":0,"cacheWrite1h":0,"output":171,"webSearches":0}', '[["cacheRead",772,"0.3"],["input",997,"3"],["output",171,"15"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (41, 'post', 3, 1795408615128, 0, 41700000, -125100000, 83400000, '01a206b1-56cb-7ab1-9e31-124ec1f7ee34', '122c7687f162b9c0', 38, NULL, NULL, 'completed', 'usage', 'images/apiece', 'images-vendor', '6b54f9498759', 365, 351, '{"input":365,"cacheRead":30,"inputImage":69,"output":351,"outputImage":333,"images":2}', '[["input",365,"0"],["output",351,"0"],["image",2,"0.0417"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (43, 'reserve', 3, 1795408615130, 0, -164400000, 164400000, 0, '01a206b1-56d9-76af-9faf-e02191558335', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'messages/spoken', 'messages-vendor', '53876e533300', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (44, 'reserve', 3, 1795408615137, 0, -20215000, 20215000, 0, '01a206b1-56e1-7684-96b8-c7288ac2977b', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'messages/tiered', 'messages-vendor', '37b91d4688fb', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (45, 'post', 3, 1795408615138, 0, 158031250, -164400000, 6368750, '01a206b1-56d9-76af-9faf-e02191558335', '122c7687f162b9c0', 43, NULL, NULL, 'completed', 'usage', 'messages/spoken', 'messages-vendor', '53876e533300', 902, 477, '{"input":902,"cacheRead":525,"cacheWrite5m":0,"cacheWrite1h":0,"webSearches":0,"output":477}', '[["cacheRead",525,"1.25"],["input",377,"2.5"],["output",477,"10"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (47, 'post', 3, 1795408615149, 0, 19221540, -20215000, 993460, '01a206b1-56e1-7684-96b8-c7288ac2977b', '122c7687f162b9c0', 44, NULL, NULL, 'completed', 'usage', 'messages/tiered', 'messages-vendor', '37b91d4688fb', 506, 47, '{"input":506,"cacheRead":116,"cacheWrite5m":162,"cacheWrite1h":61,"webSearches":0,"output":47}', '[["cacheRead",116,"0.31"],["input",390,"1.25"],["output",47,"10"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (49, 'reserve', 3, 1795408615169, 0, -4238, 4238, 0, '01a206b1-5701-7d41-a1a4-37a789bbee63', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'messages/fractions', 'messages-vendor', 'e5675dca8ed0', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (50, 'reserve', 3, 1795408615256, 0, -20131250, 20131250, 0, '01a206b1-5756-7706-a9b8-53ba9a756571', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'messages/tiered', 'messages-vendor', '37b91d4688fb', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (51, 'post', 3, 1795408615264, 0, 0, -4238, 4238, '01a206b1-5701-7d41-a1a4-37a789bbee63', '122c7687f162b9c0', 49, NULL, NULL, 'completed', 'usage', 'messages/fractions', 'messages-vendor', 'e5675dca8ed0', 1775, 46, '{"input":1775,"cacheRead":413,"cacheWrite5m":0,"cacheWrite1h":0,"webSearches":0,"output":46}', '[["input",1775,"0.0375"],["output",46,"0.000000001"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (52, 'overage', 3, 1795408615264, 0, -62325, 0, 62325, '01a206b1-5701-7d41-a1a4-37a789bbee63', '122c7687f162b9c0', 49, NULL, NULL, 'completed', 'usage', 'messages/fractions', 'messages-vendor', 'e5675dca8ed0', 0, 0, '{}', '[]', 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (53, 'post', 3, 1795408615280, 0, 14843750, -20131250, 5287500, '01a206b1-5756-7706-a9b8-53ba9a756571', '122c7687f162b9c0', 50, NULL, NULL, 'completed', 'usage', 'messages/tiered', 'messages-vendor', '37b91d4688fb', 926, 413, '{"input":926,"cacheRead":0,"cacheWrite5m":0,"cacheWrite1h":0,"webSearches":0,"output":413}', '[["input",926,"1.25"],["output",413,"10"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (55, 'reserve', 3, 1795408615290, 0, -20295000, 20295000, 0, '01a206b1-577a-789c-b2e4-cfacdf47a01b', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'chat-completions/cached', 'chat-completions-vendor', 'a86ef833db40', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (56, 'reserve', 3, 1795408615301, 0, -20131250, 20131250, 0, '01a206b1-5784-7667-91ae-7a8189739690', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'chat-completions/tiered', 'chat-completions-vendor', '37b91d4688fb', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (57, 'post', 3, 1795408615309, 0, 16251250, -20295000, 4043750, '01a206b1-577a-789c-b2e4-cfacdf47a01b', '122c7687f162b9c0', 55, NULL, NULL, 'completed', 'usage', 'chat-completions/cached', 'chat-completions-vendor', 'a86ef833db40', 1197, 211, '{"input":1197,"cacheRead":847,"inputAudio":67,"output":211,"reasoning":6,"outputAudio":45}', '[["cacheRead",847,"1.25"],["input",350,"2.5"],["output",211,"10"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (59, 'post', 3, 1795408615318, 0, 14007500, -20131250, 6123750, '01a206b1-5784-7667-91ae-7a8189739690', '122c7687f162b9c0', 56, NULL, NULL, 'completed', 'usage', 'chat-completions/tiered', 'chat-completions-vendor', '37b91d4688fb', 923, 497, '{"input":923,"cacheRead":0,"inputAudio":76,"output":497,"reasoning":66,"outputAudio":10}', '[["input",923,"1.25"],["output",497,"10"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (61, 'reserve', 3, 1795408615322, 0, -1215750, 1215750, 0, '01a206b1-5799-7366-b6f3-02ac05e43f70', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'chat-completions/plain', 'chat-completions-vendor', '36d91a1c812e', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (62, 'reserve', 3, 1795408615334, 0, -20131250, 20131250, 0, '01a206b1-57a5-7e35-aa2a-e769e576920b', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'messages/tiered', 'messages-vendor', '37b91d4688fb', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (63, 'post', 3, 1795408615344, 0, 456600, -1215750, 759150, '01a206b1-5799-7366-b6f3-02ac05e43f70', '122c7687f162b9c0', 61, NULL, NULL, 'completed', 'usage', 'chat-completions/plain', 'chat-completions-vendor', '36d91a1c812e', 2085, 744, '{"input":2085,"cacheRead":629,"inputAudio":24,"output":744,"reasoning":258,"outputAudio":49}', '[["input",2085,"0.15"],["output",744,"0.6"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (65, 'post', 3, 1795408615353, 0, 8826250, -20131250, 11305000, '01a206b1-57a5-7e35-aa2a-e769e576920b', '122c7687f162b9c0', 62, NULL, NULL, 'completed', 'usage', 'messages/tiered', 'messages-vendor', '37b91d4688fb', 1324, 533, '{"input":1324,"cacheRead":0,"cacheWrite5m":0,"cacheWrite1h":0,"output":533,"webSearches":0}', '[["input",1324,"2.5"],["output",533,"15"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (67, 'reserve', 3, 1795408615360, 0, -166880000, 166880000, 0, '01a206b1-57c0-72cc-a866-301e82116c0f', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'messages/spoken', 'messages-vendor', '53876e533300', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (68, 'reserve', 3, 1795408615363, 0, -20262500, 20262500, 0, '01a206b1-57c2-7e04-befc-b8e26de022ab', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'chat-completions/cached', 'chat-completions-vendor', 'a86ef833db40', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (69, 'post', 3, 1795408615397, 0, 161123750, -166880000, 5756250, '01a206b1-57c0-72cc-a866-301e82116c0f', '122c7687f162b9c0', 67, NULL, NULL, 'completed', 'usage', 'messages/spoken', 'messages-vendor', '53876e533300', 2663, 82, '{"input":2663,"cacheRead":1377,"cacheWrite5m":79,"cacheWrite1h":258,"webSearches":0,"output":82}', '[["cacheRead",1377,"1.25"],["input",1286,"2.5"],["output",82,"10"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (71, 'post', 3, 1795408615404, 0, 11930000, -20262500, 8332500, '01a206b1-57c2-7e04-befc-b8e26de022ab', '122c7687f162b9c0', 68, NULL, NULL, 'completed', 'usage', 'chat-completions/cached', 'chat-completions-vendor', 'a86ef833db40', 1437, 474, '{"input":1437,"cacheRead":0,"inputAudio":18,"output":474,"reasoning":167,"outputAudio":38}', '[["input",1437,"2.5"],["output",474,"10"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (73, 'reserve', 3, 1795408615412, 0, -8923200, 8923200, 0, '01a206b1-57f3-737f-affd-69b72f72eab9', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'messages/reasoned', 'messages-vendor', 'aa99c49237a9', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (74, 'post', 3, 1795408615416, 0, 7404100, -8923200, 1519100, '01a206b1-57f3-737f-affd-69b72f72eab9', '122c7687f162b9c0', 73, NULL, NULL, 'completed', 'usage', 'messages/reasoned', 'messages-vendor', 'aa99c49237a9', 813, 142, '{"input":813,"cacheRead":0,"cacheWrite5m":0,"cacheWrite1h":0,"webSearches":0,"output":142}', '[["input",813,"1.1"],["output",142,"4.4"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (76, 'reserve', 3, 1795408615420, 0, -10597000, 10597000, 0, '01a206b1-57f8-79fa-9898-fa7f76fd6c8b', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'chat-completions/searched', 'chat-completions-vendor', 'dd849bf086f1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (77, 'post', 3, 1795408615428, 0, 4773000, -10597000, 5824000, '01a206b1-57f8-79fa-9898-fa7f76fd6c8b', '122c7687f162b9c0', 76, NULL, NULL, 'completed', 'usage', 'chat-completions/searched', 'chat-completions-vendor', 'dd849bf086f1', 2624, 540, '{"input":2624,"cacheRead":1373,"inputAudio":91,"output":540,"reasoning":128,"outputAudio":3}', '[["input",2624,"1"],["output",540,"5"],["request",1,"0.0005"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (79, 'reserve', 3, 1795408615433, 0, -210500000, 210500000, 0, '01a206b1-5808-76cf-8287-89855f77d47e', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'chat-completions/searched', 'chat-completions-vendor', 'dd849bf086f1', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (80, 'post', 3, 1795408615443, 0, 208056000, -210500000, 2444000, '01a206b1-5808-76cf-8287-89855f77d47e', '122c7687f162b9c0', 79, NULL, NULL, 'completed', 'usage', 'chat-completions/searched', 'chat-completions-vendor', 'dd849bf086f1', 1209, 147, '{"input":1209,"cacheRead":288,"inputAudio":13,"output":147,"reasoning":25,"outputAudio":0}', '[["input",1209,"1"],["output",147,"5"],["request",1,"0.0005"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (81, 'reserve', 3, 1795408615445, 0, -4575, 4575, 0, '01a206b1-5813-787c-b5bc-2b4cb1bf5969', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'chat-completions/fractions', 'chat-completions-vendor', 'e5675dca8ed0', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (83, 'post', 3, 1795408615451, 0, 0, -4575, 4575, '01a206b1-5813-787c-b5bc-2b4cb1bf5969', '122c7687f162b9c0', 81, NULL, NULL, 'completed', 'usage', 'chat-completions/fractions', 'chat-completions-vendor', 'e5675dca8ed0', 1385, 679, '{"input":1385,"cacheRead":633,"inputAudio":67,"output":679,"reasoning":202,"outputAudio":12}', '[["input",1385,"0.0375"],["output",679,"0.000000001"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (84, 'overage', 3, 1795408615451, 0, -47363, 0, 47363, '01a206b1-5813-787c-b5bc-2b4cb1bf5969', '122c7687f162b9c0', 81, NULL, NULL, 'completed', 'usage', 'chat-completions/fractions', 'chat-completions-vendor', 'e5675dca8ed0', 0, 0, '{}', '[]', 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (85, 'reserve', 3, 1795408615467, 0, -1215750, 1215750, 0, '01a206b1-582a-76d1-92ca-6602e49fa9ad', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'chat-completions/plain', 'chat-completions-vendor', '36d91a1c812e', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (86, 'reserve', 3, 1795408615481, 0, -20147500, 20147500, 0, '01a206b1-5838-705f-9e3c-fef9c14149d3', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'chat-completions/tiered', 'chat-completions-vendor', '37b91d4688fb', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (87, 'post', 3, 1795408615482, 0, 884700, -1215750, 331050, '01a206b1-582a-76d1-92ca-6602e49fa9ad', '122c7687f162b9c0', 85, NULL, NULL, 'completed', 'usage', 'chat-completions/plain', 'chat-completions-vendor', '36d91a1c812e', 283, 481, '{"input":283,"cacheRead":0,"inputAudio":27,"output":481,"reasoning":63,"outputAudio":30}', '[["input",283,"0.15"],["output",481,"0.6"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (89, 'post', 3, 1795408615494, 0, 10632500, -20147500, 9515000, '01a206b1-5838-705f-9e3c-fef9c14149d3', '122c7687f162b9c0', 86, NULL, NULL, 'completed', 'usage', 'chat-completions/tiered', 'chat-completions-vendor', '37b91d4688fb', 1532, 379, '{"input":1532,"cacheRead":0,"inputAudio":41,"output":379,"reasoning":166,"outputAudio":24}', '[["input",1532,"2.5"],["output",379,"15"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (91, 'reserve', 3, 1795408615504, 0, -125100000, 125100000, 0, '01a206b1-5850-7b54-970b-b8eef7b8a8cc', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'images/apiece', 'images-vendor', '6b54f9498759', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (92, 'reserve', 3, 1795408615509, 0, -125100000, 125100000, 0, '01a206b1-5854-75b5-b738-875df309f36c', '122c7687f162b9c0', NULL, NULL, NULL, NULL, NULL, 'images/apiece', 'images-vendor', '6b54f9498759', 0, 0, NULL, NULL, 0, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (93, 'post', 3, 1795408615516, 0, 0, -125100000, 125100000, '01a206b1-5850-7b54-970b-b8eef7b8a8cc', '122c7687f162b9c0', 91, NULL, NULL, 'completed', 'usage', 'images/apiece', 'images-vendor', '6b54f9498759', 549, 780, '{"input":549,"cacheRead":42,"inputImage":288,"output":780,"outputImage":764,"images":3}', '[["input",549,"0"],["output",780,"0"],["image",3,"0.0417"]]', 1, '');
INSERT INTO entries (number, kind, account, at, credits, available, reserved, revenue, call, key, reservation, source, reference, reason, basis, model, provider, price, input, output, usage, costs, attempts, flags) VALUES (95, 'post', 3, 1795408615518, 0, 41700000, -125100000, 83400000, '01a206b1-5854-75b5-b738-875df309f36c', '122c7687f162b9c0', 92, NULL, NULL, 'completed', 'usage', 'images/apiece', 'images-vendor', '6b54f9498759', 344, 582, '{"input":344,"cacheRead":20,"inputImage":149,"output":582,"outputImage":573,"images":2}', '[["input",344,"0"],["output",582,"0"],["image",2,"0.0417"]]', 1, '');
INSERT INTO pending (call, number, account, key, root, amount, owner, claim, created, sent, delivered, owed, model, provider, price, input, output, usage, costs, attempts) VALUES ('running', 23, 1, 'aaaaaaaaaaaa0004', 'aaaaaaaaaaaa0001', 70, 'alive', NULL, 1000, true, 10, 12, 'house/model', 'house', 'price-1', 12, 0, '{"input":12,"output":0}', '[]', 1);
INSERT INTO owners (owner, beat, lease) VALUES ('alive', 1795374110586, 1000);
INSERT INTO claims (name, fingerprint, expires, call, state, status, headers, body, whole) VALUES ('c', 'f', 9000000000000000, 'claimed', 'done', 200, '{"a":"b"}', '\x010203', true);
SELECT setval('entry_numbers', 96);
SELECT setval(pg_get_serial_sequence('accounts', 'id'), 3);
