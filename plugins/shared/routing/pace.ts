/**
 * How quick each target is, learnt from the calls that pass through: a peak-sensitive moving average of the
 * time to the first event. A slower answer counts at once, a quicker one only gradually. The average of a
 * target without calls slowly falls, so that it gets calls again, and a silent target counts as slow as its
 * silence is long. Streams and whole replies are measured apart, since a whole reply only has a first event
 * when it is finished.
 */
import type { Attempt, Host, Routed, Target } from '../../../core/index.ts';
import { keepThroughReloads } from '../kept.ts';
import { PerTarget } from './per-target.ts';

/** Milliseconds in which an average loses two thirds of its weight: with calls, and without any. */
const memory = 10_000;
const forgiveness = 60_000;
/** The least that a failure counts as, in milliseconds. */
const leastPenalty = 1000;

export class Pace {
  /**
   * When each attempt began that waits for its first event, oldest first. The key is the call's id, since
   * keeping attempts would hold them in memory for too long.
   */
  readonly #waiting = new Map<string, number>();
  #average: number | undefined;
  #heardAt = 0;
  /** How many attempts are running. */
  load = 0;

  /**
   * Milliseconds to the first event that a new call can expect. For an unknown target it is 0 for the first
   * call, and Infinity for others until that one is answered.
   */
  estimate(now: number): number {
    const isWaiting = this.#waiting.size > 0;
    if (this.#average === undefined) return isWaiting ? Infinity : 0;
    return Math.max(
      this.#average * Math.exp((this.#heardAt - now) / forgiveness),
      isWaiting ? this.#computeSilence(now) : 0,
    );
  }

  /** How long the target has been silent towards calls that wait. */
  #computeSilence(now: number): number {
    const [oldest] = this.#waiting.values();
    return oldest === undefined ? 0 : now - Math.max(oldest, this.#heardAt);
  }

  onStart(id: string, attempt: Attempt): void {
    this.load += 1;
    this.#waiting.set(id, attempt.startedAt);
  }

  onAnswer(id: string, attempt: Attempt, now: number): void {
    this.#waiting.delete(id);
    this.#learn(attempt.firstEventAfter ?? 0, now);
  }

  onEnd(id: string, attempt: Attempt, now: number): void {
    this.load -= 1;
    const answered = !this.#waiting.delete(id);
    const { error, duration = 0, sent } = attempt;
    if (answered || !error || !sent || error.code === 'client_gone') return;
    // A refusal because of the caller's mistake says nothing about how long an answer takes.
    if (error.code !== 'invalid_request')
      this.#learn(Math.max(duration, 2 * (this.#average ?? 0), leastPenalty), now);
  }

  #learn(sample: number, now: number): void {
    const old = this.#average;
    const weight = Math.exp((this.#heardAt - now) / memory);
    this.#average = old === undefined || sample > old ? sample : old * weight + sample * (1 - weight);
    this.#heardAt = now;
  }
}

class Paces {
  readonly #streams = new PerTarget(() => new Pace());
  readonly #replies = new PerTarget(() => new Pace());

  getPace(target: Target, stream: boolean): Pace {
    return (stream ? this.#streams : this.#replies).getEntry(target);
  }

  onAttempt(attempt: Attempt, { id, call, operation }: Routed): void {
    if (operation === 'count') return;
    const pace = this.getPace(attempt.target, call.stream);
    if (attempt.phase === 'start') return pace.onStart(id, attempt);
    const now = performance.now();
    if (attempt.phase === 'first-event') pace.onAnswer(id, attempt, now);
    else pace.onEnd(id, attempt, now);
  }
}

/** The paces of the process. Several plugins may route by them; only one of those listens to the attempts. */
export function keepPaces(
  host: Pick<Host, 'hooks' | 'openResource' | 'plugins'>,
  name: 'latency' | 'balanced',
): () => Paces {
  const paces = keepThroughReloads(host, 'paces', new Paces());
  if (name === 'latency' || !host.plugins.has('latency'))
    host.hooks.attempt.tap(name, (attempt, exchange) => void paces().onAttempt(attempt, exchange));
  return paces;
}
