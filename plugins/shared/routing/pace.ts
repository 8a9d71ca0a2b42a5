/**
 * How quick each target is, told by the calls that go by: a peak-sensitive moving average of the time to the first
 * event. A slower answer is believed at once, a quicker one bit by bit; a target that nobody asks is slowly forgiven,
 * so that it is asked again; and one that is silent is as slow as its silence is long. Streams and whole replies are
 * kept apart, since the first event of a whole reply is all of it.
 */
import type { Attempt, Host, Routed, Target } from '../../../core/index.ts';
import { PerTarget } from './per-target.ts';

/** Milliseconds in which an average forgets two thirds of what it knew: while calls go by, and while none does. */
const memory = 10_000;
const forgiveness = 60_000;
/** What a failure counts as, at least, in milliseconds. */
const leastPenalty = 1000;

export class Pace {
  /** When each call began whose attempt waits for its first event, oldest first; by its id, since a set of attempts would keep them longer than they last. */
  readonly #waiting = new Map<string, number>();
  #average: number | undefined;
  #heardAt = 0;
  /** Attempts that run. */
  load = 0;

  /** Milliseconds to the first event of a call that would be sent now. Of a target nobody knows: 0 for the first call, and Infinity for others until that one has answered. */
  estimate(now: number): number {
    const isWaiting = this.#waiting.size > 0;
    if (this.#average === undefined) return isWaiting ? Infinity : 0;
    return Math.max(this.#average * Math.exp((this.#heardAt - now) / forgiveness), isWaiting ? this.#silence(now) : 0);
  }

  /** How long it has said nothing to anyone who waits. */
  #silence(now: number): number {
    const [oldest] = this.#waiting.values();
    return oldest === undefined ? 0 : now - Math.max(oldest, this.#heardAt);
  }

  started(id: string, attempt: Attempt): void {
    this.load += 1;
    this.#waiting.set(id, attempt.startedAt);
  }

  answered(id: string, attempt: Attempt, now: number): void {
    this.#waiting.delete(id);
    this.#learn(attempt.firstEventAfter ?? 0, now);
  }

  ended(id: string, attempt: Attempt, now: number): void {
    this.load -= 1;
    const answered = !this.#waiting.delete(id);
    const { error, duration = 0, sent } = attempt;
    if (answered || !error || !sent || error.code === 'client_gone') return;
    // A refusal of what the caller sent tells nothing of how long an answer takes.
    if (error.code !== 'invalid_request') this.#learn(Math.max(duration, 2 * (this.#average ?? 0), leastPenalty), now);
  }

  #learn(sample: number, now: number): void {
    const old = this.#average;
    const weight = Math.exp((this.#heardAt - now) / memory);
    this.#average = old === undefined || sample > old ? sample : old * weight + sample * (1 - weight);
    this.#heardAt = now;
  }
}

export class Paces {
  readonly #streams = new PerTarget(() => new Pace());
  readonly #replies = new PerTarget(() => new Pace());

  of(target: Target, stream: boolean): Pace {
    return (stream ? this.#streams : this.#replies).of(target);
  }

  read(attempt: Attempt, { id, call, operation }: Routed): void {
    if (operation === 'count') return;
    const pace = this.of(attempt.target, call.stream);
    if (attempt.phase === 'start') return pace.started(id, attempt);
    const now = performance.now();
    if (attempt.phase === 'first-event') pace.answered(id, attempt, now);
    else pace.ended(id, attempt, now);
  }
}

/** The paces of the process, for each plugin that routes by them; where there are several, one of them listens for all. */
export function keepPaces({ hooks, resource, plugins }: Pick<Host, 'hooks' | 'resource' | 'plugins'>, name: 'latency' | 'balanced'): () => Paces {
  let paces = new Paces();
  hooks.ready.tapPromise(name, async () => {
    paces = await resource('paces', {}, () => new Paces(), () => undefined);
  });
  if (name === 'latency' || !plugins.has('latency')) hooks.attempt.tap(name, (attempt, exchange) => void paces.read(attempt, exchange));
  return () => paces;
}
