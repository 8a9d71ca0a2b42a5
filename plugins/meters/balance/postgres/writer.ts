/**
 * Passes writes to the session. Those of one turn travel together; those requested meanwhile form the next
 * group.
 */
import type { Answer } from '../operations.ts';
import { Queue, buildOutageError, type GroupListener } from '../queue.ts';
import type { Write } from '../sql/writes.ts';
import type { Session } from './session.ts';

export class Writer {
  readonly #session: Session;
  readonly #queue: Queue<Write>;
  readonly #onGroup: GroupListener;
  #isClosed = false;

  constructor(session: Session, onGroup: GroupListener) {
    this.#session = session;
    this.#onGroup = onGroup;
    this.#queue = new Queue('writes', (_, operations) => void this.#send(operations));
    this.#queue.release();
  }

  /** Requests one operation; rejects with `ledger_unavailable` if the database cannot be used. */
  ask<Name extends Write['name']>(operation: Write & { readonly name: Name }): Promise<Answer<Name>> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(buildOutageError(new Error('it was closed')));
      this.#queue.add({ operation, resolve, reject });
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#queue.waitUntilIdle();
    await this.#session.close();
  }

  async #send(operations: readonly Write[]): Promise<void> {
    this.#onGroup(this.#queue.settleGroup(await this.#session.write(operations)));
  }
}
