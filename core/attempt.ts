/** One attempt while it runs: its record as routing plugins see it, its deadline, and the means to stop it. */
import { Cancellation } from './cancellation.ts';
import { setDeadline } from './deadlines.ts';
import { Drain } from './drain.ts';
import type { GatewayError } from './errors.ts';
import { advance, type Attempt, type Grant, type Planned, type Routed, type Target } from './exchange.ts';
import type { CoreHooks } from './hooks.ts';
import { Tally } from './tally.ts';

export interface RunningAttempt {
  readonly routed: Routed;
  readonly tally: Tally;
  /** To be called when the first event has come before its deadline: it has another to its first output. Further calls change nothing. */
  opened(): void;
  /** To be called when there is output: it has no deadline any more. */
  begun(): void;
  /** To be called when the attempt is over; also ends a drain. */
  ended(error: GatewayError | undefined): void;
  /** Closes the connection to the vendor at once. */
  stop(): void;
  /** Set where the client has left and the vendor's reply is read on all the same. */
  drain(): Drain | undefined;
}

/** A class and not a literal: an accessor in a literal gives every object a hidden class of its own, which makes all code that reads them slow. */
class Run implements Attempt {
  readonly target: Target;
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

  constructor(target: Target, number: number, cancellation: Cancellation) {
    this.target = target;
    this.number = number;
    this.cancellation = cancellation;
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }
}

/** Milliseconds from an attempt's start. */
export interface AttemptDeadlines {
  /** To the first event. */
  readonly first: number;
  /** To the first output: what only opens a stream may not go on for ever. */
  readonly opening: number;
}

/** Starts an attempt that has these deadlines, and tells the `attempt` hook of each phase. */
export function startAttempt(hooks: CoreHooks, planned: Planned, grant: Grant, target: Target, number: number, deadlines: AttemptDeadlines): RunningAttempt {
  const cancellation = new Cancellation();
  const stop = (): void => cancellation.cancel();
  let clearDeadline = setDeadline(deadlines.first, stop);
  const attempt = new Run(target, number, cancellation);
  let drain: Drain | undefined;
  const leave = (): void => {
    const { onAbort, name } = target.provider;
    if (onAbort && attempt.sent && planned.cancellation.left) drain = Drain.begin(name, onAbort, stop);
    if (!drain) stop();
  };
  const release = planned.cancellation.onCancel(leave);
  const routed = advance(planned, { grant, attempt });
  hooks.attempt.call(attempt, routed);
  return {
    routed,
    tally: attempt.tally,
    stop,
    drain: () => drain,
    opened() {
      if (attempt.phase !== 'start') return;
      clearDeadline();
      attempt.phase = 'first-event';
      attempt.firstEventAfter = performance.now() - attempt.startedAt;
      clearDeadline = setDeadline(Math.max(deadlines.first, deadlines.opening) - attempt.firstEventAfter, stop);
      hooks.attempt.call(attempt, routed);
    },
    begun() {
      this.opened();
      clearDeadline();
    },
    ended(error) {
      clearDeadline();
      release();
      drain?.end();
      attempt.phase = 'end';
      attempt.duration = performance.now() - attempt.startedAt;
      attempt.error = error;
      hooks.attempt.call(attempt, routed);
    },
  };
}
