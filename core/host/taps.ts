/**
 * The tapping side of the hooks, made for one plugin each: it keeps what the types promise for plugins
 * written in plain JavaScript too, and puts around a tap what its hook is for: conditions, isolation, an
 * answer that has to be there.
 */
import type { Logger } from 'pino';
import { isGatewayError } from '../errors.ts';
import type { End, Routed } from '../exchange.ts';
import type { AsyncTap, ConditionalTapPlace, CoreHooks, Hooks, TapPlace } from '../hooks.ts';
import { findHeaderFault, isStatus } from '../http/valid-headers.ts';
import { namingPlugin, PluginError, reasonOf } from '../plugin.ts';
import { withTimeout } from '../util/timeouts.ts';

const always = (): boolean => true;
const conditions = new WeakMap<object, (exchange: Routed) => boolean>();

/** When a tap of `transformRequest` or `transformStream` applies. */
export function conditionOf(tap: object): (exchange: Routed) => boolean {
  return conditions.get(tap) ?? always;
}

function placeOf(place: string | TapPlace): TapPlace {
  return typeof place === 'string' ? { name: place } : place;
}

type Fields = Readonly<Record<string, unknown>>;

function hasFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

function optional(suits: (fields: Fields) => boolean): (value: unknown) => boolean {
  return (value) => value === undefined || (hasFields(value) && suits(value));
}

function isLimit(value: unknown): boolean {
  return value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value > 0);
}

function canBeSent(headers: unknown): boolean {
  return hasFields(headers) && findHeaderFault(headers) === undefined;
}

/**
 * What a tap has to answer, as far as it is seen at a glance: another plugin, or core, would fail at it, and
 * be taken for the culprit.
 */
const answers: Readonly<Record<string, { readonly what: string; suits(value: unknown): boolean }>> = {
  authenticate: {
    what: 'a principal, with kind, account and key, or undefined',
    suits: optional(
      ({ kind, account, key }) =>
        (kind === 'user' || kind === 'operator') && typeof account === 'string' && typeof key === 'string',
    ),
  },
  replay: {
    what: 'a stored reply, with status, headers and body, or undefined',
    suits: optional(
      ({ status, headers, body }) =>
        isStatus(status) &&
        hasFields(headers) &&
        (hasFields(body) || typeof body === 'string') &&
        canBeSent(headers),
    ),
  },
  route: { what: 'an array of targets', suits: Array.isArray },
  authorize: {
    what: 'a grant, with its targets, and, where it has them, an outputLimit of one or more whole tokens and headers that can be sent',
    suits: (value) =>
      hasFields(value) &&
      Array.isArray(value.targets) &&
      isLimit(value.outputLimit) &&
      canBeSent(value.headers ?? {}),
  },
  transformRequest: {
    what: 'a request, with its turns',
    suits: (value) => hasFields(value) && Array.isArray(value.turns),
  },
  dispatch: {
    what: 'a response, with status, headers and an iterable body, or undefined',
    suits: optional(
      ({ status, headers, body }) => typeof status === 'number' && hasFields(headers) && hasFields(body),
    ),
  },
  transformStream: {
    what: 'an iterable of events',
    suits: (value) => hasFields(value) && Symbol.asyncIterator in value,
  },
};

/**
 * A waterfall keeps the old value where a tap gives none, silently; here that is the tap's fault, told. What
 * it was `given` and hands on was checked before.
 */
function required<Value>(value: Value, given: unknown, hook: string, tap: string): Value {
  const answer = answers[hook];
  if (!answer || (value !== undefined && value === given) || answer.suits(value)) return value;
  throw new TypeError(
    `the tap "${tap}" on "${hook}" returned ${value === undefined ? 'nothing' : 'something else'}; it has to return ${answer.what}`,
  );
}

/**
 * Wraps programming errors in a PluginError that names the tap. Gateway errors and transport errors pass
 * through.
 */
function named(error: unknown, hook: string, tap: string): unknown {
  const isSlip = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
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
  if (hook === 'dispatch' && (!isSlip || 'code' in error)) return error;
  return error instanceof PluginError
    ? error
    : new PluginError(tap, `its tap on "${hook}" failed: ${reasonOf(error)}`, error);
}

/** The hooks that nobody can tap by `tapPromise`. */
const atOnceOnly = new Set(['attempt', 'transformStream']);

/** Rejects a promise from a tap or condition that must be synchronous: nothing would await it. */
function atOnce<Value>(
  value: Value,
  hook: string,
  tap: string,
  mends = atOnceOnly.has(hook) ? 'it has to answer at once' : 'it has to tap by "tapPromise"',
): Value {
  if (!(value instanceof Promise)) return value;
  // What it fails at later would end the process.
  value.catch(() => undefined);
  throw new TypeError(`the tap "${tap}" on "${hook}" returned a promise; ${mends}`);
}

/** The calling side of an asynchronous hook, as far as it is tapped. */
interface Tapped<Args extends unknown[], Result> {
  tapPromise(place: string | TapPlace, tap: (...args: Args) => Promise<Result>): void;
  tap(place: string | TapPlace, tap: (...args: Args) => Result): void;
}

/** A tap that answers what its hook asks for, or is named. */
function answered<Args extends unknown[], Result>(
  hook: string,
  { name }: TapPlace,
  tap: (...args: Args) => Result,
): (...args: Args) => Result {
  return (...args) => {
    try {
      return required(atOnce(tap(...args), hook, name), args[0], hook, name);
    } catch (error) {
      throw named(error, hook, name);
    }
  };
}

/** The same of one that is waited for. */
function awaited<Args extends unknown[], Result>(
  hook: string,
  { name }: TapPlace,
  tap: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    try {
      return required(await tap(...args), args[0], hook, name);
    } catch (error) {
      throw named(error, hook, name);
    }
  };
}

