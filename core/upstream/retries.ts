/**
 * Carries out what the policy decides after a failed attempt: it waits, spends the retry budget, and skips
 * targets that are failing too while the budget is spent. Each gateway has one budget for all calls.
 */
import { z } from 'zod';
import type { Attempt, Routed, Target } from '../exchange.ts';
import type { Provider } from '../provider.ts';
import type { Cancellation } from '../util/cancellation.ts';
import { longestDeadline, pause } from '../util/timeouts.ts';
import { classifyFailure, judgeAttempt } from './failures.ts';

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

  /** Decides after a failed attempt. Resolves when the next attempt may begin, or with none. */
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

/** Limits retries to a share of all calls: an outage must not multiply the requests to a provider. */
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

const buildSeconds = (fallback: number) =>
  z
    .number()
    .nonnegative()
    .max(longestDeadline)
    .default(fallback)
    .transform((value) => value * 1000);

export const retriesSchema = z.strictObject({
  /** Attempts at one target at most, but two while another target is left. With 1, no target is retried. */
  attempts: z.int().min(1).max(10).default(3),
  /** Seconds before the second attempt at a target. Later waits double, minus up to half at random. */
  base: buildSeconds(0.5),
  /** Seconds to wait before one attempt at most, even if the provider asks for more. */
  longestWait: buildSeconds(10),
  /** Seconds after the arrival of a call in which a target may be retried. */
  deadline: buildSeconds(60),
  /**
   * Retries, and fallbacks to targets that fail more often than they answer, as a share of all calls; at
   * least ten in ten seconds are allowed.
   */
  share: z.number().min(0).max(10).default(0.2),
});

/** Times in milliseconds. */
export type RetrySettings = z.output<typeof retriesSchema>;

export interface History {
  /** The targets of the call, in the order to try. */
  readonly targets: readonly Target[];
  /** The attempts so far. The last one has just failed. */
  readonly attempts: readonly Attempt[];
  readonly elapsed: number;
  readonly hasBudget: boolean;
  /** From 0 to 1. */
  readonly random: number;
}

export type Step =
  | { readonly type: 'retry'; readonly wait: number; readonly withoutReasoning: boolean }
  | { readonly type: 'next'; readonly targets: readonly Target[] }
  /** `isFinal`: retrying would not help the client. */
  | { readonly type: 'stop'; readonly isFinal: boolean };

/** Attempts at one target while another is left. */
const attemptsBeforeNext = 2;

/** The longest wait in milliseconds while another target is left; beyond it, the next target is quicker. */
const longestWaitBeforeNext = 1000;

/**
 * Decides what follows a failed attempt: a retry at the same target after a wait, the next target, or the
 * end. It is a pure function of the history, so that tests can try every history.
 */
export function decide(history: History, settings: RetrySettings): Step {
  const last = history.attempts.at(-1);
  if (!last) return { type: 'stop', isFinal: false };
  const kind = classifyAttempt(last);
  if (kind === 'request') return { type: 'stop', isFinal: false };
  if (kind === 'picture') return { type: 'stop', isFinal: true };
  if (kind === 'seal')
    return last.withoutReasoning
      ? { type: 'stop', isFinal: false }
      : { type: 'retry', wait: 0, withoutReasoning: true };
  const left = listTargetsLeft(history);
  const mayRetry =
    kind === 'transient' || (left.length === 0 && (kind === 'limit' || isFirstSilence(history, last)));
  const retry = mayRetry ? planRetry(history, last, left, settings) : undefined;
  if (retry) return retry;
  if (left.length > 0) return { type: 'next', targets: left };
  if (kind === 'overflow') return { type: 'stop', isFinal: false };
  return { type: 'stop', isFinal: kind !== 'limit' && !mayHelpLater(history, last, settings) };
}

function classifyAttempt(attempt: Attempt): ReturnType<typeof classifyFailure> {
  return attempt.error ? classifyFailure(attempt.error, attempt) : 'request';
}

/**
 * Whether the only target that was asked was silent for the first time. A second silence lasts as long, so
 * more would keep the client waiting for nothing.
 */
function isFirstSilence({ attempts }: History, last: Attempt): boolean {
  return (
    attempts.every(({ target }) => target === last.target) &&
    attempts.findIndex((attempt) => classifyAttempt(attempt) === 'silence') === attempts.length - 1
  );
}

function planRetry(
  { attempts, elapsed, hasBudget, random }: History,
  last: Attempt,
  left: readonly Target[],
  settings: RetrySettings,
): Step | undefined {
  const tries = attempts.filter(
    ({ target, error }) => target === last.target && error?.details.rejects !== 'reasoning',
  ).length;
  const most = Math.min(settings.attempts, left.length > 0 ? attemptsBeforeNext : Infinity);
  const longest = Math.min(settings.longestWait, left.length > 0 ? longestWaitBeforeNext : Infinity);
  if (tries >= most || !hasBudget || (readRequestedWait(last) ?? 0) > longest) return undefined;
  const wait = computeWait(tries, last, random, settings);
  if (elapsed + wait > settings.deadline) return undefined;
  return { type: 'retry', wait, withoutReasoning: last.withoutReasoning };
}

function readRequestedWait({ error }: Attempt): number | undefined {
  const retryAfter = error?.details.retryAfter;
  return retryAfter === undefined ? undefined : retryAfter * 1000;
}

/** The random part spreads calls that failed together. */
function computeWait(
  tries: number,
  last: Attempt,
  random: number,
  { base, longestWait }: RetrySettings,
): number {
  const requested = readRequestedWait(last);
  if (requested !== undefined) return requested + (random * base) / 2;
  return Math.min(base * 2 ** (tries - 1), longestWait) * (1 - random / 2);
}

/** Whether the client's retry may succeed: nothing was retried here, or the wait asked for is longer. */
function mayHelpLater({ attempts }: History, last: Attempt, { longestWait }: RetrySettings): boolean {
  if ((readRequestedWait(last) ?? 0) > longestWait) return true;
  const kind = classifyAttempt(last);
  return attempts.length === 1 && (kind === 'transient' || kind === 'silence');
}

/**
 * Targets not tried yet. Another key does not help if the provider itself fails or is silent for this model,
 * and no model helps whose context is not larger than one that was too small.
 */
function listTargetsLeft({ targets, attempts }: History): readonly Target[] {
  const tooSmall = attempts
    .filter((attempt) => classifyAttempt(attempt) === 'overflow')
    .reduce((most, { target }) => Math.max(most, target.model.contextLength), 0);
  return targets.filter((target) => {
    if (target.model.contextLength <= tooSmall) return false;
    if (attempts.some((attempt) => attempt.target === target)) return false;
    const latest = attempts.findLast((attempt) => isSameRoute(attempt.target, target));
    return !latest || !failsForAllKeys.has(classifyAttempt(latest));
  });
}

const failsForAllKeys: ReadonlySet<ReturnType<typeof classifyFailure>> = new Set(['transient', 'silence']);

function isSameRoute(first: Target, second: Target): boolean {
  return first.provider.name === second.provider.name && first.model.id === second.model.id;
}
