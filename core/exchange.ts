/**
 * One request and its end. The exchange is one object whose type grows as more is known, so a hook gets what
 * is known at its point and has nothing optional to guard. It ends as `Refused`, `Replayed`, `Failed` or
 * `Answered`, with the attempts that were made.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';
import type { CanonicalRequest } from './canonical/request.ts';
import type { Used } from './canonical/units.ts';
import type { Loss } from './loss.ts';
import type { CostLine, Price } from './price-terms.ts';
import type { ClientCall, Operation, Protocol } from './protocol.ts';
import type { Offer } from './provider.ts';
import type { Tally } from './tally.ts';
import type { Cancellation } from './util/cancellation.ts';
import type { GatewayError } from './util/errors.ts';
import type { Nano } from './util/money.ts';

/** The headers of a request. The body is not read and the caller not known. */
export interface Received {
  readonly id: string;
  /** Name of the protocol, or of the plugin whose route it is. */
  readonly family: string;
  readonly operation: Operation;
  /** The kind of key it needs. Some credentials, such as a cookie, are accepted for one kind only. */
  readonly access: 'user' | 'operator';
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The client's IP address, as far as trusted proxies report it. */
  readonly address: string;
  /** When the headers arrived: milliseconds since the epoch, and of the monotonic clock. */
  readonly receivedAt: number;
  readonly startedAt: number;
  /** Aborts when the call is to end: its client disconnected, its time is up, or the gateway stops. */
  readonly signal: AbortSignal;
  /** The same, for core: cheaper than an AbortSignal. */
  readonly cancellation: Cancellation;
  readonly logger: Logger;
  /** Set for a preview: no client called, and nothing is sent. Plugins must not record it. */
  readonly preview?: true;
  /** Set for a call that came by a WebSocket; otherwise it came by HTTP. */
  readonly transport?: 'websocket' | undefined;
  /** When its steps ended, and how its targets were chosen. */
  readonly trace: Trace;
}

/** Networks (CIDR), protocols and operations that a key is limited to. Undefined: all. */
export type Permits = Readonly<
  Partial<Record<'networks' | 'protocols' | 'operations', readonly string[] | undefined>>
>;

/** Who calls: a key of an account. */
export interface Principal {
  /** `user` keys call models; `operator` keys run the gateway and spend nothing. */
  readonly kind: 'user' | 'operator';
  readonly account: string;
  readonly key: string;
  /** What people call the key; it names nothing for programs. */
  readonly name?: string | undefined;
  /** The person or member who made or received the key. */
  readonly holder?: string | undefined;
  /** The first of the keys that this key replaced by rotation; the key itself if it replaced none. */
  readonly root?: string | undefined;
  /** Whether it may only read: an operator key that sends GET requests alone. */
  readonly readOnly?: boolean | undefined;
  /** Who signed in. Of keys there is no person. */
  readonly person?: Person | undefined;
  /** Ids of the models it may call; a trailing `*` matches a prefix. Undefined: all models. */
  readonly models?: readonly string[] | undefined;
  readonly permits?: Permits | undefined;
  /** The accounts above its own, nearest first. */
  readonly teams?: readonly string[] | undefined;
  /** What its calls count for, as `team:search` or `research`. */
  readonly tags?: readonly string[] | undefined;
}

/** A person who signed in at an identity provider: in a browser as an operator, on a device as a user. */
export interface Person {
  readonly role: string;
  /** The accounts that the person belongs to; new keys are of the first. */
  readonly accounts: readonly string[];
}

export interface Authenticated extends Received {
  readonly principal: Principal;
}

export interface Parsed extends Authenticated {
  readonly protocol: Protocol;
  /** The client's own bytes and their text, for the verbatim lane. */
  readonly bytes: Buffer;
  readonly text: string;
  /** What the client sent, if its body referred to something and was completed. */
  readonly ownText?: string | undefined;
  readonly call: ClientCall;
  /** The request in canonical form, decoded on first use. */
  getRequest(): CanonicalRequest;
  /** Asks for a recording of the reply, up to `limit` bytes, on the end given to `meter`. */
  record(limit: number): void;
}

/** An offer and the protocol to call it by. */
export interface Target extends Offer {
  readonly protocol: Protocol;
  /** All protocols it can be called by, if there are several. */
  readonly wires?: readonly Protocol[];
}

export interface Planned extends Parsed {
  /** Where the call may go, in the order to try. Never empty. */
  readonly targets: readonly Target[];
}

