/**
 * The tapping side of the hooks, made for one plugin each. It puts around a tap what its hook needs:
 * conditions and isolation. `call-taps.ts` calls the taps and checks their results.
 */
import type { Logger } from 'pino';
import type { End, Parsed, Routed, Target } from '../exchange.ts';
import type { AsyncTap, ConditionalTapPlace, CoreHooks, Hooks, TapPlace } from '../hooks.ts';
import { toPluginError } from '../util/plugin-error.ts';
import { isPromise, nameError, requireSyncResult } from './call-taps.ts';

const appliesAlways = (): boolean => true;
const conditions = new WeakMap<object, (exchange: Routed) => boolean>();

/** When a tap of `transformRequest` or `transformStream` applies. */
export function getCondition(tap: object): (exchange: Routed) => boolean {
  return conditions.get(tap) ?? appliesAlways;
}

function toPlace(place: string | TapPlace): TapPlace {
  return typeof place === 'string' ? { name: place } : place;
}

/** The calling side of an asynchronous hook, as far as it is tapped. */
interface Tapped<Args extends unknown[], Result> {
  tapPromise(place: string | TapPlace, tap: (...args: Args) => Promise<Result> | Result): void;
  tap(place: string | TapPlace, tap: (...args: Args) => Result): void;
}

/** The results of these hooks are checked, and their errors named, by the loop that calls the taps. */
function wrapHook<Args extends unknown[], Result>(hook: Tapped<Args, Result>): Tapped<Args, Result> {
  return {
    tapPromise: (place, tap) => hook.tapPromise(toPlace(place), tap),
    tap: (place, tap) => hook.tap(toPlace(place), tap),
  };
}

function noteStep(
  { name, because }: TapPlace,
  { trace }: Parsed,
  given: readonly Target[],
  left: readonly Target[],
): readonly Target[] {
  return Array.isArray(left) ? trace.note(name, because, given, left) : left;
}

/** Notes which targets each tap of `route` removed or moved. */
function wrapRoute({ tap, tapPromise }: Hooks['route']): Hooks['route'] {
  return {
    tap(place, route) {
      const at = toPlace(place);
      tap(at, (given, parsed) => noteStep(at, parsed, given, route(given, parsed)));
    },
    tapPromise(place, route) {
      const at = toPlace(place);
      tapPromise(at, async (given, parsed) => noteStep(at, parsed, given, await route(given, parsed)));
    },
  };
}

/** Milliseconds after which the log names a plugin whose `ready` tap still runs. */
const longReady = 10_000;

/**
 * A `ready` tap holds back the start, or this and all later reloads. Its error names its plugin, and the log
 * does if it takes long.
 */
function wrapReady(hook: Tapped<[], void>, logger: Logger): Tapped<[], void> {
  const tapPromise = (place: string | TapPlace, tap: () => void | Promise<void>): void => {
    const at = toPlace(place);
    hook.tapPromise(at, () => {
      const slow = setTimeout(
        () => logger.warn({ tap: at.name }, 'the start or reload waits for a tap of "ready"'),
        longReady,
      );
      return Promise.try(tap)
        .catch((error: unknown) => Promise.reject(toPluginError(at.name, error)))
        .finally(() => clearTimeout(slow));
    });
  };
  return {
    tapPromise,
    tap: (place, tap) => tapPromise(place, () => requireSyncResult(tap(), 'ready', toPlace(place).name)),
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
      const at = toPlace(place);
      hook.tapPromise(at, (...args) => {
        try {
          const turn = tap(...args);
          if (!isPromise(turn)) return turn;
          return Promise.resolve(turn).catch((error: unknown) => logFailure(error, at.name, args));
        } catch (error) {
          return logFailure(error, at.name, args);
        }
      });
    },
    tap(place, tap) {
      const at = toPlace(place);
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

/** Passed how a tap is added; without its condition it would take every call out of the verbatim lane. */
function addConditional(
  name: string,
  { name: tap, when }: ConditionalTapPlace,
  hook: { taps: object[] },
  tapIt: (applies: (exchange: Routed) => boolean) => void,
): void {
  if (typeof when !== 'function')
    throw new TypeError(`a tap on "${name}" has to say when it applies: { name, when: (exchange) => … }`);
  const applies = (exchange: Routed): boolean => {
    try {
      return requireSyncResult(when(exchange), name, tap, 'its "when" has to answer at once');
    } catch (error) {
      throw nameError(error, name, tap);
    }
  };
  const before = new Set(hook.taps);
  tapIt(applies);
  const added = hook.taps.find((each) => !before.has(each));
  if (added) conditions.set(added, applies);
}

function wrapTransforms({
  transformRequest,
  transformStream,
}: CoreHooks): Pick<Hooks, 'transformRequest' | 'transformStream'> {
  return {
    transformRequest: {
      tapPromise(place, tap) {
        addConditional('transformRequest', place, transformRequest, (applies) =>
          wrapHook(transformRequest).tapPromise(place, (request, exchange) =>
            applies(exchange) ? tap(request, exchange) : request,
          ),
        );
      },
    },
    transformStream: {
      tap(place, tap) {
        addConditional('transformStream', place, transformStream, (applies) =>
          transformStream.tap(toPlace(place), (events, exchange) => {
            if (!applies(exchange)) return events;
            try {
              return requireSyncResult(tap(events, exchange), 'transformStream', place.name);
            } catch (error) {
              throw nameError(error, 'transformStream', place.name);
            }
          }),
        );
      },
    },
  };
}

/** Refuses a tap without a function, which would fail with the first call. */
function requireFunctions(hook: string, side: object): void {
  for (const [method, add] of Object.entries<unknown>({ ...side })) {
    if (typeof add !== 'function') continue;
    Reflect.set(side, method, (place: unknown, tap: unknown) => {
      if (typeof tap !== 'function')
        throw new TypeError(`its tap on "${hook}" has no function: hooks.${hook}.${method}(name, function)`);
      Reflect.apply(add, side, [place, tap]);
    });
  }
}

function getCallId({ exchange }: End): string {
  return exchange.id;
}

/** The hooks as one plugin may tap them. */
export function wrapHooks(hooks: CoreHooks, logger: Logger): Hooks {
  const sides: Hooks = {
    ready: wrapReady(hooks.ready, logger),
    authenticate: wrapHook(hooks.authenticate),
    replay: wrapHook(hooks.replay),
    route: wrapRoute(wrapHook(hooks.route)),
    authorize: wrapHook(hooks.authorize),
    extend: wrapHook(hooks.extend),
    ...wrapTransforms(hooks),
    attempt: {
      tap(place, tap) {
        const at = toPlace(place);
        hooks.attempt.tap(at, (attempt, exchange) => {
          try {
            requireSyncResult(tap(attempt, exchange), 'attempt', at.name);
          } catch (error) {
            logger.error({ error, call: exchange.id, hook: 'attempt', tap: at.name }, 'a tap failed');
          }
        });
      },
    },
    dispatch: wrapHook(hooks.dispatch),
    meter: isolateTaps('meter', hooks.meter, logger, getCallId),
    observe: isolateTaps('observe', hooks.observe, logger, getCallId),
    close: isolateTaps('close', hooks.close, logger),
  };
  for (const [hook, side] of Object.entries({ ...sides })) requireFunctions(hook, side);
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
 * After `ready` no tap is added: it would recompile the hook under running calls. A late one throws a
 * TypeError.
 */
export function freezeTaps(hooks: CoreHooks): void {
  for (const hook of Object.values(hooks)) Object.freeze(hook.taps);
}
