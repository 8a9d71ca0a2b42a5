/**
 * How well one target works. Its circuit opens when too many of its last calls failed; from then on it lets one call
 * through from time to time as a test. It also rests for as long as the vendor asks. All of this is learnt from calls:
 * no request is sent just to check.
 */
import { circuitBreaker, CircuitState, CountBreaker, handleWhen, type CircuitBreakerPolicy } from 'cockatiel';
import { GatewayError, isGatewayError } from '../../../core/index.ts';

/** Called once for each call that was let in: with `undefined` where it went well, or with its failure. */
export type Report = (failure: GatewayError | undefined) => void;

export type Change = 'opens' | 'stays open' | 'closes';

/** The circuit opens when more than two in five of the last calls failed, and there were at least five. */
const tolerated = { threshold: 0.4, size: 20, minimumNumberOfCalls: 5 };

export class Condition {
  readonly #circuit: CircuitBreakerPolicy;
  readonly #count = new CountBreaker(tolerated);
  readonly #pause: number;
  /** A copy of the circuit's state, which is read for every target of every call. */
  #isClosed = true;
  /** When the open circuit lets the next call through. */
  #probeAt = 0;
  /** When the next call may be routed here as a test, although other targets could be asked. */
  #nextLook = 0;
  #rest: { readonly until: number; readonly reason: GatewayError } | undefined;

  /** The report of a call that found the circuit closed. Success is counted here directly, since the policy would make half a dozen promises for it. */
  readonly #tell: Report = (failure) => {
    if (failure) this.fail(failure);
    else if (this.#isClosed) this.#count.success(CircuitState.Closed);
  };

  /**
   * `pause` is how many milliseconds an open circuit stays shut. `onChange` is called when it opens, when it stays open
   * for another pause, and when it closes.
   */
  constructor(pause: number, onChange: (change: Change) => void) {
    this.#pause = pause;
    // When a client leaves, that says nothing about the target. But if its call was the circuit's test, the test has to end.
    const handled = handleWhen(
      (error) =>
        !isGatewayError(error) ||
        error.code !== 'client_gone' ||
        this.#circuit.state === CircuitState.HalfOpen,
    );
    this.#circuit = circuitBreaker(handled, { halfOpenAfter: pause, breaker: this.#count });
    this.#circuit.onBreak(() => {
      this.#isClosed = false;
      onChange(this.#probeAt === 0 ? 'opens' : 'stays open');
      this.#probeAt = Date.now() + this.#pause;
    });
    this.#circuit.onReset(() => {
      this.#isClosed = true;
      this.#probeAt = 0;
      onChange('closes');
    });
  }

  /** Whether a call should be sent here although there are other targets. If the circuit is open, this is true for one call in each pause. */
  isWell(now: number): boolean {
    if (this.#rest && now < this.#rest.until) return false;
    if (this.#isClosed) return true;
    if (this.#circuit.state !== CircuitState.Open || now < Math.max(this.#probeAt, this.#nextLook))
      return false;
    this.#nextLook = now + this.#pause;
    return true;
  }

  /** Refuses calls for so many milliseconds, with this reason. */
  rest(milliseconds: number, reason: GatewayError): void {
    this.#rest = { until: Date.now() + milliseconds, reason };
  }

  /** It answered a call, whatever it asked for before. */
  endRest(): void {
    this.#rest = undefined;
  }

  /** Throws where the target rests, or its circuit is open. */
  check(): void {
    const now = Date.now();
    if (this.#rest && now < this.#rest.until) throw resting(this.#rest.reason, this.#rest.until - now);
    if (!this.#takesCalls(now)) throw shut(this.#probeAt - now);
  }

  /**
   * Lets a call in and returns the function that reports how it went. Undefined where the call does not count: the
   * circuit is open, and another call is testing it.
   */
  enter(): Report | undefined {
    if (this.#isClosed) return this.#tell;
    if (!this.#takesCalls(Date.now())) return undefined;
    let report: Report | undefined;
    const call = (): Promise<void> => {
      const outcome = Promise.withResolvers<void>();
      report = (failure) => (failure ? outcome.reject(failure) : outcome.resolve());
      return outcome.promise;
    };
    // If the circuit lets the call in, `execute` runs it before it returns.
    void this.#circuit.execute(call).catch(() => undefined);
    return report;
  }

  /** Records the failure of a call that had gone well so far and was then cut. */
  fail(failure: GatewayError): void {
    void this.#circuit.execute(() => Promise.reject(failure)).catch(() => undefined);
  }

  #takesCalls(now: number): boolean {
    const { state } = this.#circuit;
    return state === CircuitState.Closed || (state === CircuitState.Open && now >= this.#probeAt);
  }
}

function secondsOf(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000));
}

function resting({ code, message }: GatewayError, left: number): GatewayError {
  // The vendor's words were for the call that found it full.
  const told =
    code === 'rate_limited' ? 'The provider takes no more calls at the moment; try again later.' : message;
  return new GatewayError(code, told, { retryAfter: secondsOf(left) });
}

export function shut(left: number): GatewayError {
  return new GatewayError(
    'upstream_overloaded',
    'The provider failed too often of late and is not asked for the moment.',
    { retryAfter: secondsOf(left) },
  );
}
