/** A running attempt: its record for routing plugins, its timeouts, and the means to stop it. */
import { Tally } from './billing/reply-progress.ts';
import type { Core } from './core.ts';
import type { GatewayError } from './errors.ts';
import { advance, type Attempt, type Grant, type Planned, type Routed, type Target } from './exchange.ts';
import type { Next } from './retries/next-attempt.ts';
import { Drain } from './upstream/drain.ts';
import { Cancellation } from './util/cancellation.ts';
import { setDeadline } from './util/deadlines.ts';

export interface RunningAttempt {
  readonly routed: Routed;
  readonly tally: Tally;
  /**
   * Call it at the first event of the reply. The timeout to the first output starts. Later calls do nothing.
   */
  opened(): void;
  /** Call it at the first output. No timeout runs from then on. */
  begun(): void;
  /** Call it at the end of the attempt. It also ends draining. */
  ended(error: GatewayError | undefined): void;
  /** Closes the connection to the provider at once. */
  stop(): void;
  /** Set while a reply is drained: the client is gone and the provider bills the whole reply. */
  drain(): Drain | undefined;
}

/**
 * A class, because an accessor in an object literal gives each object a hidden class of its own in V8, which
 * slows every read.
 */
export class Run implements Attempt {
  readonly target: Target;
  readonly isRetry: boolean;
  readonly withoutReasoning: boolean;
  readonly number: number;
  readonly cancellation: Cancellation;
  readonly startedAt = performance.now();
  readonly tally = new Tally();
  phase: Attempt['phase'] = 'start';
  sent = false;
  status: number | undefined = undefined;
  losses: Attempt['losses'] = [];
  firstEventAfter: number | undefined = undefined;
  duration: number | undefined = undefined;
  error: GatewayError | undefined = undefined;

  constructor(
    { target, isRetry, withoutReasoning, number }: Next & { readonly number: number },
    cancellation: Cancellation,
  ) {
    this.target = target;
    this.isRetry = isRetry;
    this.withoutReasoning = withoutReasoning;
    this.number = number;
    this.cancellation = cancellation;
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }
}

/** Starts an attempt with its timeouts, and calls the `attempt` hook at each phase. */
export function startAttempt(
  { hooks, retries, timeoutsOf }: Pick<Core, 'hooks' | 'retries' | 'timeoutsOf'>,
  planned: Planned,
  grant: Grant,
  next: Next & { readonly number: number },
): RunningAttempt {
  const { target } = next;
  const timeouts = timeoutsOf(planned, target);
  const cancellation = new Cancellation();
  const stop = (): void => cancellation.cancel();
  let clearDeadline = setDeadline(timeouts.firstEvent, stop);
  const attempt = new Run(next, cancellation);
  let drain: Drain | undefined;
  const leave = (): void => {
    const { onAbort, name } = target.provider;
    if (onAbort && attempt.sent && planned.cancellation.left) drain = Drain.begin(name, onAbort, stop);
    if (!drain) stop();
  };
  const release = planned.cancellation.onCancel(leave);
  const routed = advance(planned, { grant, attempt });
  const enter = (phase: Attempt['phase']): void => {
    attempt.phase = phase;
    retries.note(attempt);
    hooks.attempt.call(attempt, routed);
  };
  enter('start');
  return {
    routed,
    tally: attempt.tally,
    stop,
    drain: () => drain,
    opened() {
      if (attempt.phase !== 'start') return;
      clearDeadline();
      attempt.firstEventAfter = performance.now() - attempt.startedAt;
      clearDeadline = setDeadline(
        Math.max(timeouts.firstEvent, timeouts.opening) - attempt.firstEventAfter,
        stop,
      );
      enter('first-event');
    },
    begun() {
      this.opened();
      clearDeadline();
    },
    ended(error) {
      clearDeadline();
      release();
      drain?.end();
      attempt.duration = performance.now() - attempt.startedAt;
      attempt.error = error;
      enter('end');
    },
  };
}
