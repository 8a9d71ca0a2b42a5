/**
 * Carries out what the policy decides after a failed attempt: waits, spends the budget, and passes over targets that fail
 * too while the budget is spent. Each gateway has one budget for all its calls.
 */
import type { Attempt, Routed, Target } from '../exchange.ts';
import type { Provider } from '../provider.ts';
import { resultOf } from '../upstream/failures.ts';
import type { Cancellation } from '../util/cancellation.ts';
import { pause } from '../util/timeouts.ts';
import { RetryBudget } from './budget.ts';
import { decide, type RetrySettings } from './policy.ts';
import { Standing } from './standing.ts';

/** The next attempt of a call. */
export interface Next {
  readonly target: Target;
  /** Whether the attempt before it went to the same target. */
  readonly isRetry: boolean;
  /** Whether the vendor refused the reasoning of earlier turns, so that it has to be left out. */
  readonly withoutReasoning: boolean;
}

/** No attempt follows. `isFinal`: the client cannot do better by sending the call again. */
export interface NoneLeft {
  readonly target: undefined;
  readonly isFinal: boolean;
}

/** The first attempt at a target. */
export function firstAttempt(target: Target | undefined): Next | NoneLeft {
  return target ? { target, isRetry: false, withoutReasoning: false } : { target, isFinal: false };
}

export class Retries {
  readonly #settings: RetrySettings;
  readonly #budget: RetryBudget;
  readonly #standings = new WeakMap<Provider, Map<string, Standing>>();

  constructor(settings: RetrySettings) {
    this.#settings = settings;
    this.#budget = new RetryBudget(settings.share);
  }

  /** Called at each phase of each attempt. */
  note(attempt: Attempt): void {
    const standing = this.#standingOf(attempt.target);
    if (attempt.phase !== 'start') return standing.record(resultOf(attempt));
    if (attempt.number === 1) this.#budget.noteFirst();
    standing.begin();
  }

  /** Passed a call whose last attempt has failed; resolves when the next attempt may begin, or none will. */
  async after(
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
        if (await this.#admits(target, cancellation)) return firstAttempt(target);
    }
    return { target: undefined, isFinal: step.type === 'stop' ? step.isFinal : !cancellation.cancelled };
  }

  /** A target that does well takes any number of calls. Of one that has had no calls, the first call finds out, and the others wait for its result. */
  async #admits(target: Target, cancellation: Cancellation): Promise<boolean> {
    const standing = this.#standingOf(target);
    const firstResult = standing.firstResult();
    const isFirst = standing.isUnknown && !firstResult;
    if (isFirst) standing.begin();
    if (firstResult) await Promise.race([firstResult, pause(this.#settings.longestWait, cancellation)]);
    if (cancellation.cancelled) return false;
    if (standing.doesWell) return true;
    const isAllowed = isFirst || this.#budget.hasRoom;
    if (isAllowed) this.#budget.spend();
    return isAllowed;
  }

  #standingOf({ provider, model }: Pick<Target, 'provider' | 'model'>): Standing {
    let models = this.#standings.get(provider);
    if (!models) this.#standings.set(provider, (models = new Map()));
    let standing = models.get(model.id);
    if (!standing) models.set(model.id, (standing = new Standing()));
    return standing;
  }
}
