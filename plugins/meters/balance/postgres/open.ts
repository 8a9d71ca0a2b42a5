/**
 * The PostgreSQL store: one database for any number of machines. In each process one connection writes, and a
 * few others read.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Client, Pool, type PoolClient } from 'pg';
import { getMessage } from '../../../../core/index.ts';
import { NoLedger, type OpenSettings } from '../open-store.ts';
import {
  isWrite,
  getQueue,
  createOwner,
  createStore,
  type NameIn,
  type Operation,
  type StoreOperationName,
} from '../operations.ts';
import { buildOutageError, Queue } from '../queue.ts';
import { readFlag, readCount } from '../rows.ts';
import { isSharedOperation, runShared, type Write } from '../sql/shared.ts';
import { nameStatements } from '../sql/steps.ts';
import type { Store } from '../store.ts';
import { createAudit } from './auditing.ts';
import {
  classifyFault,
  createQuery,
  getCode,
  runSteps,
  type Query,
  buildMigrationConfig,
  buildReaderConfig,
  type Address,
} from './connection.ts';
import type { HeartbeatData, HeartbeatMessage } from './heartbeat-worker.ts';
import { migrate, schema } from './migrations.ts';
import { runTransaction, Session, Undone } from './session.ts';

/**
 * A condition: no transaction with an id below `horizon` may still write numbers of `sequence`; both are SQL.
 * `pg_locks` has the last 32 bits of ids, so their distance is compared. A lock whose transaction has no id
 * there belongs to one that is just ending.
 */
export function buildNoneOpenSql(sequence: string, horizon: string): string {
  return `NOT EXISTS (
    SELECT FROM pg_locks AS numbers
    LEFT JOIN pg_locks AS self ON self.virtualtransaction = numbers.virtualtransaction
      AND self.locktype = 'transactionid' AND self.mode = 'ExclusiveLock'
    WHERE numbers.locktype = 'relation' AND numbers.mode = 'RowExclusiveLock'
      AND numbers.relation = (${sequence})::regclass
      AND numbers.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (self.transactionid IS NULL
        OR ((${horizon} - self.transactionid::text::bigint + 2147483648) & 4294967295) > 2147483648))`;
}

const sql = nameStatements('open', {
  taken: 'SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS number FROM entry_numbers',
  // Higher than the id of every transaction that has begun to write.
  horizon: 'SELECT pg_current_xact_id()::text::bigint AS number',
  ended: `SELECT ${buildNoneOpenSql("'entry_numbers'", '$1::bigint')} AS ended`,
  durability: 'SHOW synchronous_commit',
  process: 'SELECT pg_backend_pid() AS process',
  // The catalogue lists a ledger that this user may not read, too.
  ledger: `
    SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = '${schema}' AND tablename = 'steps') AS made,
    has_database_privilege(current_database(), 'CREATE') AS makeable`,
});

async function readNumber(query: Query, name: 'taken' | 'horizon'): Promise<number> {
  const [row] = await query(sql[name]);
  return row ? readCount(row, 'number') : 0;
}

/** Milliseconds between two checks, and the number of checks. */
const pause = 25;
const mostLooks = 400;

/**
 * Where an export ends: no lower number can still appear. Entries take their numbers before they are
 * committed, so this waits until all transactions that have taken one are over; it throws if one takes too
 * long. A transaction takes its id before it takes numbers from a sequence, and holds a lock on the sequence
 * until it ends. `pg_snapshot_xmin` would wait for transactions of every database on the server.
 */
async function findLastEntry(query: Query): Promise<number> {
  const taken = await readNumber(query, 'taken');
  const horizon = await readNumber(query, 'horizon');
  for (let look = 0; look < mostLooks; look += 1) {
    const [row] = await query(sql.ended, [horizon]);
    if (row && readFlag(row, 'ended')) return taken;
    await sleep(pause);
  }
  throw buildOutageError(new Error('a transaction takes too long, whose entries may still appear'));
}

/** The event loop's side of the thread that beats while the loop is blocked. */
const thread = new URL(
  import.meta.url.endsWith('.ts') ? './heartbeat-worker.ts' : './heartbeat-worker.js',
  import.meta.url,
);

/** Starts the thread. It starts again for the next reservation if it fails. */
function startHeartbeats(data: HeartbeatData) {
  let worker: Worker | undefined;
  let [askedAt, isClosed] = [-Infinity, false];
  function start(): void {
    const started = new Worker(thread, { name: 'ledger heartbeat', workerData: data });
    started.unref();
    started.on('error', () => undefined);
    started.on('exit', () => void (worker === started && (worker = undefined)));
    worker = started;
  }
  const post = (message: HeartbeatMessage): void => worker?.postMessage(message, []);
  start();
  return {
    /** Call it before each reservation. It sends the thread a few messages per lease at most. */
    begin() {
      const now = performance.now();
      if (now - askedAt < data.lease / 3) return;
      askedAt = now;
      if (!worker && !isClosed) start();
      post('begin');
    },
    noteBeat: () => post('beaten'),
    async close() {
      isClosed = true;
      await worker?.terminate();
    },
  };
}

export interface PostgresOptions extends Address, OpenSettings {
  /** The largest number of connections that read; one more writes. */
  readonly connections?: number;
}

type Read = Operation<Exclude<StoreOperationName, NameIn<'writes'>>>;

