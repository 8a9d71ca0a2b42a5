/** A running attempt: its record for routing plugins, its timeouts, and the means to stop it. */
import type { Core } from './core.ts';
import { toText, type Piece, type Pieces } from './crossing/pieces.ts';
import { advance, type Attempt, type Grant, type Planned, type Routed, type Target } from './exchange.ts';
import type { ReplyMemory } from './http/reply-memory.ts';
import type { Loss } from './loss.ts';
import type { DrainLimits } from './provider.ts';
import { Tally } from './tally.ts';
import type { AttemptTimeouts } from './upstream/attempt-timeouts.ts';
import type { Next } from './upstream/retries.ts';
import { Cancellation } from './util/cancellation.ts';
import { GatewayError } from './util/errors.ts';
import { setDeadline } from './util/timeouts.ts';

/** Replies that are being drained, by provider. */
const draining = new Map<string, number>();

type Drain = NonNullable<ReturnType<typeof beginDrain>>;

/**
 * Limits draining: reading a reply to its end after the client has disconnected, for the usage at its end. It
 * pays only with providers that bill the whole reply. Beyond the limits `stop` closes the connection. Returns
 * undefined if `atOnce` replies are being drained already.
 */
function beginDrain(provider: string, limits: DrainLimits, stop: () => void) {
  const running = draining.get(provider) ?? 0;
  if (running >= limits.atOnce) return undefined;
  draining.set(provider, running + 1);
  const clearDeadline = setDeadline(limits.seconds * 1000, stop);
  let left = limits.bytes;
  return {
    count(bytes: number): void {
      left -= bytes;
      if (left < 0) stop();
    },
    end(): void {
      clearDeadline();
      draining.set(provider, (draining.get(provider) ?? 1) - 1);
    },
  };
}

/** A class: an accessor in an object literal gives each object a hidden class, which slows every read. */
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

  constructor({ target, isRetry, withoutReasoning }: Next, number: number, cancellation: Cancellation) {
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

export interface Granted {
  readonly planned: Planned;
  readonly grant: Grant;
}

type AttemptCore = Pick<Core, 'hooks' | 'retries' | 'getTimeouts'>;

/** Starts an attempt with its timeouts, and calls the `attempt` hook at each phase. */
export class RunningAttempt {
  readonly routed: Routed;
  readonly tally: Tally;
  readonly #core: AttemptCore;
  readonly #attempt: Run;
  readonly #timeouts: AttemptTimeouts;
  #timer: NodeJS.Timeout;
  #drain: Drain | undefined;
  /** Ends the attempt of a cancelled call. */
  readonly #leave = (): void => {
    const { onAbort, name } = this.#attempt.target.provider;
    if (onAbort && this.#attempt.sent && this.routed.cancellation.clientLeft)
      this.#drain = beginDrain(name, onAbort, () => this.stop());
    if (!this.#drain) this.stop();
  };

  constructor(core: AttemptCore, { planned, grant }: Granted, next: Next, number: number) {
    this.#core = core;
    this.#timeouts = core.getTimeouts(planned, next.target);
    this.#attempt = new Run(next, number, new Cancellation());
    this.tally = this.#attempt.tally;
    this.#timer = this.#stopAfter(this.#timeouts.firstEvent);
    this.routed = advance(planned, { grant, attempt: this.#attempt });
    planned.cancellation.onCancel(this.#leave);
    this.#enter('start');
  }

  /** Set while a reply is drained: the client is gone and the provider bills the whole reply. */
  get drain(): Drain | undefined {
    return this.#drain;
  }

  stop(): void {
    this.#attempt.cancellation.cancel();
  }

  /** Starts the timeout to the first output, at the first event of the reply. Later calls do nothing. */
  noteOpening(): void {
    if (this.#attempt.phase !== 'start') return;
    const { firstEvent, opening } = this.#timeouts;
    this.#begin();
    this.#timer = this.#stopAfter(Math.max(firstEvent, opening) - (this.#attempt.firstEventAfter ?? 0));
    this.#enter('first-event');
  }

  /** Call it at the first output. No timeout runs from then on. */
  noteOutput(): void {
    if (this.#attempt.phase !== 'start') return clearTimeout(this.#timer);
    this.#begin();
    this.#enter('first-event');
  }

  /** Call it at the end of the attempt. It also ends draining. */
  end(error: GatewayError | undefined): void {
    clearTimeout(this.#timer);
    this.routed.cancellation.dropCallback(this.#leave);
    this.#drain?.end();
    this.#attempt.duration = performance.now() - this.#attempt.startedAt;
    this.#attempt.error = error;
    this.#enter('end');
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#attempt.firstEventAfter = performance.now() - this.#attempt.startedAt;
  }

  #stopAfter(milliseconds: number): NodeJS.Timeout {
    return setTimeout(stopAttempt, milliseconds, this.#attempt).unref();
  }

  #enter(phase: Attempt['phase']): void {
    this.#attempt.phase = phase;
    this.#core.retries.note(this.#attempt);
    this.#core.hooks.attempt.call(this.#attempt, this.routed);
  }
}

function stopAttempt({ cancellation }: Run): void {
  cancellation.cancel();
}

/** Characters before the first output, where OpenAI's responses repeat instructions and tools twice. */
const longestOpening = 8 * 1024 * 1024;

export interface StartedReply {
  readonly losses: readonly Loss[];
  /** Whether it is a token count that we estimated. */
  readonly estimated: boolean;
  readonly type: Piece['type'];
  readonly first: IteratorResult<Piece, void>;
  readonly pieces: Pieces;
}

/**
 * Waits for the first output of a reply. What opens a stream (its id, its model) is held back until then, so
 * that another target can still take over.
 */
export async function awaitOutput(
  running: RunningAttempt,
  memory: ReplyMemory,
  pieces: Pieces,
  facts: Pick<StartedReply, 'losses' | 'estimated'>,
): Promise<StartedReply> {
  const setOpening = memory.openSlot();
  let first = await pieces.next();
  let held = '';
  while (!first.done && first.value.opening) {
    running.noteOpening();
    held += toText(first.value);
    if (held.length > longestOpening)
      throw new GatewayError('upstream_failed', 'The provider sent too much before its first output.');
    setOpening(held.length);
    first = await pieces.next();
  }
  if (first.done) throw new GatewayError('upstream_failed', 'The provider sent no reply.');
  if (held !== '') first = { done: false, value: { ...first.value, text: held + toText(first.value) } };
  setOpening(0);
  const { type } = first.value;
  return { losses: facts.losses, estimated: facts.estimated, type, pieces, first };
}
