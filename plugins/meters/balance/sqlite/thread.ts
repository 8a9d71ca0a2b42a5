/**
 * The event loop's side of a thread. If a thread dies, its pending operations fail as unavailable, so that
 * callers can retry. Another thread takes its place: the first time immediately, then after growing
 * pauses.
 */
import type { EventEmitter } from 'node:events';
import { stat } from 'node:fs/promises';
import type { AuditReport } from '../audit.ts';
import {
  getQueue,
  type Answer,
  type Opened,
  type Operation,
  type OperationName,
  type Outcome,
} from '../operations.ts';
import { Queue, buildOutageError, type GroupListener } from '../queue.ts';
import { queueNames, type QueueName } from '../store.ts';

/** A group of operations, or the outcomes of one in the same order. */
export interface Parcel<Each> {
  readonly queue: QueueName;
  readonly group: readonly Each[];
}

/** What serves a connection: a thread, or the event loop itself. */
export type Side = Pick<EventEmitter, 'on' | 'once'> & { postMessage(message: unknown, transfer: []): void };

const firstPause = 50;
const longestPause = 5000;

export class Thread {
  readonly #start: () => Side;
  readonly #queues: Readonly<Record<QueueName, Queue>>;
  readonly #onGroup: GroupListener;
  #worker: Side | undefined;
  /** Why the thread cannot be used: it failed and another one starts, or it was closed. */
  #down: Error | undefined;
  #closed = false;
  #pause = firstPause;
  #restart: NodeJS.Timeout | undefined;
  #exited: Promise<void> = Promise.resolve();

  constructor(start: () => Side, onGroup: GroupListener = () => undefined) {
    this.#start = start;
    this.#onGroup = onGroup;
    const send = (queue: QueueName, operations: readonly Operation[]): void =>
      this.#worker?.postMessage({ queue, group: operations } satisfies Parcel<Operation>, []);
    this.#queues = {
      writes: new Queue('writes', send),
      upkeep: new Queue('upkeep', send),
      reads: new Queue('reads', send),
      reports: new Queue('reports', send),
    };
  }

  /** Why operations are refused at the moment. */
  get down(): Error | undefined {
    return this.#down;
  }

  /**
   * Resolves when the thread is open; rejects with the reason if it cannot open. Operations wait until
   * then.
   */
  open(): Promise<void> {
    const worker = this.#start();
    this.#worker = worker;
    this.#down = undefined;
    return new Promise((resolve, reject) => {
      worker.once('message', ({ failure }: Opened) => {
        if (failure) {
          this.#onEnd(failure);
          return reject(failure);
        }
        worker.on('message', (parcel: Parcel<Outcome>) => this.#onAnswers(parcel));
        this.#pause = firstPause;
        for (const queue of queueNames) this.#queues[queue].release();
        resolve();
      });
      worker.on('error', (error: Error) =>
        this.#onEnd(new Error(`its thread failed: ${error.message}`, { cause: error })),
      );
      this.#exited = new Promise((gone) => {
        worker.on('exit', (code: number) => {
          this.#onEnd(new Error(`its thread ended with code ${code}`));
          reject(this.#down);
          gone();
          this.#startAgain(worker);
        });
      });
    });
  }

  /**
   * Sends the thread one operation; rejects with `ledger_unavailable` if the database or the thread fails.
   */
  ask<Name extends OperationName>(operation: Operation & { readonly name: Name }): Promise<Answer<Name>> {
    return this.#down
      ? Promise.reject(buildOutageError(this.#down))
      : this.#queues[getQueue(operation.name)].ask<Name>(operation);
  }

  /** Lets pending operations finish, then ends the thread. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#restart);
    const wasDown = this.#down !== undefined;
    this.#down ??= new Error('it was closed');
    await Promise.all(queueNames.map((name) => this.#queues[name].close()));
    if (!wasDown) this.#worker?.postMessage('close', []);
    await this.#exited;
  }

  #onAnswers(parcel: Parcel<Outcome>): void {
    const group = this.#queues[parcel.queue].settleGroup(parcel.group);
    if (parcel.queue === 'writes') this.#onGroup(group);
  }

  #onEnd(error: Error): void {
    this.#down ??= error;
    for (const queue of queueNames) this.#queues[queue].fail(buildOutageError(this.#down));
  }

  /** Starts another thread, unless one has already started or this one was meant to end. */
  #startAgain(ended: Side): void {
    if (this.#closed || this.#worker !== ended) return;
    this.#restart = setTimeout(() => void this.open().catch(() => undefined), this.#pause).unref();
    this.#pause = Math.min(this.#pause * 2, longestPause);
  }
}

/** Milliseconds within which two writes may leave the same modification time. */
const sameTime = 1000;

/**
 * The thread for reports and audits. It takes 15 MB, so it starts with the first request and ends when it
 * has been idle for a while. Its auditor's state is stored as bytes, so that the next thread's audit can
 * continue.
 */
export class Reports {
  readonly #file: string;
  readonly #start: (audited: Uint8Array | undefined) => Side;
  readonly #patience: number;
  #thread: Thread | undefined;
  #asked = 0;
  #ending: NodeJS.Timeout | undefined;
  #ended: Promise<void> = Promise.resolve();
  /** The state of the last thread's auditor. */
  #audited: Uint8Array | undefined;
  /** The last report, and when the file was last written before it. */
  #last: { readonly report: AuditReport; readonly written: number } | undefined;

  constructor(file: string, start: (audited: Uint8Array | undefined) => Side, patience: number) {
    this.#file = file;
    this.#start = start;
    this.#patience = patience;
  }

  async ask<Name extends OperationName>(
    operation: Operation & { readonly name: Name },
  ): Promise<Answer<Name>> {
    clearTimeout(this.#ending);
    this.#asked += 1;
    try {
      return await this.#getThread().ask<Name>(operation);
    } finally {
      this.#asked -= 1;
      if (this.#asked === 0) this.#ending = setTimeout(() => void this.#endThread(), this.#patience).unref();
    }
  }

  /** Returns the last report again if nothing was written to the file since. */
  async audit(): Promise<AuditReport> {
    const written = await this.#readWritten();
    if (this.#last && this.#last.written === written) return this.#last.report;
    for (;;) {
      const report = await this.ask({ name: 'auditPart', argument: undefined });
      if (!report) continue;
      this.#last = written === undefined ? undefined : { report, written };
      return report;
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#ending);
    await Promise.all([this.#thread?.close(), this.#ended]);
    clearTimeout(this.#ending);
  }

  #getThread(): Thread {
    if (this.#thread) return this.#thread;
    const thread = new Thread(() => this.#start(this.#audited));
    thread.open().catch(() => undefined);
    return (this.#thread = thread);
  }

  async #endThread(): Promise<void> {
    const thread = this.#thread;
    if (!thread) return;
    const known = await thread.ask({ name: 'getAuditState', argument: undefined }).catch(() => undefined);
    if (this.#asked > 0) return;
    this.#audited = known ?? this.#audited;
    this.#thread = undefined;
    this.#ended = thread.close();
    await this.#ended;
  }

  /** When any process last wrote to the log; undefined if another write could still leave the same time. */
  async #readWritten(): Promise<number | undefined> {
    const { mtimeMs } = await stat(`${this.#file}-wal`);
    return Date.now() - mtimeMs > sameTime ? mtimeMs : undefined;
  }
}
