/**
 * The one connection that writes. If it is lost, the session reconnects in the background. Meanwhile it
 * refuses every write immediately, unless the server itself ended the connection: then writes wait for the
 * first try to reconnect. A batch may have been under way on the lost connection. So the next connection
 * is used only after the server has finished with the lost one: a retry then finds whatever was written,
 * and nothing is written late.
 */
import { setTimeout as pauseFor } from 'node:timers/promises';
import { Client } from 'pg';
import { buildFailure, type Outcome } from '../operations.ts';
import { readCount, readFlag } from '../rows.ts';
import { type Write, runWrites } from '../sql/shared.ts';
import { nameStatements, type Steps } from '../sql/steps.ts';
import {
  getCode,
  classifyFault,
  createQuery,
  findTableFault,
  isReset,
  type Query,
  runSteps,
  buildWriterConfig,
  type Address,
} from './connection.ts';

const sql = nameStatements('session', {
  begin: 'BEGIN',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  // A standby is read-only, and so is a server whose disk is full at some cloud providers.
  self: "SELECT pg_backend_pid() AS process, current_setting('transaction_read_only')::boolean AS closed",
  // Cancels what the server still does for the previous connection, and waits until it has ended.
  endLast: `
    SELECT pg_terminate_backend(pid, 2000) AS ended FROM pg_stat_activity
    WHERE pid = $1 AND application_name = $2 AND pid <> pg_backend_pid()`,
});

/** A transaction failed before its COMMIT was sent, so the database rolls it back in any case. */
export class Undone extends Error {
  override readonly name = 'Undone';

  constructor(cause: unknown) {
    super('the transaction was undone', { cause });
  }
}

/**
 * Runs steps in one transaction. Throws the first failure, as `Undone` if no COMMIT was sent: everything sent
 * after it fails only because of it.
 */
export async function runTransaction<Answer>(send: Query, steps: Steps<Answer>): Promise<Answer> {
  // Statements are sent without waiting for the results of earlier ones; all results are awaited at the
  // end.
  const sent: Promise<unknown>[] = [];
  const query: Query = (statement, values) => {
    const answer = send(statement, values);
    // A failed one that nothing waits for would end the process as an unhandled rejection.
    answer.catch(() => undefined);
    sent.push(answer);
    return answer;
  };
  void query(sql.begin);
  let isEnding = false;
  try {
    const answers = await runSteps(query, steps);
    isEnding = true;
    void query(sql.commit);
    // COMMIT succeeds after a failed statement, and undoes it all.
    await Promise.all(sent);
    return answers;
  } catch (error) {
    const ends = await Promise.allSettled(sent);
    const first: unknown = ends.find((end) => end.status === 'rejected')?.reason ?? error;
    // After a COMMIT that already ended the transaction this is only a warning.
    await send(sql.rollback).catch(() => undefined);
    throw isEnding ? first : new Undone(first);
  }
}

const firstPause = 50;
const longestPause = 1000;
const readOnly = '25006';
/** A newer program added a column, and the statements of this connection were prepared without it. */
const stalePlan = '0A000';
/** A statement was canceled: it waited too long for a lock. */
const canceled = '57014';
/** The client was too slow between two statements, so the server undid the transaction and disconnected. */
const idled = '25P03';
/** An administrator, a restart or a proxy ended the connection. */
const dismissed = '57P01';
/** How often a batch that conflicts with others is tried, and one that waits too long for a lock. */
const mostTries = 5;
const mostWaits = 2;

export class Session {
  readonly #address: Address;
  readonly #owner: string;
  readonly #closing = new AbortController();
  #client: Client | undefined;
  #failure: Error | undefined = new Error('it is not open yet');
  /** The first try to reconnect, and whether new batches wait for it since the server is known to answer. */
  #returning: Promise<boolean> | undefined;
  #isReturning = false;
  /** The server's process for the last connection, which may still be at work. */
  #last: number | undefined;

  constructor(address: Address, owner: string) {
    this.#address = address;
    this.#owner = owner;
  }

