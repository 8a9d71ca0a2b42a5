/**
 * The event loop's side of the writer's thread. Operations of one turn travel as one message and are answered by
 * one; what is asked while a group is being committed waits and forms the next one. So the more there is to
 * write, the more share a commit, and nobody waits for more than the commit at hand and their own.
 */
import type { Worker } from 'node:worker_threads';
import { GatewayError } from '../../../../core/index.ts';
import { laneOf, lanes, type Answer, type Group, type Lane, type Operation, type OperationName, type Outcome, type Outcomes } from './operations.ts';

/** Seconds after which a client may find the database well again. */
const retryAfter = 1;

/** Told of each group of writes when it is answered. */
export type GroupListener = (operations: number, seconds: number) => void;

interface Waiting {
  readonly operation: Operation;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

function unavailable(cause: Error): GatewayError {
  return new GatewayError('ledger_unavailable', 'The ledger cannot be used at the moment; try again soon.', { retryAfter, cause });
}

function answer(waiting: Waiting, outcome: Outcome): void {
  if ('value' in outcome) return waiting.resolve(outcome.value);
  waiting.reject(outcome.unavailable ? unavailable(outcome.error) : outcome.error);
}

/** Operations of one lane: those that wait, and those the thread has. */
class Queue {
  readonly lane: Lane;
  readonly #send: (group: Group) => void;
  #waiting: Waiting[] = [];
  #sent: Waiting[] = [];
  #sentAt = 0;
  #scheduled = false;

  constructor(lane: Lane, send: (group: Group) => void) {
    this.lane = lane;
    this.#send = send;
  }

  get idle(): boolean {
    return this.#waiting.length === 0 && this.#sent.length === 0;
  }

  add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#schedule();
  }

  /** At the end of the turn, so that all of it travels together. */
  #schedule(): void {
    if (this.#scheduled || this.#sent.length > 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#waiting.length === 0) return;
      [this.#sent, this.#waiting] = [this.#waiting, []];
      this.#sentAt = performance.now();
      this.#send({ lane: this.lane, operations: this.#sent.map(({ operation }) => operation) });
    });
  }

  answered(outcomes: readonly Outcome[]): { operations: number; seconds: number } {
    const sent = this.#sent;
    this.#sent = [];
    for (const [index, waiting] of sent.entries()) {
      const outcome = outcomes[index];
      if (outcome) answer(waiting, outcome);
    }
    if (this.#waiting.length > 0) this.#schedule();
    return { operations: sent.length, seconds: (performance.now() - this.#sentAt) / 1000 };
  }

  fail(error: Error): void {
    const all = [...this.#sent, ...this.#waiting];
    [this.#sent, this.#waiting] = [[], []];
    for (const { reject } of all) reject(error);
  }
}

export class Thread {
  readonly #worker: Worker;
  readonly #queues: Readonly<Record<Lane, Queue>>;
  readonly #exited: Promise<void>;
  /** Why nothing can be asked any more. */
  #over: Error | undefined;
  #drained: (() => void) | undefined;

  constructor(worker: Worker, onGroup: GroupListener) {
    this.#worker = worker;
    const send = (group: Group): void => worker.postMessage(group, []);
    this.#queues = { reads: new Queue('reads', send), writes: new Queue('writes', send) };
    worker.on('message', ({ lane, outcomes }: Outcomes) => {
      const { operations, seconds } = this.#queues[lane].answered(outcomes);
      if (lane === 'writes') onGroup(operations, seconds);
      if (this.#idle) this.#drained?.();
    });
    this.#exited = new Promise((resolve) => {
      worker.on('error', (error) => this.#end(new Error('its thread failed', { cause: error })));
      worker.on('exit', () => {
        this.#end(new Error('its thread ended'));
        resolve();
      });
    });
  }

  /** Asks the thread for one operation; rejects with `ledger_unavailable` where the database or the thread fails. */
  ask<Name extends OperationName>(operation: Operation & { readonly name: Name }): Promise<Answer<Name>> {
    return new Promise((resolve, reject) => {
      if (this.#over) return reject(unavailable(this.#over));
      this.#queues[laneOf[operation.name]].add({ operation, resolve, reject });
    });
  }

  /** Lets what was asked finish, then ends the thread. */
  async close(): Promise<void> {
    this.#over ??= new Error('it was closed');
    if (!this.#idle) await new Promise<void>((resolve) => { this.#drained = resolve; });
    this.#worker.postMessage('close', []);
    await this.#exited;
  }

  get #idle(): boolean {
    return lanes.every((lane) => this.#queues[lane].idle);
  }

  #end(error: Error): void {
    this.#over ??= error;
    for (const lane of lanes) this.#queues[lane].fail(unavailable(error));
    this.#drained?.();
  }
}
