/**
 * The operations that wait for a thread, and those that it is working on. All operations of one turn
 * travel in one message, and their results in another. Those added meanwhile wait and form the next group.
 * So under load more operations share each commit, and none waits for more than the current commit and its
 * own.
 */
import { GatewayError } from '../../../core/index.ts';
import { TableFault, type Answer, type Operation, type Outcome } from './operations.ts';
import type { QueueName } from './store.ts';

/** Seconds after which a client may try again when the database has failed. */
const retryAfter = 1;

export function buildOutageError(cause: Error): GatewayError {
  return new GatewayError('ledger_unavailable', 'The ledger cannot be used at the moment; try again soon.', {
    retryAfter,
    cause,
  });
}

function toRejection({ error, unavailable, plugin }: Extract<Outcome, { readonly error: Error }>): Error {
  if (unavailable) return buildOutageError(error);
  if (plugin === undefined || error instanceof TableFault) return error;
  return new TableFault(plugin, error.cause instanceof Error ? error.cause : error);
}

interface Waiting<Asked> {
  readonly operation: Asked;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** The outcome of a group. */
export interface GroupAnswer {
  readonly operations: number;
  readonly seconds: number;
  /** Why the database could not be used; undefined if it could. */
  readonly failure: Error | undefined;
}

/** Called after each group of writes. */
export type GroupListener = (group: GroupAnswer) => void;

export class Queue<Asked extends Operation = Operation> {
  readonly queue: QueueName;
  readonly #send: (queue: QueueName, operations: readonly Asked[]) => void;
  #waiting: Waiting<Asked>[] = [];
  #sent: Waiting<Asked>[] = [];
  #sentAt = 0;
  #scheduled = false;
  /** Whether operations wait because the thread is not open. */
  #held = true;
  #isClosed = false;
  #drained: (() => void) | undefined;

  constructor(queue: QueueName, send: (queue: QueueName, operations: readonly Asked[]) => void) {
    this.queue = queue;
    this.#send = send;
  }

  get #isIdle(): boolean {
    return this.#waiting.length === 0 && this.#sent.length === 0;
  }

  /** Refuses further operations. Resolves when those added so far have their results. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
  }

  ask<Name extends Asked['name']>(operation: Asked & { readonly name: Name }): Promise<Answer<Name>> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(buildOutageError(new Error('it was closed')));
      this.#waiting.push({ operation, resolve, reject });
      this.#schedule();
    });
  }

  /** Sends what waits: the thread is open. */
  release(): void {
    this.#held = false;
    this.#schedule();
  }

  /** Sends at the end of the turn, so that all its operations travel together. */
  #schedule(): void {
    if (this.#scheduled || this.#held || this.#sent.length > 0 || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#held || this.#waiting.length === 0) return;
      [this.#sent, this.#waiting] = [this.#waiting, []];
      this.#sentAt = performance.now();
      this.#send(
        this.queue,
        this.#sent.map(({ operation }) => operation),
      );
    });
  }

  settleGroup(outcomes: readonly Outcome[]): GroupAnswer {
    const sent = this.#sent;
    this.#sent = [];
    let failure: Error | undefined;
    outcomes.forEach((outcome, index) => {
      if ('value' in outcome) return sent[index]?.resolve(outcome.value);
      if (outcome.unavailable) failure = outcome.error;
      sent[index]?.reject(toRejection(outcome));
    });
    this.#schedule();
    if (this.#isIdle) this.#drained?.();
    return { operations: sent.length, seconds: (performance.now() - this.#sentAt) / 1000, failure };
  }

  /** Rejects what was added, and makes further operations wait: the thread is not open. */
  fail(error: Error): void {
    this.#held = true;
    const all = [...this.#sent, ...this.#waiting];
    [this.#sent, this.#waiting] = [[], []];
    for (const { reject } of all) reject(error);
    this.#drained?.();
  }
}
