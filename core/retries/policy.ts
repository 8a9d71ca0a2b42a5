/**
 * What follows a failed attempt: another attempt at the same target after a wait, the next target, or the end. A pure
 * decision from what has happened so far, so that tests can try every history.
 */
import { z } from 'zod';
import type { Attempt, Target } from '../exchange.ts';
import { failureKind } from '../upstream/failures.ts';
import { longestDeadline } from '../util/deadlines.ts';

const seconds = (fallback: number) =>
  z
    .number()
    .nonnegative()
    .max(longestDeadline)
    .default(fallback)
    .transform((value) => value * 1000);

export const retriesSchema = z.strictObject({
  /** Attempts at one target at most; two while another target is left. With 1, no target is tried twice. */
  attempts: z.int().min(1).max(10).default(3),
  /** Seconds before the second attempt at a target; each later wait is twice as long. Up to half of it is left off at random. */
  base: seconds(0.5),
  /** Seconds that a call waits at most before one attempt, also where the vendor asks for more. */
  longestWait: seconds(10),
  /** Seconds since a call's arrival after which no target is tried again. */
  deadline: seconds(60),
  /** How often calls may be sent again to targets that do not do well, for each call there is; ten times in ten seconds at least. */
  share: z.number().min(0).max(10).default(0.2),
});

/** Times are in milliseconds. */
export type RetrySettings = z.output<typeof retriesSchema>;

export interface History {
  /** Where the call may go, in the order to try. */
  readonly targets: readonly Target[];
  /** The attempts so far. The last has just failed. */
  readonly attempts: readonly Attempt[];
  /** Milliseconds since the call arrived. */
  readonly elapsed: number;
  /** Whether the budget allows another attempt at a target that fails. */
  readonly hasBudget: boolean;
  /** From 0 to 1. */
  readonly random: number;
}

export type Step =
  | { readonly type: 'retry'; readonly wait: number; readonly withoutReasoning: boolean }
  | { readonly type: 'next'; readonly targets: readonly Target[] }
  /** `isFinal`: the client cannot do better by sending the call again. */
  | { readonly type: 'stop'; readonly isFinal: boolean };

/** Attempts at one target while another is left. */
const attemptsBeforeNext = 2;

/** Milliseconds that a vendor may ask for while another target is left: with a longer wait the next target is quicker. */
const longestWaitBeforeNext = 1000;

export function decide(history: History, settings: RetrySettings): Step {
  const last = history.attempts.at(-1);
  if (!last) return { type: 'stop', isFinal: false };
  const kind = kindOf(last);
  if (kind === 'request') return { type: 'stop', isFinal: false };
  if (kind === 'picture') return { type: 'stop', isFinal: true };
  if (kind === 'seal')
    return last.withoutReasoning
      ? { type: 'stop', isFinal: false }
      : { type: 'retry', wait: 0, withoutReasoning: true };
  const left = targetsLeft(history);
  const retry =
    kind === 'transient' || (kind === 'limit' && left.length === 0)
      ? retryOf(history, last, left, settings)
      : undefined;
  if (retry) return retry;
  if (left.length > 0) return { type: 'next', targets: left };
  return { type: 'stop', isFinal: kind !== 'limit' && !mayHelpLater(history, last, settings) };
}

function kindOf(attempt: Attempt): ReturnType<typeof failureKind> {
  return attempt.error ? failureKind(attempt.error, attempt) : 'request';
}

function retryOf(
  { attempts, elapsed, hasBudget, random }: History,
  last: Attempt,
  left: readonly Target[],
  settings: RetrySettings,
): Step | undefined {
  const tries = attempts.filter(
    ({ target, error }) => target === last.target && error?.details.rejects !== 'reasoning',
  ).length;
  const most = left.length > 0 ? Math.min(settings.attempts, attemptsBeforeNext) : settings.attempts;
  const longest =
    left.length > 0 ? Math.min(settings.longestWait, longestWaitBeforeNext) : settings.longestWait;
  if (tries >= most || !hasBudget || (toldWait(last) ?? 0) > longest) return undefined;
  const wait = waitBefore(tries, last, random, settings);
  if (elapsed + wait > settings.deadline) return undefined;
  return { type: 'retry', wait, withoutReasoning: last.withoutReasoning };
}

/** What the vendor asked for, in milliseconds. */
function toldWait({ error }: Attempt): number | undefined {
  const told = error?.details.retryAfter;
  return told === undefined ? undefined : told * 1000;
}

/** A random part keeps calls that failed together from coming back together. */
function waitBefore(
  tries: number,
  last: Attempt,
  random: number,
  { base, longestWait }: RetrySettings,
): number {
  const told = toldWait(last);
  if (told !== undefined) return told + (random * base) / 2;
  return Math.min(base * 2 ** (tries - 1), longestWait) * (1 - random / 2);
}

/** Whether the client may have more luck than this call had: nothing was tried again, or the vendor asked for a longer wait. */
function mayHelpLater(
  { attempts, hasBudget }: History,
  last: Attempt,
  { longestWait }: RetrySettings,
): boolean {
  if ((toldWait(last) ?? 0) > longestWait) return true;
  return attempts.length === 1 && hasBudget && kindOf(last) === 'transient';
}

/** Targets that were not tried. Another key does not help where the provider itself fails or is silent for this model. */
function targetsLeft({ targets, attempts }: History): readonly Target[] {
  return targets.filter((target) => {
    if (attempts.some((attempt) => attempt.target === target)) return false;
    const latest = attempts.findLast((attempt) => isSameRoute(attempt.target, target));
    return !latest || !failsForAllKeys.has(kindOf(latest));
  });
}

const failsForAllKeys: ReadonlySet<ReturnType<typeof failureKind>> = new Set(['transient', 'silence']);

function isSameRoute(first: Target, second: Target): boolean {
  return first.provider.name === second.provider.name && first.model.id === second.model.id;
}
