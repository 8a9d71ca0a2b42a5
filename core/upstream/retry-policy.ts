/**
 * Decides what follows a failed attempt: a retry at the same target after a wait, the next target, or the
 * end. It is a pure function of the history, so that tests can try every history.
 */
import { z } from 'zod';
import type { Attempt, Target } from '../exchange.ts';
import { longestDeadline } from '../util/timeouts.ts';
import { classifyFailure } from './failures.ts';

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
  /**
   * Seconds before the second attempt at a target. Each later wait is twice as long, minus up to half at
   * random.
   */
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

/**
 * True if a retry by the client may succeed: nothing was retried here, or the provider asked for a longer
 * wait.
 */
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
