/**
 * The tapping side of the hooks, made for one plugin each. tapable calls the taps. This file puts around a
 * tap what its hook needs: a check of its result, its name on errors, its condition, and isolation. A wrong
 * result would fail later, in core, where no one sees which plugin it came from.
 */
import type { Logger } from 'pino';
import type { Attempt, End, Parsed, Routed, Target } from '../exchange.ts';
import type { ConditionalTapPlace, CoreHooks, Hooks, TapPlace } from '../hooks.ts';
import { findHeaderFault, isStatus } from '../http/reply-headers.ts';
import { isGatewayError } from '../util/errors.ts';
import { isObject } from '../util/json-text.ts';
import { PluginError, describeReason, isSlip, toPluginError } from '../util/plugin-error.ts';

/** A hook of tapable, as far as it is tapped here. */
interface Tappable<Args extends unknown[], Result> {
  readonly taps: readonly unknown[];
  tap(place: TapPlace, tap: (...args: Args) => Result): void;
  tapPromise?(place: TapPlace, tap: (...args: Args) => Promise<Result>): void;
}

interface Care<Args extends unknown[], Result> {
  /** Whether the next tap gets the result. */
  readonly isNeeded?: boolean;
  /** Sees each result that can be used, and returns it. */
  note?(result: Result, place: TapPlace, args: Args): Result;
  /**
   * Throws the error that the caller gets, or returns if no caller may get one. Absent: the error names the
   * tap.
   */
  fail?(error: unknown, tap: string, args: Args): Result;
}

/** A hook as a plugin taps it. A synchronous one has no `tapPromise`: pass on `tap` alone. */
function wrapHook<Args extends unknown[], Result>(
  name: string,
  hook: Tappable<Args, Result>,
  { isNeeded = false, note, fail }: Care<Args, Result> = {},
) {
  const toPlace = (place: string | TapPlace, tap: unknown): TapPlace => {
    // tapable would compile the hook again under running calls.
    if (Object.isFrozen(hook.taps))
      throw new TypeError(
        `"${name}" can be tapped in "apply" alone: the gateway is ready and takes no more taps`,
      );
    // It would fail with the first call.
    if (typeof tap !== 'function')
      throw new TypeError(`its tap on "${name}" has no function: hooks.${name}.tap(name, function)`);
    return typeof place === 'string' ? { name: place } : place;
  };
  const take = (result: Result, at: TapPlace, args: Args): Result => {
    checkResult(result, isNeeded, name, at.name);
    return note ? note(result, at, args) : result;
  };
  const explain = (error: unknown, at: TapPlace, args: Args): Result => {
    if (fail) return fail(error, at.name, args);
    throw nameError(error, name, at.name);
  };
  return {
    tap(place: string | TapPlace, tap: (...args: Args) => Result): void {
      const at = toPlace(place, tap);
      hook.tap(at, (...args) => {
        try {
          return take(requireSyncResult(tap(...args), name, at.name), at, args);
        } catch (error) {
          return explain(error, at, args);
        }
      });
    },
    tapPromise(place: string | TapPlace, tap: (...args: Args) => Promise<Result> | Result): void {
      const at = toPlace(place, tap);
      hook.tapPromise?.(at, async (...args) => {
        try {
          return take(await tap(...args), at, args);
        } catch (error) {
          return explain(error, at, args);
        }
      });
    },
  };
}

/** Notes which targets a tap of `route` removed or moved. */
function noteStep(
  left: readonly Target[],
  { name, because }: TapPlace,
  [given, { trace }]: [readonly Target[], Parsed],
): readonly Target[] {
  return Array.isArray(left) ? trace.note(name, because, given, left) : left;
}

/** One tap that throws never stops another, nor a call: what it threw goes to the log. */
function isolateTaps<Args extends unknown[]>(
  hook: string,
  logger: Logger,
  identifyCall?: (...args: Args) => string,
): Care<Args, void> {
  return {
    fail: (error, tap, args) =>
      logger.error({ error, call: identifyCall?.(...args), hook, tap }, 'a tap failed'),
  };
}

function identifyEnd({ exchange }: End): string {
  return exchange.id;
}

/** Milliseconds after which the log names a plugin whose `ready` tap still runs. */
const longReady = 10_000;

/** A `ready` tap holds back the start, or reloads. Its error names its plugin, and so does a long one. */
function wrapReady(hook: CoreHooks['ready'], logger: Logger): Hooks['ready'] {
  const { tap, tapPromise } = wrapHook('ready', hook, {
    fail(error, name) {
      throw toPluginError(name, error);
    },
  });
  const openInTime = async (name: string, open: () => void | Promise<void>): Promise<void> => {
    const warn = (): void => logger.warn({ tap: name }, 'the start or reload waits for a tap of "ready"');
    const slow = setTimeout(warn, longReady);
    try {
      await open();
    } finally {
      clearTimeout(slow);
    }
  };
  return {
    tap,
    tapPromise: (place, open) =>
      tapPromise(place, open && (() => openInTime(typeof place === 'string' ? place : place.name, open))),
  };
}

/** Whether a tap of a hook that changes bodies applies to the exchange. */
export function isTapped(
  { taps }: { readonly taps: readonly { readonly name: string; when?(exchange: Routed): boolean }[] },
  exchange: Routed,
): boolean {
  return taps.some((tap) => tap.when?.(exchange) ?? true);
}

/**
 * A tap that changes bodies, with its condition, which names the tap if it fails. A tap without one would
 * take every call out of the verbatim lane.
 */
