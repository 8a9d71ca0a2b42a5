/** One attempt while it runs: its record as routing plugins see it, its deadline, and the means to stop it. */
import { Cancellation } from './cancellation.ts';
import type { GatewayError } from './errors.ts';
import { advance, type Attempt, type Grant, type Planned, type Routed, type Target } from './exchange.ts';
import type { CoreHooks } from './hooks.ts';

export interface RunningAttempt {
  readonly routed: Routed;
  /** The reply began: the deadline for its first event is met. */
  begun(): void;
  /** The attempt is over; lets go of the vendor if it still sends. */
  ended(error: GatewayError | undefined): void;
  /** Closes the connection to the vendor at once. */
  stop(): void;
}

/** Starts an attempt that has `deadline` milliseconds to its first event, and tells the `attempt` hook of each phase. */
export function startAttempt(hooks: CoreHooks, planned: Planned, grant: Grant, target: Target, number: number, deadline: number): RunningAttempt {
  const cancellation = new Cancellation();
  const stop = (): void => cancellation.cancel();
  const timer = setTimeout(stop, deadline);
  const startedAt = performance.now();
  const release = planned.cancellation.onCancel(stop);
  const attempt: Attempt = {
    target, number, startedAt, cancellation,
    get signal() {
      return cancellation.signal;
    },
    phase: 'start',
    sent: false,
    firstEventAfter: undefined,
    duration: undefined,
    error: undefined,
  };
  const routed = advance(planned, { grant, attempt });
  hooks.attempt.call(attempt, routed);
  return {
    routed,
    stop,
    begun() {
      clearTimeout(timer);
      attempt.phase = 'first-event';
      attempt.firstEventAfter = performance.now() - startedAt;
      hooks.attempt.call(attempt, routed);
    },
    ended(error) {
      clearTimeout(timer);
      release();
      attempt.phase = 'end';
      attempt.duration = performance.now() - startedAt;
      attempt.error = error;
      hooks.attempt.call(attempt, routed);
    },
  };
}
