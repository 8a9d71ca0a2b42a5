/**
 * Carries out what the policy decides after a failed attempt: it waits, spends the retry budget, and skips
 * targets that are failing too while the budget is spent. Each gateway has one budget for all calls.
 */
import type { Attempt, Routed, Target } from '../exchange.ts';
import type { Provider } from '../provider.ts';
import type { Cancellation } from '../util/cancellation.ts';
import { pause } from '../util/timeouts.ts';
import { judgeAttempt } from './failures.ts';
import { decide, type RetrySettings } from './retry-policy.ts';

export interface Next {
  readonly target: Target;
  /** Whether the previous attempt used the same target. */
  readonly isRetry: boolean;
  /** Whether the provider refused the reasoning of earlier turns, so that it must be left out. */
  readonly withoutReasoning: boolean;
}

/** No attempt follows. `isFinal`: retrying would not help the client. */
export interface NoneLeft {
  readonly target: undefined;
  readonly isFinal: boolean;
}

/** The first attempt at a target. */
export function planFirstAttempt(target: Target | undefined): Next | NoneLeft {
  return target ? { target, isRetry: false, withoutReasoning: false } : { target, isFinal: false };
}

export class Retries {
  readonly #settings: RetrySettings;
  readonly #budget: RetryBudget;
  readonly #reliabilities = new WeakMap<Provider, Map<string, Reliability>>();

  constructor(settings: RetrySettings) {
    this.#settings = settings;
    this.#budget = new RetryBudget(settings.share);
  }

  /** Records each phase of each attempt. */
  note(attempt: Attempt): void {
    const reliability = this.#getReliability(attempt.target);
    if (attempt.phase !== 'start') return reliability.record(judgeAttempt(attempt));
    if (attempt.number === 1) this.#budget.noteFirst();
    reliability.begin();
  }

  /** An admitted target is not called: calls that wait for its first result go on. */
  skip(target: Target): void {
    this.#getReliability(target).record(undefined);
  }

  /**
   * Decides about a call whose last attempt failed. Resolves when the next attempt may begin, or with none.
   */
  async planNextAttempt(
    { grant, cancellation, startedAt }: Routed,
    attempts: readonly Attempt[],
  ): Promise<Next | NoneLeft> {
    if (cancellation.cancelled) return { target: undefined, isFinal: false };
    const elapsed = performance.now() - startedAt;
    const step = decide(
      { targets: grant.targets, attempts, elapsed, hasBudget: this.#budget.hasRoom, random: Math.random() },
      this.#settings,
    );
    const last = attempts.at(-1);
    if (step.type === 'retry' && last) {
      this.#budget.spend();
      await pause(step.wait, cancellation);
      if (!cancellation.cancelled)
        return { target: last.target, isRetry: true, withoutReasoning: step.withoutReasoning };
    }
    if (step.type === 'next') {
      for (const target of step.targets)
        if (await this.#admit(target, cancellation)) return planFirstAttempt(target);
    }
    return { target: undefined, isFinal: step.type === 'stop' ? step.isFinal : !cancellation.cancelled };
  }

  /**
   * A target that answers at least as often as it fails accepts any number of calls. While it is unknown, one
   * call at a time finds out, and the others wait for its result.
   */
  async #admit(target: Target, cancellation: Cancellation): Promise<boolean> {
    const reliability = this.#getReliability(target);
    const until = performance.now() + this.#settings.longestWait;
    while (reliability.isUnknown) {
      const pending = reliability.getNextResult();
      const left = until - performance.now();
      if (!pending) reliability.begin();
      if (!pending || left <= 0) break;
      await Promise.race([pending, pause(left, cancellation)]);
      if (cancellation.cancelled) return false;
    }
    if (!reliability.isFailing) return true;
    const isAllowed = this.#budget.hasRoom;
    if (isAllowed) this.#budget.spend();
    return isAllowed;
  }

  #getReliability({ provider, model }: Pick<Target, 'provider' | 'model'>): Reliability {
    let byModel = this.#reliabilities.get(provider);
    if (!byModel) this.#reliabilities.set(provider, (byModel = new Map()));
    let reliability = byModel.get(model.id);
    if (!reliability) byModel.set(model.id, (reliability = new Reliability()));
    return reliability;
  }
}

/**
 * Limits retries to a share of all calls. Without a limit, an outage of a provider would multiply the
 * requests to it.
 */
const window = 10_000;

export class RetryBudget {
  readonly #share: number;
  /** The number allowed in a window even with few calls. */
  readonly #least: number;
  #since = 0;
  #calls = 0;
  #retries = 0;

  constructor(share: number, least = share > 0 ? 10 : 0) {
    this.#share = share;
    this.#least = least;
  }

  noteFirst(): void {
    this.#startWindow();
    this.#calls += 1;
  }

  get hasRoom(): boolean {
    this.#startWindow();
    return this.#retries < Math.max(this.#least, Math.floor(this.#calls * this.#share));
  }

  spend(): void {
    this.#startWindow();
    this.#retries += 1;
  }

  #startWindow(): void {
    const now = performance.now();
    if (now - this.#since < window) return;
    this.#since = now;
    this.#calls = 0;
    this.#retries = 0;
  }
}

/** The weight of the last call in the average, once there are as many results as this makes. */
const newest = 0.1;

/** So many failures without an answer show that a target fails; fewer may be bad luck. */
const fewest = 3;

/** How often a target has answered lately, to decide whether calls of failing targets may go there. */
export class Reliability {
  /** The weighted share of calls that succeeded. */
  #share = 0;
  #results = 0;
  /** Resolves with the next result of a target that is unknown. */
  #nextResult: PromiseWithResolvers<void> | undefined;

  begin(): void {
    if (this.isUnknown) this.#nextResult ??= Promise.withResolvers();
  }

  /** Records the result of a call; `undefined` if it shows nothing about the target. */
  record(hasSucceeded: boolean | undefined): void {
    if (hasSucceeded !== undefined) {
      this.#results += 1;
      this.#share += (Number(hasSucceeded) - this.#share) * Math.max(newest, 1 / this.#results);
    }
    this.#nextResult?.resolve();
    this.#nextResult = undefined;
  }

  /** The pending result of a target that is unknown; undefined if a call may find it out. */
  getNextResult(): Promise<void> | undefined {
    return this.#nextResult?.promise;
  }

  get isUnknown(): boolean {
    return this.#share === 0 && this.#results < fewest;
  }

  get isFailing(): boolean {
    return !this.isUnknown && this.#share < 0.5;
  }
}
