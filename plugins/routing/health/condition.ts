/**
 * How one target does: a circuit that opens when too many of its last calls failed, and then lets one call through
 * from time to time to see; and a rest that the vendor asked for. What it is told comes from calls alone, nobody is
 * asked on purpose.
 */
import { circuitBreaker, CircuitState, CountBreaker, handleWhen, type CircuitBreakerPolicy } from 'cockatiel';
import { GatewayError, isGatewayError } from '../../../core/index.ts';

/** What is told of a call that was let in, once: `undefined`, or why it failed. */
export type Report = (failure: GatewayError | undefined) => void;

/** More than two of five of the last calls, of at least five. */
const tolerated = { threshold: 0.4, size: 20, minimumNumberOfCalls: 5 };

function gone(): GatewayError {
  return new GatewayError('client_gone', 'The client left before the reply was complete.');
}

export class Condition {
  readonly #circuit: CircuitBreakerPolicy;
  readonly #pause: number;
  /** When a circuit that is open lets the next call through. */
  #probeAt = 0;
  /** When the next call may be routed here to see, though there are others to ask. */
  #nextLook = 0;
  #rest: { readonly until: number; readonly reason: GatewayError } | undefined;
  /** Settles with the first news of a target that nobody knew. */
  #news: PromiseWithResolvers<void> | undefined;
  /** Whether its last call went well; undefined before there was one. */
  lastWell: boolean | undefined;

  /** `pause`: milliseconds an open circuit stays shut; `onChange` is told when it opens and closes. */
  constructor(pause: number, onChange: (open: boolean) => void) {
    this.#pause = pause;
    // A client that leaves tells nothing, unless it was the one who was to see.
    const handled = handleWhen((error) => !isGatewayError(error) || error.code !== 'client_gone' || this.#circuit.state === CircuitState.HalfOpen);
    this.#circuit = circuitBreaker(handled, { halfOpenAfter: pause, breaker: new CountBreaker(tolerated) });
    this.#circuit.onBreak(() => {
      if (this.#probeAt === 0) onChange(true);
      this.#probeAt = Date.now() + this.#pause;
    });
    this.#circuit.onReset(() => {
      this.#probeAt = 0;
      onChange(false);
    });
  }

  /** Whether a call should be sent here while there are others to send it to; of an open circuit, to one call in each pause. */
  isWell(now: number): boolean {
    if (this.#rest && now < this.#rest.until) return false;
    const { state } = this.#circuit;
    if (state === CircuitState.Closed) return true;
    if (state !== CircuitState.Open || now < Math.max(this.#probeAt, this.#nextLook)) return false;
    this.#nextLook = now + this.#pause;
    return true;
  }

  /** Takes no call for so many milliseconds; whoever comes is told the reason. */
  rest(milliseconds: number, reason: GatewayError): void {
    this.#rest = { until: Date.now() + milliseconds, reason };
  }

  /** Resolves with the first news of a target that somebody has asked and nobody knows; undefined where it is known, or nobody asked. */
  news(): Promise<void> | undefined {
    return this.lastWell === undefined ? this.#news?.promise : undefined;
  }

  /** `undefined`: whoever asked has left, and somebody else has to. */
  heard(well: boolean | undefined): void {
    this.lastWell = well ?? this.lastWell;
    this.#news?.resolve();
    this.#news = undefined;
  }

  /** Throws where the target rests or its circuit is open. */
  check(): void {
    const now = Date.now();
    if (this.#rest && now < this.#rest.until) throw resting(this.#rest.reason, this.#rest.until - now);
    if (this.#circuit.state === CircuitState.Open && now < this.#probeAt) throw shut(this.#probeAt - now);
  }

  /** Lets a call in. Where another one is just seeing, it waits for what that one finds, and throws where that is nothing good. */
  async enter(signal: () => AbortSignal): Promise<Report> {
    if (this.lastWell === undefined) this.#news ??= Promise.withResolvers();
    if (this.#circuit.state === CircuitState.Closed) return this.#admit();
    const aborted = signal();
    const admitted = this.#admit(aborted);
    // It is let in for nobody, and says so itself.
    admitted.catch(() => undefined);
    return Promise.race([admitted, abortOf(aborted)]);
  }

  /** Tells of a call that was cut after it had gone well so far. */
  fail(failure: GatewayError): void {
    void this.#circuit.execute(() => Promise.reject(failure)).catch(() => undefined);
  }

  #admit(signal?: AbortSignal): Promise<Report> {
    return new Promise((resolve, reject) => {
      const call = (): Promise<void> => {
        if (signal?.aborted) throw gone();
        const outcome = Promise.withResolvers<void>();
        resolve((failure) => (failure ? outcome.reject(failure) : outcome.resolve()));
        return outcome.promise;
      };
      this.#circuit.execute(call).catch((error: unknown) => reject(isGatewayError(error) ? error : shut(this.#probeAt - Date.now())));
    });
  }
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(gone()), { once: true }));
}

function secondsOf(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000));
}

function resting({ code, message }: GatewayError, left: number): GatewayError {
  return new GatewayError(code, message, { retryAfter: secondsOf(left) });
}

function shut(left: number): GatewayError {
  return new GatewayError('upstream_overloaded', 'The provider failed too often of late and is not asked for the moment.', { retryAfter: secondsOf(left) });
}
