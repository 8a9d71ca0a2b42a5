/**
 * How well one target works, judged by its calls: no request is sent just to check. Its circuit opens when
 * too many of its last calls failed; then it lets one call through after each pause, as a test. A target also
 * rests for as long as the vendor asks.
 */
import { GatewayError } from '../../../core/index.ts';

export type Change = 'opens' | 'stays open' | 'closes';

/**
 * The circuit opens when more than this share of the remembered calls failed, and there are at least
 * `leastCalls`.
 */
const toleratedShare = 0.4;
const leastCalls = 5;
const remembered = 20;

/** A time in which no calls come, and why. */
interface Pause {
  readonly from: number;
  readonly until: number;
  readonly reason: GatewayError;
}

/** Whether it is within a pause. The clock may have jumped to before it, and then the pause is over. */
function isWithin(pause: Pick<Pause, 'from' | 'until'> | undefined, now: number): boolean {
  return pause !== undefined && now >= pause.from && now < pause.until;
}

export class Condition {
  readonly #pause: number;
  readonly #onChange: (change: Change) => void;
  /** The last calls: true for each that failed. */
  #recent: boolean[] = [];
  #circuit: 'closed' | 'open' | 'testing' = 'closed';
  /** The call that tests an open circuit. */
  #test: string | undefined;
  /** While no call is routed here as a test if other targets can be asked. */
  #afterLook = { from: 0, until: 0 };
  /** For as long as the vendor asks, and after the circuit has opened. */
  #rest: Pause | undefined;

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
    if (isWithin(this.#rest, now)) return false;
    if (this.#circuit === 'closed') return true;
    if (this.#circuit === 'testing' || isWithin(this.#afterLook, now)) return false;
    this.#afterLook = { from: now, until: now + this.#pause };
    return true;
  }

  /** Refuses calls for so many milliseconds, with this reason. */
  startRest(milliseconds: number, reason: GatewayError): void {
    const from = Date.now();
    this.#rest = { from, until: from + milliseconds, reason };
  }

  /** Ends the rest early, because the target answered a call. An open circuit waits for its test. */
  endRest(): void {
    if (this.#circuit === 'closed') this.#rest = undefined;
  }

  /** Ends the rest and closes the circuit, because an operator says that the target works. */
  wake(): void {
    if (this.#circuit !== 'closed') this.#close();
    this.endRest();
  }

  /** Whether the target gets calls now, until when not, and why. */
  describe() {
    const now = Date.now();
    if (this.#circuit === 'testing') return { state: 'testing' } as const;
    if (this.#circuit === 'open') return { state: 'failing', until: this.#rest?.until } as const;
    if (!this.#rest || !isWithin(this.#rest, now)) return { state: 'well' } as const;
    const { until, reason } = this.#rest;
    return { state: 'resting', until, reason: { code: reason.code, message: reason.message } } as const;
  }

  /** Throws if the target rests or its circuit is open. */
  check(): void {
    const now = Date.now();
    if (this.#rest && (this.#circuit === 'testing' || isWithin(this.#rest, now)))
      throw buildRestError(this.#rest.reason, this.#rest.until - now);
  }

  /**
   * Lets a call in. False if it does not count: the circuit is open, and it is too early for a test, or
   * another call is testing it.
   */
  enter(id: string): boolean {
    if (this.#circuit === 'closed') return true;
    if (!this.#isDue()) return false;
    this.#circuit = 'testing';
    this.#test = id;
    return true;
  }

  /**
   * Reads how a call went that was let in, or that failed after it had gone well. A test also fails if its
   * client disconnects: it has to end. Otherwise that says nothing about the target.
   */
  onEnd(id: string, failure: GatewayError | undefined): void {
    if (this.#circuit === 'testing' && this.#test === id) {
      if (failure) return this.#open('stays open');
      this.#close();
    }
    if (failure?.code === 'client_gone') return;
    if (this.#circuit === 'closed') this.#remember(failure !== undefined);
    else if (failure && this.#isDue()) this.#open('stays open');
  }

  #remember(failed: boolean): void {
    this.#recent.push(failed);
    const { length } = this.#recent;
    if (length > remembered) this.#recent.shift();
    if (
      failed &&
      length >= leastCalls &&
      this.#recent.filter(Boolean).length > toleratedShare * this.#recent.length
    )
      this.#open('opens');
  }

  #close(): void {
    this.#circuit = 'closed';
    this.#recent = [];
    this.#onChange('closes');
  }

  #open(change: Change): void {
    this.#circuit = 'open';
    const now = Date.now();
    // A vendor that asked for a longer rest gets it.
    const left = this.#rest && isWithin(this.#rest, now) ? this.#rest.until - now : 0;
    this.startRest(Math.max(left, this.#pause), buildCircuitError(this.#pause));
    this.#onChange(change);
  }

  /** Whether an open circuit may be tested. */
  #isDue(): boolean {
    return this.#circuit === 'open' && !isWithin(this.#rest, Date.now());
  }
}

/** The error of a call that is refused for `left` more milliseconds, for the reason of the rest. */
export function buildRestError({ code, message }: GatewayError, left: number): GatewayError {
  // The vendor's message was about the call that reached the limit.
  const text =
    code === 'rate_limited' ? 'The provider takes no more calls at the moment; try again later.' : message;
  return new GatewayError(code, text, { retryAfter: Math.max(1, Math.ceil(left / 1000)) });
}

/** The error of a call that an open circuit refuses for `left` more milliseconds. */
export function buildCircuitError(left: number): GatewayError {
  const text = 'The provider has failed too often recently; the gateway does not call it at the moment.';
  return buildRestError(new GatewayError('upstream_overloaded', text), left);
}