function answering<Args extends unknown[], Result>(
  name: string,
  hook: Tapped<Args, Result>,
): Tapped<Args, Result> {
  return {
    tapPromise: (place, tap) => hook.tapPromise(placeOf(place), awaited(name, placeOf(place), tap)),
    tap: (place, tap) => hook.tap(placeOf(place), answered(name, placeOf(place), tap)),
  };
}

/** Whoever keeps the gateway from starting is named. */
function opening(hook: Tapped<[], void>): Tapped<[], void> {
  const tapPromise = (place: string | TapPlace, tap: () => void | Promise<void>): void => {
    const at = placeOf(place);
    hook.tapPromise(at, () =>
      Promise.try(tap).catch((error: unknown) => Promise.reject(namingPlugin(at.name, error))),
    );
  };
  return {
    tapPromise,
    tap: (place, tap) => tapPromise(place, () => atOnce(tap(), 'ready', placeOf(place).name)),
  };
}

/**
 * Milliseconds after which the next tap of `meter` is asked, whatever the one before it still does: no call
 * may stay unsettled for another's sake.
 */
const longestTurn = 5000;

/** One tap that throws never stops another: what it threw goes to the log. */
function isolated<Args extends unknown[]>(
  name: string,
  hook: Tapped<Args, void>,
  logger: Logger,
  callOf?: (...args: Args) => string,
): AsyncTap<Args, void> {
  const failed = (error: unknown, tap: string, args: Args): void =>
    logger.error({ error, call: callOf?.(...args), hook: name, tap }, 'a tap failed');
  return {
    tapPromise(place, tap) {
      const at = placeOf(place);
      hook.tapPromise(at, async (...args) => {
        const turn = Promise.try(tap, ...args).catch((error: unknown) => failed(error, at.name, args));
        await (name === 'meter' ? withTimeout(turn, longestTurn) : turn);
      });
    },
    tap(place, tap) {
      const at = placeOf(place);
      hook.tap(at, (...args) => {
        try {
          atOnce(tap(...args), name, at.name);
        } catch (error) {
          failed(error, at.name, args);
        }
      });
    },
  };
}

/** Passed how a tap is added; without its condition it would take every call out of the verbatim lane. */
function conditional(
  name: string,
  { name: tap, when }: ConditionalTapPlace,
  hook: { taps: object[] },
  tapIt: (applies: (exchange: Routed) => boolean) => void,
): void {
  if (typeof when !== 'function')
    throw new TypeError(`a tap on "${name}" has to say when it applies: { name, when: (exchange) => … }`);
  const applies = (exchange: Routed): boolean => {
    try {
      return atOnce(when(exchange), name, tap, 'its "when" has to answer at once');
    } catch (error) {
      throw named(error, name, tap);
    }
  };
  const before = new Set(hook.taps);
  tapIt(applies);
  const added = hook.taps.find((each) => !before.has(each));
  if (added) conditions.set(added, applies);
}

function transforms({
  transformRequest,
  transformStream,
}: CoreHooks): Pick<Hooks, 'transformRequest' | 'transformStream'> {
  return {
    transformRequest: {
      tapPromise(place, tap) {
        const transform = awaited('transformRequest', place, tap);
        conditional('transformRequest', place, transformRequest, (applies) =>
          transformRequest.tapPromise(placeOf(place), async (request, exchange) =>
            applies(exchange) ? transform(request, exchange) : request,
          ),
        );
      },
    },
    transformStream: {
      tap(place, tap) {
        const transform = answered('transformStream', place, tap);
        conditional('transformStream', place, transformStream, (applies) =>
          transformStream.tap(placeOf(place), (events, exchange) =>
            applies(exchange) ? transform(events, exchange) : events,
          ),
        );
      },
    },
  };
}

function idOf({ exchange }: End): string {
  return exchange.id;
}

/** The hooks as one plugin may tap them. */
export function tappable(hooks: CoreHooks, logger: Logger): Hooks {
  const sides: Hooks = {
    ready: opening(hooks.ready),
    authenticate: answering('authenticate', hooks.authenticate),
    replay: answering('replay', hooks.replay),
    route: answering('route', hooks.route),
    authorize: answering('authorize', hooks.authorize),
    ...transforms(hooks),
    attempt: {
      tap(place, tap) {
        const at = placeOf(place);
        hooks.attempt.tap(at, (attempt, exchange) => {
          try {
            atOnce(tap(attempt, exchange), 'attempt', at.name);
          } catch (error) {
            logger.error({ error, call: exchange.id, hook: 'attempt', tap: at.name }, 'a tap failed');
          }
        });
      },
    },
    dispatch: answering('dispatch', hooks.dispatch),
    meter: isolated('meter', hooks.meter, logger, idOf),
    observe: isolated('observe', hooks.observe, logger, idOf),
    close: isolated('close', hooks.close, logger),
  };
  return new Proxy(Object.freeze(sides), {
    get(target, name, receiver) {
      if (typeof name === 'string' && !(name in target))
        throw new TypeError(`there is no hook "${name}"; there are: ${Object.keys(target).join(', ')}`);
      if (Object.isFrozen(hooks.ready.taps))
        throw new TypeError(
          `"${String(name)}" can be tapped in "apply" alone: the gateway is ready and takes no more taps`,
        );
      return Reflect.get(target, name, receiver);
    },
  });
}

/**
 * After `ready` no tap is added: it would recompile the hook under running calls. A late one throws a
 * TypeError.
 */
export function freezeTaps(hooks: CoreHooks): void {
  for (const hook of Object.values(hooks)) Object.freeze(hook.taps);
}