/** What a call may use. Each `authorize` tap can narrow it, and each `extend` tap for a further target. */
export interface Grant {
  readonly targets: readonly Target[];
  /** Maximum output tokens per candidate, if less than the client asked for. */
  readonly outputLimit?: number;
  /** Reply headers about the allowance, such as `x-ratelimit-remaining-requests`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One attempt at one target, as routing plugins see it. */
export interface Attempt {
  readonly target: Target;
  /** Number of the attempt, from 1. */
  readonly number: number;
  /** Whether the previous attempt went to the same target. */
  readonly isRetry: boolean;
  /** Whether earlier reasoning is left out, because the provider rejected it in the previous attempt. */
  readonly withoutReasoning: boolean;
  readonly startedAt: number;
  /** Aborts when the client disconnects or the attempt times out. */
  readonly signal: AbortSignal;
  /** The same, for core. */
  readonly cancellation: Cancellation;
  phase: 'start' | 'first-event' | 'end';
  /** Whether the transport has the request: from then on the provider may have worked. */
  sent: boolean;
  /** The provider's HTTP status, once known. */
  status: number | undefined;
  /** What the target's wire could not express. */
  losses: readonly Loss[];
  /** How far the reply has come. */
  readonly tally: Progress;
  /** Milliseconds to the first event, once there was one. */
  firstEventAfter: number | undefined;
  /** Milliseconds to the end, once it ended. */
  duration: number | undefined;
  /** Why there was no complete reply. Undefined while it runs and after success. */
  error: GatewayError | undefined;
}

export interface Routed extends Planned {
  readonly grant: Grant;
  /** The current attempt. The next attempt of the same exchange replaces it. */
  readonly attempt: Attempt;
}

/** What a call is charged, and on what basis. */
export interface Charge extends Used {
  readonly cost: Nano;
  /** What each unit costs. `cost` is their exact sum, rounded once. */
  readonly lines: readonly CostLine[];
  /** Names the rates: the rule of the call's time, its service mode, its tier. Empty if nothing was used. */
  readonly rule: string;
  /** `usage`: the provider's figures; `estimate`: ours, from bytes; `none`: nothing is owed. */
  readonly basis: 'usage' | 'estimate' | 'none';
  /** Whether figures cannot be true, or fees were not asked for: at most the reservation is charged. */
  readonly suspect: boolean;
  /** What the provider bills for a reply that a plugin stopped, if the caller does not pay for it. */
  readonly vendorCost?: Nano;
  /** The price of the model that answered, if the vendor answered with another one than was asked for. */
  readonly price?: Price;
}

/** A stored outcome. */
export interface Replay {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Text that precedes `body`, sent as it comes. */
  readonly stream?: AsyncIterable<string>;
}

/** A reply as it was sent, kept for a `replay` tap, without headers that hold for that call only. */
export interface Recording extends Replay {
  /** False if the reply exceeded its limit and only its start was kept. */
  readonly whole: boolean;
}

interface EndFacts {
  readonly attempts: readonly Attempt[];
  /** Milliseconds since the headers arrived. */
  readonly duration: number;
  readonly recording: Recording | undefined;
  readonly losses: readonly Loss[];
}

/** No provider was called. */
export interface Refused extends EndFacts {
  readonly type: 'refused';
  readonly exchange: Received & Partial<Planned>;
  readonly error: GatewayError;
}

/** At least one provider was called, and the client got no part of a reply. */
export interface Failed extends EndFacts {
  readonly type: 'failed';
  readonly exchange: Routed;
  readonly error: GatewayError;
  readonly charge: Charge;
}

/** Only a `completed` reply is whole. `aborted`: the client disconnected. `cut`: the provider broke off. */
export interface Answered extends EndFacts {
  readonly type: 'answered';
  readonly exchange: Routed;
  readonly outcome: 'completed' | 'aborted' | 'cut';
  readonly error: GatewayError | undefined;
  readonly charge: Charge;
  /**
   * What ends the reply, which its client gets after `meter`: the whole of a JSON reply, the events of a
   * stream that mean success or failure.
   */
  readonly ending?: string | Uint8Array | undefined;
}

/** A stored outcome was sent again. No provider was called and nothing is owed. */
export interface Replayed extends EndFacts {
  readonly type: 'replayed';
  readonly exchange: Parsed;
  readonly replay: Replay;
}

export type End = Refused | Replayed | Failed | Answered;

/** Facts of every end, before losses and a recording are known. */
export function buildEndFacts({ startedAt }: Received, attempts: readonly Attempt[]): EndFacts {
  return { attempts, duration: performance.now() - startedAt, recording: undefined, losses: [] };
}

/** The same object, with more known. */
export function advance<Known extends object, More extends object>(
  exchange: Known,
  more: More,
): Known & More {
  return Object.assign(exchange, more);
}

/** A `route` tap that removed or reordered targets. */
export interface RouteStep {
  /** The name of the tap. */
  readonly by: string;
  /** Why it removes targets, as its place says. */
  readonly because: string | undefined;
  readonly given: readonly Target[];
  readonly left: readonly Target[];
}

/** Why core itself removes targets. */
export const notPermitted = 'the key may not call it';

export const notPriced = 'it has no price for what the call asks for';

export const notComparable = 'what another model makes cannot be compared';

/** Whether both are the same place to call: a tap may change the price of a target. */
function isSameTarget(one: Target, other: Target | undefined): boolean {
  return one === other || (one.provider === other?.provider && one.model.id === other.model.id);
}

/**
 * When the steps of a call ended, and which targets each `route` tap left: noted as they are, for the record
 * of the call. Times are whole microseconds since the headers, which V8 keeps without allocating; 0: not
 * reached.
 */
export class Trace {
  authenticated = 0;
  read = 0;
  replayed = 0;
  routed = 0;
  authorized = 0;
  settled = 0;
  steps: RouteStep[] | undefined = undefined;

  /** Notes a step that changed the targets or their order, and returns what it left. */
  note(
    by: string,
    because: string | undefined,
    given: readonly Target[],
    left: readonly Target[],
  ): readonly Target[] {
    const isSame =
      left === given ||
      (left.length === given.length && left.every((target, index) => isSameTarget(target, given[index])));
    if (!isSame) (this.steps ??= []).push({ by, because, given, left });
    return left;
  }
}

export type Mark = Exclude<keyof Trace, 'steps' | 'note'>;

/** Notes that a step ends now. */
export function mark(
  { trace, startedAt }: { readonly trace: Trace; readonly startedAt: number },
  step: Mark,
): void {
  trace[step] = Math.round((performance.now() - startedAt) * 1000);
}

/** What the reply has delivered and reported so far. */
export type Progress = Readonly<
  Omit<Tally, 'read' | 'noteLoss' | 'losses' | 'keptLength' | 'hasFinished' | 'hasAll'>
>;
