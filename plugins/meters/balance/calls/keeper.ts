/**
 * Stores the records of ended calls: it queues them, writes them in batches, with which the store sums up
 * calls and entries, and deletes them after their time. No call waits for any of it. If the database is away
 * for long, records are lost and counted, so that the queue never fills the memory. A batch touches about as
 * many pages for one call as for hundreds, so it waits for more calls. Readers still see every call: they
 * flush first.
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
/** Milliseconds between two searches for old calls, and for entries that no call of this process made. */
const idlePause = 60_000;
/** Calls of one batch, and of one slice of a sweep: so few that the ledger's writes wait for milliseconds. */
const batchSize = 250;
const sweepSize = 500;
/** Slices of a sweep in one turn. */
const mostSlices = 40;
/** Calls and characters that may wait. */
const mostWaiting = 20_000;
const mostCharacters = 32 * 1024 * 1024;

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
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;

  constructor(options: CallKeeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#idle = setInterval(() => this.#startSweep(), idlePause).unref();
    // What another process or version left is summed up.
    this.#startTimer();
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
    this.#startTimer();
  }

  /**
   * Stores the waiting calls, and sums up what was written. Never rejects: calls that could not be stored
   * keep waiting, or are lost and counted.
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
    await this.#sweeping;
    await this.#flushing;
    await this.flush();
    this.#reportLost(this.#waiting.length, new Error('the gateway stopped'));
  }

  #startTimer(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // While the database is away calls wait for it.
      void this.flush().then(() => {
        if (this.#waiting.length > 0 && !this.#closing.signal.aborted) this.#startTimer();
      });
    }, pause).unref();
  }

  async #flush(): Promise<void> {
    for (let isDone = false; !isDone;) {
      const batch = this.#waiting.slice(0, batchSize);
      try {
        ({ isDone } = await this.#options.store.addCalls({ calls: batch }));
        this.#isOpen = true;
      } catch (error) {
        this.#isOpen = !isOutage(error);
        // They wait for the database, and are lost only if too many wait.
        if (!this.#isOpen) return;
        this.#reportLost(batch.length, error);
        isDone = true;
      }
      this.#waiting = this.#waiting.slice(batch.length);
      this.#characters = this.#waiting.reduce((sum, { length }) => sum + length, 0);
      isDone &&= this.#waiting.length === 0;
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

  /** One at a time; a failure is logged, and the next turn tries again. */
  #startSweep(): void {
    this.#sweeping ??= this.#sweep()
      .catch((error: unknown) => {
        // Readiness and refused calls already report an outage.
        if (!this.#closing.signal.aborted && !isOutage(error))
          this.#options.logger.warn({ error }, 'old calls could not be deleted; it is tried again');
      })
      .finally(() => (this.#sweeping = undefined));
  }

  async #sweep(): Promise<void> {
    const { store, retention } = this.#options;
    await this.flush();
    for (let slice = 0; slice < mostSlices && !this.#closing.signal.aborted; slice += 1) {
      const at = Date.now();
      const before = retention === 0 ? at : at - retention;
      if ((await store.sweepCalls({ before, limit: sweepSize, at })) < sweepSize) return;
      await sleep(10);
    }
  }
}
