/**
 * One request and its end. The exchange is one object whose type grows as more becomes known of it, so that a
 * hook gets what is known at its point and has nothing optional to guard; it ends as one of `Refused`,
 * `Failed` and `Answered`, each with the attempts that were made.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';
import type { Progress } from './billing/reply-progress.ts';
import type { CanonicalRequest } from './canonical/request.ts';
import type { Usage } from './canonical/usage.ts';
import type { Offer } from './catalog.ts';
import type { GatewayError } from './errors.ts';
import type { Loss } from './loss.ts';
import type { CostLine, Nano } from './money.ts';
import type { ClientCall, Operation, Protocol } from './protocol.ts';
import type { Cancellation } from './util/cancellation.ts';

/** The head of a request: no body has been read, nobody is known yet. */
export interface Received {
  readonly id: string;
  /** The name of the protocol, or of the plugin whose route it is. */
  readonly family: string;
  readonly operation: Operation;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The client's own address, as far as trusted proxies tell it. */
  readonly address: string;
  /** Milliseconds since the epoch, and of the monotonic clock, when the head arrived. */
  readonly receivedAt: number;
  readonly startedAt: number;
  /** Fires when the client is gone. */
  readonly signal: AbortSignal;
  /** The same, for core itself. */
  readonly cancellation: Cancellation;
  readonly logger: Logger;
}

/** Whose call it is: a key of an account. */
export interface Principal {
  /** `user` keys call models; `operator` ones are refused where money is spent. */
  readonly kind: 'user' | 'operator';
  readonly account: string;
  readonly key: string;
  /** The ids of the models it may call; one that ends with `*` is all that begin so. All models where absent. */
  readonly models?: readonly string[] | undefined;
}

export interface Authenticated extends Received {
  readonly principal: Principal;
}

export interface Parsed extends Authenticated {
  readonly protocol: Protocol;
  /** The client's own bytes, for the verbatim lane, and their text. */
  readonly bytes: Buffer;
  readonly text: string;
  readonly call: ClientCall;
  /** The request in canonical form, decoded when first asked for. */
  canonical(): CanonicalRequest;
  /** Asks for the reply to be kept, up to `limit` bytes, on the end given to `meter`. */
  record(limit: number): void;
}

/** An offer and the protocol it is to be called by. */
export interface Target extends Offer {
  readonly protocol: Protocol;
  /** All the protocols that it can be called by, where there are several. */
  readonly wires?: readonly Protocol[];
}

export interface Planned extends Parsed {
  /** Where the call may go, in the order to try; never empty. */
  readonly targets: readonly Target[];
}

/** What a call may use: narrower with each `authorize` tap. */
export interface Grant {
  readonly targets: readonly Target[];
  /** Tokens of output at most for each candidate, where less than the caller asked for can be had. */
  readonly outputLimit?: number;
  /** What the reply's head tells of the allowance: `x-ratelimit-remaining-requests` and its like. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One attempt at one target, as routing plugins see it go by. */
export interface Attempt {
  readonly target: Target;
  /** Which attempt of the exchange it is, from 1. */
  readonly number: number;
  /** Whether the attempt before it went to the same target. */
  readonly isRetry: boolean;
  /** Whether the reasoning of earlier turns is left out, because the vendor refused it in the attempt before. */
  readonly withoutReasoning: boolean;
  readonly startedAt: number;
  /** Fires when the client is gone, or the attempt took too long. */
  readonly signal: AbortSignal;
  /** The same, for core itself. */
  readonly cancellation: Cancellation;
  phase: 'start' | 'first-event' | 'end';
  /** Whether the request was handed to the transport: from then on the vendor may have worked. */
  sent: boolean;
  /** The HTTP status the vendor answered with, once it did. */
  status: number | undefined;
  /** What of the request the target's wire could not say. */
  losses: readonly Loss[];
  /** How far its reply has come. */
  readonly tally: Progress;
  /** Milliseconds from its start to the first event of a reply, once there was one. */
  firstEventAfter: number | undefined;
  /** Milliseconds from its start to its end, once it ended. */
  duration: number | undefined;
  /** Why it gave no complete reply; undefined while it runs and when it did. */
  error: GatewayError | undefined;
}

export interface Routed extends Planned {
  readonly grant: Grant;
  /** The attempt at hand; the next attempt of the same exchange puts its own here. */
  readonly attempt: Attempt;
}

/** What a call is charged, and on what ground. */
export interface Charge {
  readonly cost: Nano;
  /** What each kind of use costs. `cost` is their exact sum, rounded once. */
  readonly lines: readonly CostLine[];
  readonly usage: Usage;
  /** `usage`: the vendor's own figures; `estimate`: ours, from bytes; `none`: nothing is owed. */
  readonly basis: 'usage' | 'estimate' | 'none';
  /** Whether the vendor's figures could not be true, or it charged for what the call did not ask for. No more is charged then than was reserved. */
  readonly suspect: boolean;
}

/** A reply as the client was sent it, kept because a `replay` tap asked; its head without what was true of that call alone. */
export interface Recording {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** False where the reply outgrew its limit and only its start was kept. */
  readonly whole: boolean;
}

interface EndFacts {
  readonly attempts: readonly Attempt[];
  /** Milliseconds since the head arrived. */
  readonly duration: number;
  readonly recording: Recording | undefined;
  readonly losses: readonly Loss[];
}

/** No vendor was asked. */
export interface Refused extends EndFacts {
  readonly type: 'refused';
  readonly exchange: Received & Partial<Parsed>;
  readonly error: GatewayError;
}

/** At least one vendor was asked and the client got no part of a reply. */
export interface Failed extends EndFacts {
  readonly type: 'failed';
  readonly exchange: Routed;
  readonly error: GatewayError;
  readonly charge: Charge;
}

/** A reply began. Only a `completed` one has all of it; `aborted`: the client left; `cut`: the vendor broke off. */
export interface Answered extends EndFacts {
  readonly type: 'answered';
  readonly exchange: Routed;
  readonly outcome: 'completed' | 'aborted' | 'cut';
  readonly error: GatewayError | undefined;
  readonly charge: Charge;
}

/** A stored outcome was sent again: no vendor was asked and nothing is owed. */
export interface Replayed extends EndFacts {
  readonly type: 'replayed';
  readonly exchange: Parsed;
  readonly replay: Replay;
}

export type End = Refused | Replayed | Failed | Answered;

/** What a stored outcome says again, without a vendor and without a charge. */
export interface Replay {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** What every end has, before losses and a recording are known. */
export function endFacts({ startedAt }: Received, attempts: readonly Attempt[]): EndFacts {
  return { attempts, duration: performance.now() - startedAt, recording: undefined, losses: [] };
}

/** The same object, now with more known of it. */
export function advance<Known extends object, More extends object>(
  exchange: Known,
  more: More,
): Known & More {
  return Object.assign(exchange, more);
}
