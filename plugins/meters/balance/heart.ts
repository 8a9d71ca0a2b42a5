/**
 * Says that this process is alive, and takes over what others left behind. Each beat makes its reservations its own
 * for another while and tells how far their calls have come. An owner whose beat stands still for the length of its
 * lease is dead, and its reservations are ended by what was last told of them. Time is measured by this process's
 * own clock alone, between looks that succeeded one after the other: a clock that jumps, a machine that slept and a
 * ledger that was away for a while make nobody dead.
 */
import { setTimeout as pauseFor } from 'node:timers/promises';
import { formatUsd, Running, type Host, type Planned } from '../../../core/index.ts';
import { progressOf } from './settlement.ts';
import type { OwnerRecord, Progress, RecoveredCall, Store } from './store.ts';

export interface HeartOptions {
  readonly store: Store;
  readonly logger: Host['logger'];
  /** Milliseconds between two beats, and until an owner without one is dead. */
  readonly every: number;
  readonly lease: number;
  /** Milliseconds after which a reservation is given back, whoever has it. */
  readonly longestCall: number;
  /** Called while the ledger is well: after each beat. Rejects where it is not. */
  onBeat(): Promise<void>;
  /** Told of each call that was recovered. */
  onRecovered(call: RecoveredCall): void;
}

/** Reservations that are ended in one transaction. */
const part = 200;
/** Beats between two looks for reservations that are too old. */
const expireEvery = 60;
/** Milliseconds that the clock on the wall may gain or lose between two beats: one that does more has jumped. */
const mostUneven = 60_000;

interface Live {
  readonly exchange: Planned;
  /** What was last told of it. */
  told: string;
}

interface Seen {
  readonly beat: number;
  /** Whether it had nothing reserved: it need not beat then, and its silence counts anew once it reserves again. */
  readonly isIdle: boolean;
  /** Milliseconds for which it was seen to stand still. */
  readonly still: number;
}

export class Heart {
  readonly #options: HeartOptions;
  readonly #live = new Running<Live>();
  /** Where each call stands among them, by its id. */
  readonly #places = new Map<string, number>();
  readonly #stopping = new AbortController();
  /** Whether a call began since the last beat, though it may have ended by now. */
  #hasBegun = false;
  #seen = new Map<string, Seen>();
  #lookedAt = -Infinity;
  /** How far the wall clock is ahead of the process's own, and since when (by its own) that has not changed. */
  #ahead = Date.now() - performance.now();
  #evenSince = performance.now();
  #beating: Promise<void> = Promise.resolve();

  constructor(options: HeartOptions) {
    this.#options = options;
  }

  /** From now on the call is told of, until its end is. */
  begin(exchange: Planned): void {
    this.#places.set(exchange.id, this.#live.add({ exchange, told: '' }));
    this.#hasBegun = true;
  }

  end(id: string): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    this.#places.delete(id);
    this.#live.remove(place);
  }

  start(): void {
    this.#beating = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#beating;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (let round = 0; !signal.aborted; round += 1) {
      try {
        this.#checkClock();
        await this.beat();
        await this.#options.onBeat();
        await this.look(performance.now());
        if (round % expireEvery === expireEvery - 1) await this.#expire();
      } catch (error) {
        // Refused calls say the same, and readiness too.
        this.#options.logger.debug({ error }, 'the ledger could not be asked for a beat');
        this.forget();
      }
      await pauseFor(this.#options.every, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** One sign of life; none is needed where nothing is reserved, but to see that a ledger is well again. */
  async beat(): Promise<void> {
    const { store, lease } = this.#options;
    if (this.#live.size === 0 && !this.#hasBegun && !store.health()) return;
    this.#hasBegun = false;
    const progress: Progress[] = [];
    const telling: [live: Live, told: string][] = [];
    for (const live of this.#live) {
      const known = progressOf(live.exchange);
      const told = known ? `${known.attempts} ${known.delivered} ${known.owed}` : '';
      if (!known || told === live.told) continue;
      telling.push([live, told]);
      progress.push(known);
    }
    await store.beat({ lease, progress });
    for (const [live, told] of telling) live.told = told;
  }

  /** Looks at everyone's beat, at a moment of the own clock, and recovers what the dead have left. */
  async look(now: number): Promise<void> {
    const { store, every, lease } = this.#options;
    // Who did not look for long may have slept, and the others with it: that counts for little, or for nothing.
    const gap = now - this.#lookedAt;
    const passed = gap > lease ? 0 : Math.min(gap, every * 1.5);
    this.#lookedAt = now;
    const seen = new Map<string, Seen>();
    const dead: OwnerRecord[] = [];
    for (const other of await store.owners()) {
      if (other.owner === store.owner) continue;
      const before = this.#seen.get(other.owner);
      const isIdle = other.pending === 0;
      const still = before?.beat === other.beat && before.isIdle === isIdle ? before.still + passed : 0;
      // One that never beat has told no lease.
      if (still >= Math.max(other.lease, lease)) dead.push(other);
      else seen.set(other.owner, { beat: other.beat, isIdle, still });
    }
    this.#seen = seen;
    for (const owner of dead) await this.#recover(owner);
  }

  /** The ledger was away: nobody can be said to have stood still meanwhile. */
  forget(): void {
    this.#seen.clear();
  }

  async #recover({ owner, beat, pending }: OwnerRecord): Promise<void> {
    const { store, logger, onRecovered } = this.#options;
    // One that had nothing is only forgotten: what it may have reserved since is not touched.
    const limit = pending === 0 ? 0 : part;
    let count = 0;
    for (;;) {
      const calls = await store.recover({ owner, beat, limit, at: Date.now() });
      for (const call of calls) {
        onRecovered(call);
        logger.info({ call: call.id, status: call.status, amount: formatUsd(call.amount) }, 'a call that a process left behind was settled by what was known of it');
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

  /** What was made before the clock on the wall jumped, or before this process began to watch it, tells no age: it is waited for until it would be too old all the same. */
  async #expire(): Promise<void> {
    const { store, longestCall } = this.#options;
    if (performance.now() - this.#evenSince < longestCall) return;
    const at = Date.now();
    await store.expire({ before: at - longestCall, limit: part, at });
  }
}
