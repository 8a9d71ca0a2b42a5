/**
 * The tapping side of the hooks, made for one plugin each. tapable calls the taps. This file puts around a
 * tap what its hook needs: a check of its result and its name on errors (`tap-results.ts`), its condition,
 * and isolation.
 */
import type { Logger } from 'pino';
import type { End, Parsed, Routed, Target } from '../exchange.ts';
import type { AsyncTap, ConditionalTapPlace, CoreHooks, Hooks, TapPlace } from '../hooks.ts';
import { toPluginError } from '../util/plugin-error.ts';
import { checkResult, nameError, requireSyncResult } from './tap-results.ts';

/** The tapping side of an asynchronous hook. */
interface Tapped<Args extends unknown[], Result> {
  tapPromise(place: string | TapPlace, tap: (...args: Args) => Promise<Result> | Result): void;
  tap(place: string | TapPlace, tap: (...args: Args) => Result): void;
}

/** The place of a tap. Refuses a tap without a function, which would fail with the first call. */
function toPlace<Place extends TapPlace>(
  hook: string,
  place: string | Place,
  tap: unknown,
): Place | TapPlace {
  if (typeof tap !== 'function')
    throw new TypeError(`its tap on "${hook}" has no function: hooks.${hook}.tap(name, function)`);
  return typeof place === 'string' ? { name: place } : place;
}

/** Checks the results of a hook's taps, and names the tap in what it throws. */
function wrapHook<Args extends unknown[], Result>(
  name: string,
  hook: Tapped<Args, Result>,
  isNeeded = false,
): Tapped<Args, Result> {
  const check = (result: Result, tap: string): Result => {
    checkResult(result, isNeeded, name, tap);
    return result;
  };
  return {
    tapPromise(place, tap) {
      const at = toPlace(name, place, tap);
      hook.tapPromise(at, async (...args) => {
        try {
          return check(await tap(...args), at.name);
        } catch (error) {
          throw nameError(error, name, at.name);
        }
      });
    },
    tap(place, tap) {
      const at = toPlace(name, place, tap);
      hook.tap(at, (...args) => {
        try {
          return check(requireSyncResult(tap(...args), name, at.name), at.name);
        } catch (error) {
          throw nameError(error, name, at.name);
        }
      });
    },
  };
}

function noteStep(
  place: string | TapPlace,
  { trace }: Parsed,
  given: readonly Target[],
  left: readonly Target[],
): readonly Target[] {
  const { name, because } = typeof place === 'string' ? { name: place, because: undefined } : place;
  return Array.isArray(left) ? trace.note(name, because, given, left) : left;
}

/** Notes which targets each tap of `route` removed or moved. */
function wrapRoute(hook: Tapped<[readonly Target[], Parsed], readonly Target[]>): Hooks['route'] {
  const { tap, tapPromise } = wrapHook('route', hook, true);
  return {
    tap: (place, route) =>
      tap(place, route && ((given, parsed) => noteStep(place, parsed, given, route(given, parsed)))),
    tapPromise: (place, route) =>
      tapPromise(
        place,
        route && (async (given, parsed) => noteStep(place, parsed, given, await route(given, parsed))),
      ),
  };
}

/** Milliseconds after which the log names a plugin whose `ready` tap still runs. */
const longReady = 10_000;

/**
 * A `ready` tap holds back the start, or this and all later reloads. Its error names its plugin, and the log
 * does if it takes long.
 */
function wrapReady(hook: Tapped<[], void>, logger: Logger): Hooks['ready'] {
  const tapPromise = (place: string | TapPlace, tap: () => void | Promise<void>): void => {
    const at = toPlace('ready', place, tap);
    hook.tapPromise(at, async () => {
      const slow = setTimeout(
        () => logger.warn({ tap: at.name }, 'the start or reload waits for a tap of "ready"'),
        longReady,
      );
      try {
        await tap();
      } catch (error) {
        throw toPluginError(at.name, error);
      } finally {
        clearTimeout(slow);
      }
    });
  };
  return {
    tapPromise,
    tap(place, tap) {
      const { name } = toPlace('ready', place, tap);
      tapPromise(place, () => requireSyncResult(tap(), 'ready', name));
    },
  };
}