function addCondition<Value, Changed>(
  hook: string,
  { when, ...place }: ConditionalTapPlace,
  change: (value: Value, exchange: Routed) => Changed,
): [ConditionalTapPlace, (value: Value, exchange: Routed) => Value | Changed] {
  if (typeof change === 'function' && typeof when !== 'function')
    throw new TypeError(`a tap on "${hook}" has to say when it applies: { name, when: (exchange) => … }`);
  const applies = (exchange: Routed): boolean => {
    try {
      return requireSyncResult(when(exchange), hook, place.name, 'its "when" has to answer at once');
    } catch (error) {
      throw nameError(error, hook, place.name);
    }
  };
  const at = { ...place, when: applies };
  return [at, change && ((value, exchange) => (applies(exchange) ? change(value, exchange) : value))];
}

export function wrapHooks(hooks: CoreHooks, logger: Logger): Hooks {
  const requests = wrapHook('transformRequest', hooks.transformRequest, { isNeeded: true });
  const streams = wrapHook('transformStream', hooks.transformStream);
  const { tap } = wrapHook(
    'attempt',
    hooks.attempt,
    isolateTaps<[Attempt, Routed]>('attempt', logger, (_, { id }) => id),
  );
  return {
    ready: wrapReady(hooks.ready, logger),
    authenticate: wrapHook('authenticate', hooks.authenticate),
    replay: wrapHook('replay', hooks.replay),
    route: wrapHook('route', hooks.route, { isNeeded: true, note: noteStep }),
    authorize: wrapHook('authorize', hooks.authorize, { isNeeded: true }),
    extend: wrapHook('extend', hooks.extend, { isNeeded: true }),
    transformRequest: {
      tapPromise: (place, change) => requests.tapPromise(...addCondition('transformRequest', place, change)),
    },
    transformStream: {
      tap: (place, change) => streams.tap(...addCondition('transformStream', place, change)),
    },
    attempt: { tap },
    dispatch: wrapHook('dispatch', hooks.dispatch),
    meter: wrapHook('meter', hooks.meter, isolateTaps('meter', logger, identifyEnd)),
    observe: wrapHook('observe', hooks.observe, isolateTaps('observe', logger, identifyEnd)),
    erase: wrapHook('erase', hooks.erase),
    close: wrapHook('close', hooks.close, isolateTaps('close', logger)),
  };
}

/** After `ready` no tap is added. A late one throws a TypeError. */
export function freezeTaps(hooks: CoreHooks): void {
  for (const hook of Object.values(hooks)) Object.freeze(hook.taps);
}

type Fields = Readonly<Record<string, unknown>>;

function isLimit(value: unknown): boolean {
  return value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value > 0);
}

function canBeSent(headers: unknown): boolean {
  return isObject(headers) && findHeaderFault(headers) === undefined;
}

const aGrant = {
  what: 'a grant with targets; its outputLimit, if any, a whole number above 0; its headers valid',
  suits: ({ targets, outputLimit, headers = {} }: Fields) =>
    Array.isArray(targets) && isLimit(outputLimit) && canBeSent(headers),
};

/** What results have to be where a wrong one would charge or answer a call wrongly. */
const expectations: Readonly<Record<string, { readonly what: string; suits(fields: Fields): boolean }>> = {
  authenticate: {
    what: 'a principal, with kind, account and key, or undefined',
    suits: ({ kind, account, key }) =>
      (kind === 'user' || kind === 'operator') && typeof account === 'string' && typeof key === 'string',
  },
  replay: {
    what: 'a stored reply, with status, headers and body, or undefined',
    suits: ({ status, headers, body }) =>
      isStatus(status) && canBeSent(headers) && (isObject(body) || typeof body === 'string'),
  },
  authorize: aGrant,
  extend: aGrant,
};

/** Throws if a tap returned what its hook cannot use: nothing if the next tap needs it, or a wrong value. */
function checkResult(result: unknown, isNeeded: boolean, hook: string, tap: string): void {
  const expected = expectations[hook];
  if (result === undefined ? !isNeeded : !expected || (isObject(result) && expected.suits(result))) return;
  const returned = result === undefined ? 'nothing' : 'something else';
  const remedy = expected ? `; it has to return ${expected.what}` : '';
  throw new TypeError(`the tap "${tap}" on "${hook}" returned ${returned}${remedy}`);
}

/** Wraps programming errors in a PluginError that names the tap. Others pass through. */
function nameError(error: unknown, hook: string, tap: string): unknown {
  if (isGatewayError(error)) {
    const fault = findHeaderFault(error.details.headers ?? {});
    return fault === undefined
      ? error
      : new PluginError(
          tap,
          `its tap on "${hook}" refused with headers that cannot be sent: ${fault}`,
          error,
        );
  }
  if (hook === 'dispatch' && (!isSlip(error) || 'code' in error)) return error;
  return error instanceof PluginError
    ? error
    : new PluginError(tap, `its tap on "${hook}" failed: ${describeReason(error)}`, error);
}

/** The synchronous hooks, which have no `tapPromise`. */
const synchronousHooks = new Set(['attempt', 'transformStream']);

/** Rejects a promise from a tap or condition that must be synchronous: nothing would await it. */
function requireSyncResult<Value>(
  value: Value,
  hook: string,
  tap: string,
  remedy = synchronousHooks.has(hook) ? 'it has to answer at once' : 'it has to tap by "tapPromise"',
): Value {
  if (!(value instanceof Promise)) return value;
  // A later rejection would end the process.
  value.catch(() => undefined);
  throw new TypeError(`the tap "${tap}" on "${hook}" returned a promise; ${remedy}`);
}
