/**
 * Stores the records of ended calls: it queues them, writes them in batches, adds them to the roll-ups,
 * and deletes them after their time. No call waits for any of it. If the database is away for long,
 * records are lost and counted, so that the queue never fills the memory. A batch, and a fold, touch about
 * as many pages for one call as for hundreds, so both wait for more calls. Readers still see every call:
 * they flush first, and a query adds what the roll-ups lack.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isGatewayError, type End, type Host } from '../../../../core/index.ts';
import { buildKeptText } from '../../../shared/calls/record.ts';
import type { Store } from '../store.ts';

export interface CallKeeperOptions {
  readonly store: Store;
  readonly logger: Host['logger'];
  /** Milliseconds for which calls are stored; 0 stores none. */
  readonly retention: number;
  /** Counts calls that could not be stored. */
  onLost(calls: number): void;
}

/** Milliseconds for which calls wait at most for a batch to fill. */
const pause = 3000;
/** Pauses between two folds, and calls that are stored at most between them. */
const pausesPerFold = 4;
const callsPerFold = 2500;
/** Milliseconds between two searches for old calls, and for entries that no call of this process made. */
const idlePause = 60_000;
/** Calls of one batch, and numbers of one fold: so few that the ledger's writes wait for milliseconds. */
const batchSize = 250;
const foldSize = 200;
const sweepSize = 500;
/** Folds, and slices of a sweep, in one turn. */
const mostSlices = 40;
/** Calls and characters that may wait. */
const mostWaiting = 20_000;
const mostCharacters = 32 * 1024 * 1024;
/** Folds after the last call: PostgreSQL folds an entry once all earlier transactions have ended. */
const lastFolds = 3;

function isOutage(error: unknown): boolean {
  return isGatewayError(error) && error.code === 'ledger_unavailable';
}

export class CallKeeper {
  readonly #options: CallKeeperOptions;
  readonly #closing = new AbortController();
  /** Records as JSON texts, which need no cloning for a thread. */
  #waiting: string[] = [];
  #characters = 0;
  #lost = 0;
  /** False while the database is away: then full batches wait for the next turn too. */
  #isOpen = true;
  #turn = 0;
  #turnsLeft = 0;
  #storedSinceFold = 0;
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();
  #isWorking = false;

  constructor(options: CallKeeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#idle = setInterval(() => this.#enqueueWork(() => this.#sweep()), idlePause).unref();
    // What another process or version left is folded immediately.
    this.#schedule();
  }

  /** Adds no call without a valid key: strangers must not fill the database. */
  add(end: End): void {
    if (this.#options.retention === 0 || !end.exchange.principal) return;
    const record = buildKeptText(end);
    if (this.#waiting.length >= mostWaiting || this.#characters + record.length > mostCharacters) {
      this.#lost += 1;
    } else {
      this.#waiting.push(record);
      this.#characters += record.length;
    }
    if (this.#waiting.length >= batchSize && this.#isOpen) void this.flush();
    this.#schedule();
  }

  /**
   * Stores the waiting calls. Never rejects: calls that could not be stored keep waiting, or are lost and
   * counted.
   */
  flush(): Promise<void> {
    return (this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
      this.#reportLost(0, new Error('too many calls waited to be stored'));
    }));
  }

  async close(): Promise<void> {
    clearInterval(this.#idle);
    clearTimeout(this.#timer);
    this.#closing.abort();
    await this.#working;
    await this.flush();
    this.#reportLost(this.#waiting.length, new Error('the gateway stopped'));
  }

  #schedule(): void {
    this.#turnsLeft = lastFolds * pausesPerFold;
    this.#startTimer();
  }

  #startTimer(): void {
    this.#timer ??= setTimeout(() => this.#takeTurn(), pause).unref();
  }

  #takeTurn(): void {
    this.#timer = undefined;
    // The database is slow. Turns must not pile up: a stop waits for all of them.
    if (this.#isWorking) return this.#startTimer();
    this.#turnsLeft -= 1;
    const isForFold = this.#turn % pausesPerFold === 0 || this.#storedSinceFold >= callsPerFold;
    this.#turn += 1;
    this.#enqueueWork(async () => {
      await this.flush();
      if (isForFold) await this.#fold();
    });
    if (this.#turnsLeft > 0 && !this.#closing.signal.aborted) this.#startTimer();
  }

  /** Runs one piece of work at a time; a failure is logged, and the next turn tries again. */
  #enqueueWork(work: () => Promise<void>): void {
    this.#isWorking = true;
    const working = this.#working
      .then(work)
      .catch((error: unknown) => {
        // Readiness and refused calls already report an outage.
        if (!this.#closing.signal.aborted && !isOutage(error))
          this.#options.logger.warn({ error }, 'stored calls could not be summed up; it is tried again');
      })
      .then(() => {
        if (this.#working === working) this.#isWorking = false;
      });
    this.#working = working;
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, batchSize);
      try {
        await this.#options.store.addCalls({ calls: batch });
        this.#isOpen = true;
        this.#storedSinceFold += batch.length;
      } catch (error) {
        this.#isOpen = !isOutage(error);
        // They wait for the database, and are lost only if too many wait.
        if (!this.#isOpen) return;
        this.#reportLost(batch.length, error);
      }
      this.#waiting = this.#waiting.slice(batch.length);
      this.#characters = this.#waiting.reduce((sum, { length }) => sum + length, 0);
    }
  }

  #reportLost(more: number, error: unknown): void {
    const calls = this.#lost + more;
    this.#lost = 0;
    if (calls === 0) return;
    this.#options.onLost(calls);
    this.#options.logger.error(
      { error, calls },
      'ended calls could not be stored; they are charged all the same',
    );
  }

  async #fold(): Promise<void> {
    this.#storedSinceFold = 0;
    for (let slice = 0; slice < mostSlices && !this.#closing.signal.aborted; slice += 1) {
      const began = performance.now();
      if ((await this.#options.store.fold({ limit: foldSize })).isDone) return;
      // A long history is summed up half of the time, so that calls do not wait for it.
      await sleep(performance.now() - began);
    }
    // There is much more: the next turn continues.
    this.#schedule();
  }

  async #sweep(): Promise<void> {
    const { store, retention } = this.#options;
    await this.#fold();
    for (let slice = 0; slice < mostSlices && !this.#closing.signal.aborted; slice += 1) {
      const at = Date.now();
      const before = retention === 0 ? at : at - retention;
      if ((await store.sweepCalls({ before, limit: sweepSize, at })) < sweepSize) return;
      await sleep(10);
    }
  }
}