/** One tap that throws never stops another: what it threw goes to the log. */
function isolateTaps<Args extends unknown[]>(
  name: string,
  hook: Tapped<Args, void>,
  logger: Logger,
  identifyCall?: (...args: Args) => string,
): AsyncTap<Args, void> {
  const logFailure = (error: unknown, tap: string, args: Args): void =>
    logger.error({ error, call: identifyCall?.(...args), hook: name, tap }, 'a tap failed');
  return {
    tapPromise(place, tap) {
      const at = toPlace(name, place, tap);
      hook.tapPromise(at, async (...args) => {
        try {
          await tap(...args);
        } catch (error) {
          logFailure(error, at.name, args);
        }
      });
    },
    tap(place, tap) {
      const at = toPlace(name, place, tap);
      hook.tap(at, (...args) => {
        try {
          requireSyncResult(tap(...args), name, at.name);
        } catch (error) {
          logFailure(error, at.name, args);
        }
      });
    },
  };
}

/**
 * The place of a tap that changes bodies, with a condition that names the tap if it fails. A tap without one
 * would take every call out of the verbatim lane.
 */
function toConditional(hook: string, place: ConditionalTapPlace, tap: unknown): ConditionalTapPlace {
  const { name, when } = place;
  toPlace(hook, place, tap);
  if (typeof when !== 'function')
    throw new TypeError(`a tap on "${hook}" has to say when it applies: { name, when: (exchange) => … }`);
  return {
    ...place,
    when(exchange) {
      try {
        return requireSyncResult(when(exchange), hook, name, 'its "when" has to answer at once');
      } catch (error) {
        throw nameError(error, hook, name);
      }
    },
  };
}

/** Whether a tap of a hook that changes bodies applies to the exchange. */
export function isTapped(
  { taps }: { readonly taps: readonly { readonly name: string; when?(exchange: Routed): boolean }[] },
  exchange: Routed,
): boolean {
  return taps.some((tap) => tap.when?.(exchange) ?? true);
}

function wrapTransforms(hooks: CoreHooks): Pick<Hooks, 'transformRequest' | 'transformStream'> {
  const { tapPromise } = wrapHook('transformRequest', hooks.transformRequest, true);
  return {
    transformRequest: {
      tapPromise(place, tap) {
        const at = toConditional('transformRequest', place, tap);
        tapPromise(at, async (request, exchange) => (at.when(exchange) ? tap(request, exchange) : request));
      },
    },
    transformStream: {
      tap(place, tap) {
        const at = toConditional('transformStream', place, tap);
        hooks.transformStream.tap(at, (events, exchange) => {
          if (!at.when(exchange)) return events;
          try {
            return requireSyncResult(tap(events, exchange), 'transformStream', at.name);
          } catch (error) {
            throw nameError(error, 'transformStream', at.name);
          }
        });
      },
    },
  };
}

function getCallId({ exchange }: End): string {
  return exchange.id;
}

/** The hooks as one plugin may tap them. */
export function wrapHooks(hooks: CoreHooks, logger: Logger): Hooks {
  const sides: Hooks = {
    ready: wrapReady(hooks.ready, logger),
    authenticate: wrapHook('authenticate', hooks.authenticate),
    replay: wrapHook('replay', hooks.replay),
    route: wrapRoute(hooks.route),
    authorize: wrapHook('authorize', hooks.authorize, true),
    extend: wrapHook('extend', hooks.extend, true),
    ...wrapTransforms(hooks),
    attempt: {
      tap(place, tap) {
        const at = toPlace('attempt', place, tap);
        hooks.attempt.tap(at, (attempt, exchange) => {
          try {
            requireSyncResult(tap(attempt, exchange), 'attempt', at.name);
          } catch (error) {
            logger.error({ error, call: exchange.id, hook: 'attempt', tap: at.name }, 'a tap failed');
          }
        });
      },
    },
    dispatch: wrapHook('dispatch', hooks.dispatch),
    meter: isolateTaps('meter', hooks.meter, logger, getCallId),
    observe: isolateTaps('observe', hooks.observe, logger, getCallId),
    close: isolateTaps('close', hooks.close, logger),
  };
  return new Proxy(Object.freeze(sides), {
    get(target, name, receiver) {
      if (typeof name === 'string' && !(name in target))
        throw new TypeError(`there is no hook "${name}"; known: ${Object.keys(target).join(', ')}`);
      if (Object.isFrozen(hooks.ready.taps))
        throw new TypeError(
          `"${String(name)}" can be tapped in "apply" alone: the gateway is ready and takes no more taps`,
        );
      return Reflect.get(target, name, receiver);
    },
  });
}

/**
 * After `ready` no tap is added: tapable would compile the hook again under running calls. A late one throws
 * a TypeError.
 */
export function freezeTaps(hooks: CoreHooks): void {
  for (const hook of Object.values(hooks)) Object.freeze(hook.taps);
}
