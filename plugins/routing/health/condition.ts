/**
 * How one target does: a circuit that opens when too many of its last calls failed, and then lets one call through
 * from time to time to see; and a rest that the vendor asked for. What it is told comes from calls alone, nobody is
 * asked on purpose.
 */
import { circuitBreaker, CircuitState, CountBreaker, handleWhen, type CircuitBreakerPolicy } from 'cockatiel';
import { GatewayError, isGatewayError } from '../../../core/index.ts';

/** What is told of a call that was let in, once: `undefined`, or why it failed. */
export type Report = (failure: GatewayError | undefined) => void;

export type Change = 'opens' | 'stays open' | 'closes';

/** More than two of five of the last calls, of at least five. */
const tolerated = { threshold: 0.4, size: 20, minimumNumberOfCalls: 5 };

/** The weight of the last call, and the share of calls that has to go well. */
const newest = 0.2;
const reliable = 0.9;

export class Condition {
  readonly #circuit: CircuitBreakerPolicy;
  readonly #count = new CountBreaker(tolerated);
  readonly #pause: number;
  /** The circuit's own state, kept here since it is read for every target of every call. */
  #isClosed = true;
  /** When a circuit that is open lets the next call through. */
  #probeAt = 0;
  /** When the next call may be routed here to see, though there are others to ask. */
  #nextLook = 0;
  #rest: { readonly until: number; readonly reason: GatewayError } | undefined;
  /** Settles with the first news of a target that nobody knew. */
  #news: PromiseWithResolvers<void> | undefined;
  /** Of its last calls, the share that went well, the latest counting most; undefined before there was one. */
  #share: number | undefined;

  /** How a call ended that met a closed circuit. A success is counted here, since the policy would make half a dozen promises for it. */
  readonly #tell: Report = (failure) => {
    if (failure) this.fail(failure);
    else if (this.#isClosed) this.#count.success(CircuitState.Closed);
  };

  /** `pause`: milliseconds an open circuit stays shut; `onChange` is told when it opens, when it stays open for another pause, and when it closes. */
  constructor(pause: number, onChange: (change: Change) => void) {
    this.#pause = pause;
    // A client that leaves says nothing of the target, unless its call was the one to test it.
    const handled = handleWhen((error) => !isGatewayError(error) || error.code !== 'client_gone' || this.#circuit.state === CircuitState.HalfOpen);
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

  /** Whether a call should be sent here while there are others to send it to; of an open circuit, to one call in each pause. */
  isWell(now: number): boolean {
    if (this.#rest && now < this.#rest.until) return false;
    if (this.#isClosed) return true;
    if (this.#circuit.state !== CircuitState.Open || now < Math.max(this.#probeAt, this.#nextLook)) return false;
    this.#nextLook = now + this.#pause;
    return true;
  }

  /** Takes no call for so many milliseconds; whoever comes is told the reason. */
  rest(milliseconds: number, reason: GatewayError): void {
    this.#rest = { until: Date.now() + milliseconds, reason };
  }

  /** Resolves with the first news of a target that somebody has asked and nobody knows; undefined where it is known, or nobody asked. */
  news(): Promise<void> | undefined {
    return this.#share === undefined ? this.#news?.promise : undefined;
  }

  /** Whether hardly any of its last calls failed. */
  get doesWell(): boolean {
    return this.#share !== undefined && this.#share >= reliable;
  }

  /** Passed `undefined` where the client of the first call has left: another call has to find out. */
  heard(well: boolean | undefined): void {
    if (well !== undefined) this.#share = this.#share === undefined ? Number(well) : this.#share * (1 - newest) + Number(well) * newest;
    if (well) this.#rest = undefined;
    this.#news?.resolve();
    this.#news = undefined;
  }

  /** Throws where the target rests or its circuit is open. */
  check(): void {
    const now = Date.now();
    if (this.#rest && now < this.#rest.until) throw resting(this.#rest.reason, this.#rest.until - now);
    if (!this.#takesCalls(now)) throw shut(this.#probeAt - now);
  }

  /** Lets a call in; the answer is a function to be told how it went. Undefined where the call does not count: the circuit is open, and another call is testing it. */
  enter(): Report | undefined {
    if (this.#share === undefined) this.#news ??= Promise.withResolvers();
    if (this.#isClosed) return this.#tell;
    if (!this.#takesCalls(Date.now())) return undefined;
    let report: Report | undefined;
    const call = (): Promise<void> => {
      const outcome = Promise.withResolvers<void>();
      report = (failure) => (failure ? outcome.reject(failure) : outcome.resolve());
      return outcome.promise;
    };
    // A circuit that lets a call in runs it before `execute` returns.
    void this.#circuit.execute(call).catch(() => undefined);
    return report;
  }

  /** Tells of a call that was cut after it had gone well so far. */
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
  return new GatewayError(code, message, { retryAfter: secondsOf(left) });
}

export function shut(left: number): GatewayError {
  return new GatewayError('upstream_overloaded', 'The provider failed too often of late and is not asked for the moment.', { retryAfter: secondsOf(left) });
}
