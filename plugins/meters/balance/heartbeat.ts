/**
 * Sends heartbeats for this process, and settles the calls of dead ones. Each beat renews this process's
 * claim to its own reservations and records how far their calls have come. An owner that did not beat for
 * the length of its lease is dead: its reservations are ended by what its last beat recorded. That time is
 * measured by this process's own clock, between successive reads that succeeded. So a clock that jumps, a
 * machine that slept or a ledger that failed does not make a living process seem dead.
 */
import { setTimeout as pauseFor } from 'node:timers/promises';
import { formatUsd, Running, type Planned } from '../../../core/index.ts';
import type { LedgerServiceOptions } from './ledger-service.ts';
import { runWithoutFaulty } from './plugin-tables.ts';
import { findProgress } from './settlement.ts';
import type { OwnerRecord, Progress, RecoveredCall } from './store.ts';

export interface HeartbeatOptions extends Pick<
  LedgerServiceOptions,
  'store' | 'logger' | 'lease' | 'longestCall'
> {
  /** Milliseconds between two beats. */
  readonly every: number;
  /** Called after each beat that succeeded. Rejects if the ledger fails meanwhile. */
  onBeat(): Promise<void>;
  /** Called after each round, with the ledger's failure if there was one. */
  onRound(failure: unknown): void;
  onRecovered(call: RecoveredCall): void;
}

/** Reservations that are ended in one transaction. */
const part = 200;
/** Beats between two searches for reservations that are too old. */
const expireEvery = 60;
/**
 * Milliseconds that the wall clock may gain or lose between two beats. If it gains or loses more, it has
 * jumped.
 */
const mostUneven = 60_000;

interface Live {
  readonly exchange: Planned;
  /** What the last beat reported, so that the next one sends only what has changed. */
  reported: string;
}

interface Seen {
  readonly beat: number;
  /**
   * Whether it had nothing reserved. It need not beat then, so its silence is counted from zero once it
   * reserves again.
   */
  readonly isIdle: boolean;
  /** Milliseconds for which no new beat of it was seen. */
  readonly still: number;
}

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #live = new Running<Live>();
  /** The slot of each call in `#live`, by its id. */
  readonly #slots = new Map<string, number>();
  readonly #stopping = new AbortController();
  /** Whether a call began since the last beat, though it may have ended by now. */
  #hasBegun = false;
  #seen = new Map<string, Seen>();
  #lookedAt = -Infinity;
  /**
   * How far the wall clock is ahead of the process's own clock, and since when (by its own clock) it has not
   * jumped.
   */
  #ahead = Date.now() - performance.now();
  #evenSince = performance.now();
  #beating: Promise<void> = Promise.resolve();

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** From now on beats report how far the call has come, until `end`. */
  begin(exchange: Planned): void {
    this.#slots.set(exchange.id, this.#live.add({ exchange, reported: '' }));
    this.#hasBegun = true;
  }

  end(id: string): void {
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    this.#slots.delete(id);
    this.#live.remove(slot);
  }

  start(): void {
    this.#beating = this.#runRounds();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#beating;
  }

  async #runRounds(): Promise<void> {
    const { signal } = this.#stopping;
    for (let round = 0; !signal.aborted; round += 1) {
      try {
        this.#checkClock();
        await this.sendBeat();
        await this.#options.onBeat();
        await this.checkOwners(performance.now());
        if (round % expireEvery === expireEvery - 1) await this.#expireReservations();
        this.#options.onRound(undefined);
      } catch (error) {
        this.#options.onRound(error);
        this.forgetSeen();
      }
      await pauseFor(this.#options.every, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /**
   * Sends one heartbeat. Without reservations none is needed, unless the ledger failed: then the beat shows
   * when it works again.
   */
  async sendBeat(): Promise<void> {
    const { store, lease } = this.#options;
    if (this.#live.size === 0 && !this.#hasBegun && !store.findFault()) return;
    this.#hasBegun = false;
    const progress: Progress[] = [];
    const reporting: [live: Live, reported: string][] = [];
    for (const live of this.#live) {
      const known = findProgress(live.exchange);
      const reported = known ? `${known.attempts} ${known.delivered} ${known.owed}` : '';
      if (!known || reported === live.reported) continue;
      reporting.push([live, reported]);
      progress.push(known);
    }
    await store.beat({ lease, progress });
    for (const [live, reported] of reporting) live.reported = reported;
  }

  /**
   * Reads every owner's beat and recovers the calls of dead owners. `now` is a time of the process's own
   * clock.
   */
  async checkOwners(now: number): Promise<void> {
    const { store, every, lease } = this.#options;
    // After a long gap this process may have slept, and the others with it. So a long gap counts for
    // little or nothing.
    const gap = now - this.#lookedAt;
    const passed = gap > lease ? 0 : Math.min(gap, every * 1.5);
    this.#lookedAt = now;
    const seen = new Map<string, Seen>();
    const dead: OwnerRecord[] = [];
    for (const other of await store.listOwners()) {
      if (other.owner === store.owner) continue;
      const before = this.#seen.get(other.owner);
      const isIdle = other.pending === 0;
      const still = before?.beat === other.beat && before.isIdle === isIdle ? before.still + passed : 0;
      // An owner that never beat has stated no lease, so ours applies.
      if (still >= Math.max(other.lease, lease)) dead.push(other);
      else seen.set(other.owner, { beat: other.beat, isIdle, still });
    }
    this.#seen = seen;
    for (const owner of dead) await this.#recoverCalls(owner);
  }

  /**
   * Called after the ledger failed. No process could beat meanwhile, so the silence seen so far proves
   * nothing.
   */
  forgetSeen(): void {
    this.#seen.clear();
  }

  async #recoverCalls({ owner, beat, pending }: OwnerRecord): Promise<void> {
    const { store, logger, onRecovered } = this.#options;
    // An owner that had nothing reserved is only forgotten. A limit of 0 keeps what it may have reserved
    // since from being recovered.
    const limit = pending === 0 ? 0 : part;
    let count = 0;
    for (;;) {
      const calls = await runWithoutFaulty(logger, (leaveOut) =>
        store.recover({ owner, beat, limit, at: Date.now(), leaveOut }),
      );
      for (const call of calls) {
        onRecovered(call);
        logger.info(
          { call: call.id, status: call.status, amount: formatUsd(call.amount) },
          'a call that a process left behind was settled by what was known of it',
        );
      }
      count += calls.length;
      if (calls.length < part) break;
    }
    if (count > 0) logger.warn({ owner, count }, 'a process died with calls running: they are settled');
  }

  #checkClock(): void {
    const ahead = Date.now() - performance.now();
    if (Math.abs(ahead - this.#ahead) > mostUneven) this.#evenSince = performance.now();
    this.#ahead = ahead;
  }

  /**
   * Releases reservations that are too old. Ages cannot be measured across a jump of the wall clock, or
   * before this process began to watch it, so it first waits for the full time.
   */
  async #expireReservations(): Promise<void> {
    const { store, logger, longestCall } = this.#options;
    if (performance.now() - this.#evenSince < longestCall) return;
    const at = Date.now();
    await runWithoutFaulty(logger, (leaveOut) =>
      store.expire({ before: at - longestCall, limit: part, at, leaveOut }),
    );
  }
}