/** Upkeep writes, in transactions of its own, on the connections that read: no call waits for it. */
async function runRead(send: Query, operation: Read, owner: string): Promise<unknown> {
  if (!isSharedOperation(operation)) return findLastEntry(send);
  const steps = runShared(operation, owner);
  if (getQueue(operation.name) !== 'upkeep') return runSteps(send, steps);
  return runTransaction(send, steps).catch((error: unknown) => {
    throw error instanceof Undone ? error.cause : error;
  });
}

async function requireLedger(query: Query, { url }: Address): Promise<void> {
  const [row] = await query(sql.ledger);
  if (!row || readFlag(row, 'made')) return;
  if (readFlag(row, 'makeable')) throw new NoLedger(formatAddress(url));
  throw new Error(
    'there is no ledger in it yet, and this user may not make one: grant it CREATE on the database',
  );
}

const poolerFault =
  'a connection pooler such as PgBouncer is in front of PostgreSQL, and a ledger needs connections ' +
  'that stay with one server process: use the address of PostgreSQL itself, where each process of a ' +
  'gateway has at most five';

/** Throws if the server that greets the client is not the one that runs its statements. */
async function connectWithoutPooler(client: Client): Promise<void> {
  await client.connect().catch((error: unknown) => {
    // A pooler that does not know a parameter of the connection; PostgreSQL names another code.
    throw getCode(error) === '08P01' ? new Error(poolerFault, { cause: error }) : error;
  });
  const [row] = await createQuery(client)(sql.process);
  const greeting = 'processID' in client ? client.processID : undefined;
  if (Number(row?.process) !== greeting) throw new Error(poolerFault);
}

/**
 * How often the tables are brought up to date. Gateways of the version before write meanwhile, and the server
 * may end a deadlock with them by undoing the change.
 */
const mostMigrations = 20;

async function migrateDuringCalls(client: Client, attempt = 1): Promise<void> {
  await migrate(client).catch(async (error: unknown) => {
    if (getCode(error)?.startsWith('40') !== true || attempt === mostMigrations) throw error;
    await sleep(pause * attempt);
    return migrateDuringCalls(client, attempt + 1);
  });
}

/** Brings the tables up to date. Throws if commits are not durable, since the ledger depends on that. */
async function prepareTables(address: Address, mustExist: boolean): Promise<void> {
  const client = new Client(buildMigrationConfig(address));
  // When the connection is lost, the statement fails anyway. But an `error` event without a listener would
  // end the process.
  client.on('error', () => undefined);
  try {
    await connectWithoutPooler(client);
    const [row] = await createQuery(client)(sql.durability);
    if (row?.synchronous_commit === 'off')
      throw new Error('synchronous_commit is off, and a commit has to be on disk when it is answered');
    if (mustExist) await requireLedger(createQuery(client), address);
    await migrateDuringCalls(client);
  } finally {
    await client.end();
  }
}

/** Connections that read. Each serves one caller at a time. */
function openReaders(address: Address, connections: number) {
  const pool = new Pool(buildReaderConfig(address, connections));
  // A connection that is lost while it is idle is replaced when one is needed.
  pool.on('error', () => undefined);
  // The pool does not listen to a connection in use, which may be lost between a reply and the next
  // statement.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return {
    async read<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
      let client: PoolClient | undefined;
      try {
        client = await pool.connect();
        const result = await work(createQuery(client));
        client.release();
        return result;
      } catch (thrown) {
        // Closing the connection also ends what is left of its transaction.
        client?.release(true);
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        throw client && classifyFault(error) !== 'database' ? error : buildOutageError(error);
      }
    },
    async close() {
      if (!pool.ended) await pool.end();
    },
  };
}

/** The database's address without the password. */
function formatAddress(url: string): string {
  const { host, pathname } = new URL(url);
  return host + pathname;
}

/** Rejects with the reason if the database cannot be used. The reason never contains the password. */
export async function openPostgres({
  url,
  owner = createOwner(),
  connections = 4,
  onGroup = () => undefined,
  lease,
  mustExist = false,
}: PostgresOptions): Promise<Store> {
  const session = new Session({ url }, owner);
  try {
    await prepareTables({ url }, mustExist);
    await session.connect();
  } catch (error) {
    if (error instanceof NoLedger) throw error;
    throw new Error(`the ledger ${formatAddress(url)} cannot be opened: ${getMessage(error)}`, {
      cause: error,
    });
  }
  const writes: Queue<Write> = new Queue('writes', (_, group) => {
    void session.write(group).then((outcomes) => onGroup(writes.settleGroup(outcomes)));
  });
  writes.release();
  const readers = openReaders({ url }, connections);
  const audit = createAudit();
  const heartbeat = lease === undefined ? undefined : startHeartbeats({ url, owner, lease });
  const ask = (operation: Operation<StoreOperationName>): Promise<unknown> => {
    if (!isWrite(operation)) return readers.read((query) => runRead(query, operation, owner));
    if (operation.name === 'reserve') heartbeat?.begin();
    const answer = writes.ask(operation);
    return operation.name === 'beat' ? answer.then(() => heartbeat?.noteBeat()) : answer;
  };
  return createStore(ask, {
    owner,
    audit: () => readers.read(audit),
    findFault: () => session.failure,
    async close() {
      await writes.close();
      await session.close();
      await heartbeat?.close();
      await readers.close();
    },
  });
}
