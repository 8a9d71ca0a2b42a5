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

/** Where a tap stands among its hook's others: tapable's own two options. */
export interface TapPlace {
  readonly name: string;
  readonly before?: string;
  readonly stage?: number;
}

/** A tap that changes bodies says which exchanges it applies to; all others stay in the verbatim lane. */
export interface ConditionalTapPlace extends TapPlace {
  when(exchange: Routed): boolean;
}

interface SyncTap<Args extends unknown[], Result> {
  tap(place: string | TapPlace, tap: (...args: Args) => Result): void;
}

/** By `tapPromise` where there is something to wait for, else by `tap`; a tap that answers nothing answers undefined: `void` would let a promise pass. */
export interface AsyncTap<Args extends unknown[], Result> extends SyncTap<
  Args,
  void extends Result ? undefined : Result
> {
  tapPromise(place: string | TapPlace, tap: (...args: Args) => Promise<Result>): void;
}

/** What plugins see of the hooks. */
export interface Hooks {
  /** All plugins are applied: check names, open resources. Throwing stops the start. */
  readonly ready: AsyncTap<[], void>;
  /** Passed the head of a request; a principal: it is theirs; undefined: not my credential; throw: mine, and bad. */
  readonly authenticate: AsyncTap<[Received], Principal | undefined>;
  /** Passed a read and checked call; a stored outcome is sent instead of calling, undefined goes on. */
  readonly replay: AsyncTap<[Parsed], Replay | undefined>;
  /** Passed the targets so far and the call; answers the targets in the order to try; none left means no such model. */
  readonly route: AsyncTap<[readonly Target[], Parsed], readonly Target[]>;
  /** Passed the grant so far and the planned call; answers a narrower one; throw to refuse. */
  readonly authorize: AsyncTap<[Grant, Planned], Grant>;
  /** Passed an attempt at its start, its first event and its end; for health, load and latency; cannot fail a call. */
  readonly attempt: SyncTap<[Attempt, Routed], undefined>;
  /** Passed the canonical request of one attempt; answers a new one, and mutates nothing. */
  readonly transformRequest: {
    tapPromise(
      place: ConditionalTapPlace,
      tap: (request: CanonicalRequest, exchange: Routed) => Promise<CanonicalRequest>,
    ): void;
  };
  /** Passed the finished request; the first response wins, undefined leaves it to the next; core's proxy comes last. */
  readonly dispatch: AsyncTap<[UpstreamRequest, Routed], UpstreamResponse | undefined>;
  /** Passed the events of a whole reply; answers an iterable around them; called once a reply, not once an event. */
  readonly transformStream: {
    tap(
      place: ConditionalTapPlace,
      tap: (events: AsyncIterable<CanonicalEvent>, exchange: Routed) => AsyncIterable<CanonicalEvent>,
    ): void;
  };
  /** Passed the end of an exchange whose `authorize` began: settle or void, exactly once; the reply's last word waits for it. */
  readonly meter: AsyncTap<[End], void>;
  /** Passed the end of every exchange, refused ones too; never awaited, cannot fail a reply. */
  readonly observe: AsyncTap<[End], void>;
  /** The gateway stops: flush and let go. */
  readonly close: AsyncTap<[], void>;
}

/** The hooks with their calling side: core's alone. */
export interface CoreHooks {
  readonly ready: AsyncSeriesHook<[]>;
  readonly authenticate: AsyncSeriesBailHook<[Received], Principal | undefined>;
  readonly replay: AsyncSeriesBailHook<[Parsed], Replay | undefined>;
  readonly route: AsyncSeriesWaterfallHook<[readonly Target[], Parsed]>;
  readonly authorize: AsyncSeriesWaterfallHook<[Grant, Planned]>;
  readonly attempt: SyncHook<[Attempt, Routed]>;
  readonly transformRequest: AsyncSeriesWaterfallHook<[CanonicalRequest, Routed]>;
  readonly dispatch: AsyncSeriesBailHook<[UpstreamRequest, Routed], UpstreamResponse | undefined>;
  readonly transformStream: SyncWaterfallHook<[AsyncIterable<CanonicalEvent>, Routed]>;
  readonly meter: AsyncSeriesHook<[End]>;
  readonly observe: AsyncParallelHook<[End]>;
  readonly close: AsyncSeriesHook<[]>;
}

export function createHooks(): CoreHooks {
  return Object.freeze({
    ready: new AsyncSeriesHook<[]>(),
    authenticate: new AsyncSeriesBailHook<[Received], Principal | undefined>(['received']),
    replay: new AsyncSeriesBailHook<[Parsed], Replay | undefined>(['parsed']),
    route: new AsyncSeriesWaterfallHook<[readonly Target[], Parsed]>(['targets', 'parsed']),
    authorize: new AsyncSeriesWaterfallHook<[Grant, Planned]>(['grant', 'planned']),
    attempt: new SyncHook<[Attempt, Routed]>(['attempt', 'routed']),
    transformRequest: new AsyncSeriesWaterfallHook<[CanonicalRequest, Routed]>(['request', 'routed']),
    dispatch: new AsyncSeriesBailHook<[UpstreamRequest, Routed], UpstreamResponse | undefined>([
      'request',
      'routed',
    ]),
    transformStream: new SyncWaterfallHook<[AsyncIterable<CanonicalEvent>, Routed]>(['events', 'routed']),
    meter: new AsyncSeriesHook<[End]>(['end']),
    observe: new AsyncParallelHook<[End]>(['end']),
    close: new AsyncSeriesHook<[]>(),
  });
}
