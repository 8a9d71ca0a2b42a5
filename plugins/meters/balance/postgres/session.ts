/**
 * The one connection that writes. It is kept: where it is lost, everything is refused at once, and tried again in
 * the background until there is another. A lost connection may leave a batch whose end nobody knows. The next one
 * begins when the server has done with the last, so that nothing of it comes late, and gives back first what was
 * reserved for callers who were told that nothing was.
 */
import { setTimeout as pauseFor } from 'node:timers/promises';
import { Client } from 'pg';
import { count, flag } from '../rows.ts';
import type { Outcome } from '../operations.ts';
import { BatchError, runBatch, type Write } from './batch.ts';
import { faultOf, queryOn, statements, type Query } from './connection.ts';
import { writing, type Address } from './options.ts';

const sql = statements('session', {
  ownProcess: 'SELECT pg_backend_pid() AS process',
  // Where the server still works for the connection before this one: it ends that, and waits until it has.
  endLast: 'SELECT pg_terminate_backend(pid, 2000) AS ended FROM pg_stat_activity WHERE pid = $1 AND application_name = $2 AND pid <> pg_backend_pid()',
});

const firstPause = 50;
const longestPause = 1000;
/** How often a batch is tried that meets others. */
const mostTries = 5;

/** A call whose reservation may have been made and was not told of. */
function giveBack(id: string): Write {
  return {
    name: 'settle',
    argument: {
      id, amount: undefined, reason: 'ledger_unavailable', basis: 'none', suspect: false, at: Date.now(),
      model: undefined, provider: undefined, price: undefined, input: 0, output: 0, usage: '{}', costs: '[]', attempts: 0,
    },
  };
}

export class Session {
  readonly #address: Address;
  readonly #owner: string;
  readonly #closing = new AbortController();
  #client: Client | undefined;
  #failure: Error | undefined = new Error('it is not open yet');
  /** The server's process for the last connection. */
  #last: number | undefined;
  #unsure: string[] = [];

  constructor(address: Address, owner: string) {
    this.#address = address;
    this.#owner = owner;
  }

  /** Why nothing can be written at the moment. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  async connect(): Promise<void> {
    const options = writing(this.#address, this.#owner);
    const client = new Client(options);
    let isOver = false;
    client.on('error', (error) => {
      isOver = true;
      this.#lost(client, error);
    });
    client.on('end', () => {
      isOver = true;
      this.#lost(client, new Error('the connection was closed'));
    });
    try {
      await client.connect();
      await this.#endLast(queryOn(client), options.application_name);
      if (this.#unsure.length > 0) await runBatch(client, this.#owner, this.#unsure.map(giveBack));
    } catch (error) {
      client.end().catch(() => undefined);
      throw error;
    }
    if (isOver) throw new Error('the connection was lost at once');
    this.#unsure = [];
    this.#client = client;
    this.#failure = undefined;
  }

  /** What became of each operation of a group; never rejects. */
  async write(operations: readonly Write[]): Promise<Outcome[]> {
    for (let attempt = 1; ; attempt += 1) {
      const client = this.#client;
      if (!client) return operations.map(() => ({ error: this.#failure ?? new Error('there is no connection'), unavailable: true }));
      try {
        const values = await runBatch(client, this.#owner, operations);
        this.#failure = undefined;
        return values.map((value) => ({ value }));
      } catch (thrown) {
        const error = this.#note(thrown, operations);
        const fault = faultOf(error);
        if (fault === 'conflict' && attempt < mostTries) continue;
        // Another process may have written the same name at the same moment: the next try finds it.
        if (fault === 'clash' && operations.length === 1 && attempt === 1) continue;
        if (fault === 'own' || fault === 'clash') return operations.length === 1 ? [{ error, unavailable: false }] : this.#writeHalves(operations);
        this.#failure = error;
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

  /** One operation that breaks a rule must not take the others with it. */
  async #writeHalves(operations: readonly Write[]): Promise<Outcome[]> {
    const middle = operations.length >> 1;
    return [...(await this.write(operations.slice(0, middle))), ...(await this.write(operations.slice(middle)))];
  }

  async #endLast(query: Query, name: string): Promise<void> {
    if (this.#last !== undefined) {
      const ended = await query(sql.endLast, [this.#last, name]);
      if (ended.some((row) => !flag(row, 'ended'))) throw new Error('the server still works for the last connection');
    }
    const [own] = await query(sql.ownProcess);
    this.#last = own && count(own, 'process');
  }

  #note(thrown: unknown, operations: readonly Write[]): Error {
    if (thrown instanceof BatchError && thrown.isUnsure) {
      this.#unsure.push(...operations.flatMap((operation) => (operation.name === 'reserve' ? [operation.argument.id] : [])));
    }
    const error = thrown instanceof BatchError ? thrown.cause : thrown;
    return error instanceof Error ? error : new Error(String(error));
  }

  #lost(client: Client, error: Error): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#failure = error;
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    const { signal } = this.#closing;
    for (let pause = firstPause; !signal.aborted; pause = Math.min(pause * 2, longestPause)) {
      try {
        return await this.connect();
      } catch (error) {
        this.#failure = error instanceof Error ? error : new Error(String(error));
        await pauseFor(pause, undefined, { signal }).catch(() => undefined);
      }
    }
  }
}
