/**
 * Every hook, in the order a request meets them. Plugins tap and never call: they get the tapping side alone.
 * A tap with nothing to wait for uses `tap`, which costs a call no promise; tapable does not await what
 * `tap(async …)` returns, so that does not compile. A hook can never be taken back, so there are few.
 */
import {
  AsyncParallelHook,
  AsyncSeriesBailHook,
  AsyncSeriesHook,
  AsyncSeriesWaterfallHook,
  SyncHook,
  SyncWaterfallHook,
} from 'tapable';
import type { CanonicalEvent } from './canonical/events.ts';
import type { CanonicalRequest } from './canonical/request.ts';
import type {
  Attempt,
  End,
  Grant,
  Parsed,
  Planned,
  Principal,
  Received,
  Replay,
  Routed,
  Target,
} from './exchange.ts';
import type { UpstreamRequest, UpstreamResponse } from './provider.ts';

/** What is erased: all that is kept of an account, or of the keys of one person or member. */
export interface Erasure {
  /** The name that the account had; undefined if a holder is erased. */
  readonly account?: string | undefined;
  readonly holder?: string | undefined;
  /** The ids of the account's or the holder's keys, which no longer work. */
  readonly keys: readonly string[];
}

/** The place of a tap among others of its hook, in tapable's own two options. */
export interface TapPlace {
  readonly name: string;
  readonly before?: string;
  readonly stage?: number;
  /** On `route`: why it removes targets, for the record of a call. */
  readonly because?: string;
}

/** A tap that changes bodies says which exchanges it applies to; all others stay in the verbatim lane. */
export interface ConditionalTapPlace extends TapPlace {
  when(exchange: Routed): boolean;
}

interface SyncTap<Args extends unknown[], Result> {
  tap(place: string | TapPlace, tap: (...args: Args) => Result): void;
}

/**
 * Use `tapPromise` to wait for something, if only sometimes, otherwise `tap`. A tap without a result returns
 * undefined; the type `void` would accept a promise that is never awaited.
 */
export interface AsyncTap<Args extends unknown[], Result> extends SyncTap<
  Args,
  void extends Result ? undefined : Result
> {
  tapPromise(place: string | TapPlace, tap: (...args: Args) => Promise<Result> | Result): void;
}

/** The hooks as plugins see them: they tap, and cannot call. */
export interface Hooks {
  /** All plugins are applied: check names, open resources. Throwing stops the start. */
  readonly ready: AsyncTap<[], void>;
  /** Receives a request's headers. Return a principal; undefined: not my credential; throw: it is invalid. */
  readonly authenticate: AsyncTap<[Received], Principal | undefined>;
  /** Receives a parsed call. Return a stored reply to send instead; undefined: call the provider. */
  readonly replay: AsyncTap<[Parsed], Replay | undefined>;
  /** Receives the targets so far. Return the targets in the order to try; none: model not found. */
  readonly route: AsyncTap<[readonly Target[], Parsed], readonly Target[]>;
  /** Receives the grant so far. Return a narrower one; throw to refuse the call. */
  readonly authorize: AsyncTap<[Grant, Planned], Grant>;
  /**
   * Receives the grant with the one target that the next attempt goes to, before the first attempt at each
   * further target. Return what that attempt may use; throw to skip the target: the final error names it.
   */
  readonly extend: AsyncTap<[Grant, Routed], Grant>;
  /**
   * Receives an attempt at its start, first event and end, for health, load and latency. Cannot fail a call.
   */
  readonly attempt: SyncTap<[Attempt, Routed], undefined>;
  /** Receives the canonical request of one attempt. Return a new one; mutate nothing. */
  readonly transformRequest: {
    tapPromise(
      place: ConditionalTapPlace,
      tap: (request: CanonicalRequest, exchange: Routed) => Promise<CanonicalRequest>,
    ): void;
  };
  /**
   * Receives the signed request. The first response wins; undefined: the next tap sends it. Core's proxy is
   * last.
   */
  readonly dispatch: AsyncTap<[UpstreamRequest, Routed], UpstreamResponse | undefined>;
  /** Receives the events of a reply. Return an iterable around them. Runs once per reply, not per event. */
  readonly transformStream: {
    tap(
      place: ConditionalTapPlace,
      tap: (events: AsyncIterable<CanonicalEvent>, exchange: Routed) => AsyncIterable<CanonicalEvent>,
    ): void;
  };
  /**
   * Receives the end of a call that reached `authorize`, exactly once: settle or void. The reply's last bytes
   * wait for it.
   */
  readonly meter: AsyncTap<[End], void>;
  /** Receives the end of every call, refused ones too. Never awaited; cannot fail a reply. */
  readonly observe: AsyncTap<[End], void>;
  /**
   * Receives what is erased. Delete what you keep of it, in small transactions. It is called again until all
   * taps have succeeded, and once more a little later, for what was written meanwhile.
   */
  readonly erase: AsyncTap<[Erasure], void>;
  /** The gateway stops: flush and close. */
  readonly close: AsyncTap<[], void>;
}

/** The hooks as core sees them: it calls them. */
export type CoreHooks = ReturnType<typeof createHooks>;

export function createHooks() {
  return Object.freeze({
    ready: new AsyncSeriesHook<[]>(),
    authenticate: new AsyncSeriesBailHook<[Received], Principal | undefined>(['received']),
    replay: new AsyncSeriesBailHook<[Parsed], Replay | undefined>(['parsed']),
    route: new AsyncSeriesWaterfallHook<[readonly Target[], Parsed]>(['targets', 'parsed']),
    authorize: new AsyncSeriesWaterfallHook<[Grant, Planned]>(['grant', 'planned']),
    extend: new AsyncSeriesWaterfallHook<[Grant, Routed]>(['grant', 'routed']),
    attempt: new SyncHook<[Attempt, Routed]>(['attempt', 'routed']),
    transformRequest: new AsyncSeriesWaterfallHook<[CanonicalRequest, Routed]>(['request', 'routed']),
    dispatch: new AsyncSeriesBailHook<[UpstreamRequest, Routed], UpstreamResponse | undefined>([
      'request',
      'routed',
    ]),
    transformStream: new SyncWaterfallHook<[AsyncIterable<CanonicalEvent>, Routed]>(['events', 'routed']),
    meter: new AsyncParallelHook<[End]>(['end']),
    observe: new AsyncParallelHook<[End]>(['end']),
    erase: new AsyncSeriesHook<[Erasure]>(['erasure']),
    close: new AsyncSeriesHook<[]>(),
  });
}