  /** Why nothing can be written at the moment. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  async connect(): Promise<void> {
    const options = buildWriterConfig(this.#address, this.#owner);
    const client = new Client(options);
    let isOver = false;
    client.on('error', (error) => {
      isOver = true;
      this.#onLost(client, error);
    });
    client.on('end', () => {
      isOver = true;
      this.#onLost(client, new Error('the connection was closed'));
    });
    try {
      await client.connect();
      await this.#endLast(createQuery(client), options.application_name);
    } catch (error) {
      client.end().catch(() => undefined);
      throw error;
    }
    if (isOver) throw new Error('the connection was lost at once');
    this.#client = client;
    this.#failure = undefined;
  }

  /** The outcome of each operation of a group; never rejects. */
  async write(operations: readonly Write[]): Promise<Outcome[]> {
    for (let attempt = 1; ; attempt += 1) {
      if (attempt > 1 || this.#isReturning) await this.#returning;
      const client = this.#client;
      if (!client)
        return operations.map(() => ({
          error: this.#failure ?? new Error('there is no connection'),
          unavailable: true,
        }));
      try {
        const values = await runTransaction(createQuery(client), runWrites(this.#owner, operations));
        this.#failure = undefined;
        return values.map((value) => ({ value }));
      } catch (thrown) {
        const cause = thrown instanceof Undone ? thrown.cause : thrown;
        const error = cause instanceof Error ? cause : new Error(String(cause));
        const fault = classifyFault(error);
        if (fault === 'conflict' && attempt < mostTries) continue;
        const tableFault = findTableFault(error);
        // The other operations do not wait once more for what a plugin waits for.
        const isIsolated = tableFault !== undefined && operations.length > 1;
        if (fault === 'database' && !isIsolated && this.#canRetry(client, thrown, error, attempt)) continue;
        // Another process may have written the same name at the same moment. The next try will find it.
        if (fault === 'clash' && operations.length === 1 && attempt === 1) continue;
        if (tableFault || fault === 'own' || fault === 'clash')
          return operations.length === 1
            ? [buildFailure(tableFault ?? error, false)]
            : this.#writeHalves(operations);
        this.#failure = error;
        // The server became a standby: a new connection finds the one that took over at this address. Or a
        // newer program changed the tables: a new connection prepares its statements again.
        if (getCode(error) === readOnly || getCode(error) === stalePlan) client.end().catch(() => undefined);
        return operations.map(() => ({ error, unavailable: true }));
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }

  /**
   * Writes the two halves separately, so that an operation that breaks a rule does not make the others
   * fail.
   */
  async #writeHalves(operations: readonly Write[]): Promise<Outcome[]> {
    const middle = operations.length >> 1;
    return [
      ...(await this.write(operations.slice(0, middle))),
      ...(await this.write(operations.slice(middle))),
    ];
  }

  /**
   * Whether a batch that failed with the database was certainly rolled back, and may succeed if it is
   * retried immediately.
   */
  #canRetry(client: Client, thrown: unknown, error: Error, attempt: number): boolean {
    const isLost = this.#client !== client;
    const code = getCode(error) ?? (isLost ? getCode(this.#failure) : undefined);
    // The server ended an idle transaction, so a COMMIT sent afterwards did not arrive.
    if (code === idled) return attempt < mostTries;
    if (!(thrown instanceof Undone)) return false;
    const isDismissed = code === dismissed || isReset(error);
    return (isDismissed && attempt < mostTries) || (code === canceled && attempt < mostWaits);
  }

  async #endLast(query: Query, name: string): Promise<void> {
    if (this.#last !== undefined) {
      const ended = await query(sql.endLast, [this.#last, name]);
      if (ended.some((row) => !readFlag(row, 'ended')))
        throw new Error('the server still works for the last connection');
    }
    const [self] = await query(sql.self);
    if (!self || readFlag(self, 'closed')) throw new Error('the server is read-only');
    this.#last = readCount(self, 'process');
  }

  #onLost(client: Client, error: Error): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#failure = error;
    const code = getCode(error);
    this.#isReturning = code === idled || code === dismissed || isReset(error);
    this.#returning = this.#tryToConnect();
    void this.#reconnect(this.#returning);
  }

  async #tryToConnect(): Promise<boolean> {
    if (this.#closing.signal.aborted) return false;
    try {
      await this.connect();
      return true;
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      return false;
    }
  }

  async #reconnect(first: Promise<boolean>): Promise<void> {
    const { signal } = this.#closing;
    let pause = firstPause;
    for (let isOpen = await first; !isOpen && !signal.aborted; isOpen = await this.#tryToConnect()) {
      await pauseFor(pause, undefined, { signal }).catch(() => undefined);
      pause = Math.min(pause * 2, longestPause);
    }
  }
}
