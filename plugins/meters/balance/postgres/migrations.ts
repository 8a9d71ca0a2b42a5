/**
 * The steps that make the tables. A step is never changed once it is released. The tables have a schema of
 * their own, so that a ledger can share a database with others. Entries and pending reservations refer to
 * accounts and keys without foreign keys: for each row of a batch the server would lock and look up again
 * what the batch has already locked and read.
 */
import type { ClientBase } from 'pg';
import { laterSteps, type Dialect } from '../later-tables.ts';
import { count } from '../rows.ts';
import { creditKinds, creditSources, entryKinds } from '../store.ts';
import { missingSteps, newestVersion, type Migrations } from '../versions.ts';

export const schema = 'tollgate';

function oneOf(column: string, values: readonly string[]): string {
  return `${column} IN (${values.map((value) => `'${value}'`).join(', ')})`;
}

/** What a call used: kept beside its reservation while it runs, and then on the entry that ends it. */
const consumption = `
  model text,
  provider text,
  price text,
  input bigint NOT NULL,
  output bigint NOT NULL,
  usage text,
  costs text,
  attempts integer NOT NULL`;

const tables = `
CREATE TABLE accounts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  -- Kept beside the entries, since admission reads them with every call; always recomputable from the
  -- entries.
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
  kind text NOT NULL CHECK (${oneOf('kind', ['user', 'operator'])}),
  account bigint REFERENCES accounts (id) CHECK ((account IS NULL) = (kind = 'operator')),
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
  calls integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX keys_of_account ON keys (account, id);
CREATE INDEX keys_by_last_four ON keys (last_four);

CREATE TABLE prices (version text PRIMARY KEY, rates text NOT NULL, created bigint NOT NULL);

-- Taken with an account's lock held, so that the entries of one account are numbered in the order they were
-- written.
CREATE SEQUENCE entry_numbers;

CREATE TABLE entries (
  number bigint PRIMARY KEY,
  kind text NOT NULL CHECK (${oneOf('kind', entryKinds)}),
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
  source text CHECK (${oneOf('source', creditKinds)}),
  reference text,
  reason text,
  basis text,
  ${consumption},
  flags text NOT NULL,
  -- Numbers are taken before they are committed, so only the transaction that wrote it tells whether an audit
  -- has seen an entry.
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
  BEGIN
    RAISE EXCEPTION 'entries are never changed or deleted'
      USING ERRCODE = 'integrity_constraint_violation';
  END $$;
CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

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
  ${consumption}
) WITH (fillfactor = 70);
CREATE INDEX pending_of_owner ON pending (owner);

CREATE TABLE owners (owner text COLLATE "C" PRIMARY KEY, beat bigint NOT NULL, lease bigint NOT NULL)
  WITH (fillfactor = 50);

CREATE TABLE claims (
  name text COLLATE "C" PRIMARY KEY,
  fingerprint text NOT NULL,
  expires bigint NOT NULL,
  call text NOT NULL,
  state text NOT NULL CHECK (${oneOf('state', ['running', 'done'])}),
  status integer,
  headers text,
  body bytea,
  whole boolean
);
CREATE INDEX claims_by_expiry ON claims (expires) WHERE state = 'done';
`;

const dialect: Dialect = {
  identity: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  integer: 'bigint',
  small: 'integer',
  flag: 'boolean',
  text: 'text',
  sorted: 'text COLLATE "C"',
  table: '',
  keyed: '',
  busy: ' WITH (fillfactor = 50)',
  oneOf: (column, words) => ` CHECK (${oneOf(column, words)})`,
};

const guards = `
ALTER TABLE entries DROP CONSTRAINT entries_source_check;
ALTER TABLE entries ADD CONSTRAINT entries_source_check CHECK (${oneOf('source', creditSources)});
CREATE TRIGGER actions_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON operator_actions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
`;

const migrations: Migrations = { first: 2, steps: [tables, ...laterSteps(dialect, guards)] };

/** The number of an advisory lock, since several processes may open a new database at once. */
const lock = 7_461_188_901;

/**
 * Brings the tables up to date, in one transaction. Throws where a newer version of the program wrote them.
 */
export async function migrate(client: ClientBase): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [lock]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await client.query('CREATE TABLE IF NOT EXISTS steps (count integer NOT NULL)');
    const { rows } = await client.query('SELECT count FROM steps');
    const version = rows[0] ? count(rows[0], 'count') : 0;
    for (const step of missingSteps(migrations, version)) await client.query(step);
    await client.query('DELETE FROM steps');
    await client.query('INSERT INTO steps VALUES ($1)', [newestVersion(migrations)]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}
