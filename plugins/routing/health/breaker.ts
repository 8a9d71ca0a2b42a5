/**
 * How well one target works, judged by its calls: no request is sent just to check. Its circuit opens when
 * too many of its last calls failed; then it lets one call through after each pause, as a test. A target also
 * rests for as long as the vendor asks.
 */
import { GatewayError } from '../../../core/index.ts';

/** Called once for each call that was let in: with its failure, or with `undefined` if it went well. */
export type Report = (failure: GatewayError | undefined) => void;

export type Change = 'opens' | 'stays open' | 'closes';

/**
 * The circuit opens when more than this share of the remembered calls failed, and there are at least
 * `leastCalls`.
 */
const toleratedShare = 0.4;
const leastCalls = 5;
const remembered = 20;

/** Whether it is within a pause. The clock may have jumped to before it, and then the pause is over. */
function isWithin(pause: { readonly from: number; readonly until: number }, now: number): boolean {
  return now >= pause.from && now < pause.until;
}

export class Condition {
  readonly #pause: number;
  readonly #onChange: (change: Change) => void;
  /** The last calls: true for each that failed. */
  #recent: boolean[] = [];
  #circuit: 'closed' | 'open' | 'testing' = 'closed';
  /** While the open circuit lets no call through. */
  #closure = { from: 0, until: 0 };
  /** While no call is routed here as a test if other targets can be asked. */
  #afterLook = { from: 0, until: 0 };
  #rest: { readonly from: number; readonly until: number; readonly reason: GatewayError } | undefined;

  /**
   * `pause` is how many milliseconds an open circuit refuses calls. `onChange` is called when it opens, when
   * it stays open for another pause, and when it closes.
   */
  constructor(pause: number, onChange: (change: Change) => void) {
    this.#pause = pause;
    this.#onChange = onChange;
  }

  /**
   * Whether a call should be sent here although there are other targets. If the circuit is open, this is true
   * for one call in each pause.
   */
  isWell(now: number): boolean {
    if (this.#rest && isWithin(this.#rest, now)) return false;
    if (this.#circuit === 'closed') return true;
    if (!this.#takesCalls(now) || isWithin(this.#afterLook, now)) return false;
    this.#afterLook = { from: now, until: now + this.#pause };
    return true;
  }

  /** Refuses calls for so many milliseconds, with this reason. */
  startRest(milliseconds: number, reason: GatewayError): void {
    const from = Date.now();
    this.#rest = { from, until: from + milliseconds, reason };
  }

  /** Ends the rest early, because the target answered a call. */
  endRest(): void {
    this.#rest = undefined;
  }

  /** Ends the rest and closes the circuit, because an operator says that the target works. */
  wake(): void {
    this.#rest = undefined;
    if (this.#circuit !== 'closed') this.#close();
  }

  /** Whether the target gets calls now, until when not, and why. */
  get state(): { name: 'well' | 'resting' | 'failing' | 'testing'; until?: number; reason?: GatewayError } {
    if (this.#rest && isWithin(this.#rest, Date.now()))
      return { name: 'resting', until: this.#rest.until, reason: this.#rest.reason };
    if (this.#circuit === 'closed') return { name: 'well' };
    return this.#circuit === 'testing'
      ? { name: 'testing' }
      : { name: 'failing', until: this.#closure.until };
  }

  /** Throws if the target rests or its circuit is open. */
  check(): void {
    const now = Date.now();
    if (this.#rest && isWithin(this.#rest, now))
      throw buildRestError(this.#rest.reason, this.#rest.until - now);
    if (!this.#takesCalls(now)) throw buildCircuitError(this.#closure.until - now);
  }

  /**
   * Lets a call in and returns the function that reports how it went. Undefined if the call does not count:
   * the circuit is open, and another call is testing it.
   */
  enter(): Report | undefined {
    if (this.#circuit === 'closed') return this.#report;
    if (!this.#takesCalls(Date.now())) return undefined;
    this.#circuit = 'testing';
    return this.#reportTest;
  }

  /** Records a failure. It also counts if the call had gone well before it was cut. */
  fail(failure: GatewayError): void {
    // A client that disconnects says nothing about the target.
    if (failure.code === 'client_gone') return;
    if (this.#circuit === 'closed') {
      this.#remember(true);
      const { length } = this.#recent;
      if (length >= leastCalls && this.#recent.filter(Boolean).length > toleratedShare * length)
        this.#open('opens');
    } else if (this.#takesCalls(Date.now())) this.#open('stays open');
  }

  /** The report of a call that found the circuit closed. */
  readonly #report: Report = (failure) => {
    if (failure) this.fail(failure);
    else if (this.#circuit === 'closed') this.#remember(false);
  };

  /**
   * The report of the call that tests an open circuit. The test also fails if its client disconnects: it has
   * to end.
   */
  readonly #reportTest: Report = (failure) => {
    if (failure) return this.#open('stays open');
    this.#close();
    this.#remember(false);
  };

  #remember(failed: boolean): void {
    this.#recent.push(failed);
    if (this.#recent.length > remembered) this.#recent.shift();
  }

  #close(): void {
    this.#circuit = 'closed';
    this.#recent = [];
    this.#onChange('closes');
  }

  #open(change: Change): void {
    this.#circuit = 'open';
    const from = Date.now();
    this.#closure = { from, until: from + this.#pause };
    this.#onChange(change);
  }

  #takesCalls(now: number): boolean {
    return this.#circuit === 'closed' || (this.#circuit === 'open' && !isWithin(this.#closure, now));
  }
}

function toSeconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000));
}

function buildRestError({ code, message }: GatewayError, left: number): GatewayError {
  // The vendor's message was about the call that reached the limit.
  const text =
    code === 'rate_limited' ? 'The provider takes no more calls at the moment; try again later.' : message;
  return new GatewayError(code, text, { retryAfter: toSeconds(left) });
}

/** The error of a call that an open circuit refuses for `left` more milliseconds. */
export function buildCircuitError(left: number): GatewayError {
  return new GatewayError(
    'upstream_overloaded',
    'The provider has failed too often recently; the gateway does not call it at the moment.',
    { retryAfter: toSeconds(left) },
  );
}
