/**
 * The tapping side of the hooks, made for one plugin each: it keeps what the types promise for plugins written
 * in plain JavaScript too, and puts around a tap what its hook is for: conditions, isolation, an answer that has
 * to be there.
 */
import type { Logger } from 'pino';
import type { End, Routed } from './exchange.ts';
import type { AsyncTap, ConditionalTapPlace, CoreHooks, Hooks, TapPlace } from './hooks.ts';
import { namingPlugin } from './plugin.ts';

const always = (): boolean => true;
const conditions = new WeakMap<object, (exchange: Routed) => boolean>();

/** When a tap of `transformRequest` or `transformStream` applies. */
export function conditionOf(tap: object): (exchange: Routed) => boolean {
  return conditions.get(tap) ?? always;
}

function placeOf(place: string | TapPlace): TapPlace {
  return typeof place === 'string' ? { name: place } : place;
}

/** A waterfall keeps the old value where a tap gives none, silently; here that is the tap's fault, told. */
function required<Value>(value: Value, hook: string, tap: string): Value {
  if (value === undefined) throw new TypeError(`the tap "${tap}" on "${hook}" returned nothing; it has to return a value`);
  return value;
}

/** The hooks that nobody can tap by `tapPromise`. */
const atOnceOnly = new Set(['attempt', 'transformStream']);

/** Nobody would wait for a promise that a tap answers where it should have answered at once. */
function atOnce<Value>(value: Value, hook: string, tap: string): Value {
  if (!(value instanceof Promise)) return value;
  // What it fails at later would end the process.
  value.catch(() => undefined);
  throw new TypeError(`the tap "${tap}" on "${hook}" returned a promise; ${atOnceOnly.has(hook) ? 'it has to answer at once' : 'it has to tap by "tapPromise"'}`);
}

/** The calling side of an asynchronous hook, as far as it is tapped. */
interface Tapped<Args extends unknown[], Result> {
  tapPromise(place: string | TapPlace, tap: (...args: Args) => Promise<Result>): void;
  tap(place: string | TapPlace, tap: (...args: Args) => Result): void;
}

function plain<Args extends unknown[], Result>(name: string, hook: Tapped<Args, Result>): Tapped<Args, Result> {
  return {
    tapPromise: (place, tap) => hook.tapPromise(placeOf(place), tap),
    tap(place, tap) {
      const at = placeOf(place);
      hook.tap(at, (...args) => atOnce(tap(...args), name, at.name));
    },
  };
}

/** Whoever keeps the gateway from starting is named. */
function opening(hook: Tapped<[], void>): Tapped<[], void> {
  const tapPromise = (place: string | TapPlace, tap: () => void | Promise<void>): void => {
    const at = placeOf(place);
    hook.tapPromise(at, () => Promise.try(tap).catch((error: unknown) => Promise.reject(namingPlugin(at.name, error))));
  };
  return { tapPromise, tap: (place, tap) => tapPromise(place, () => atOnce(tap(), 'ready', placeOf(place).name)) };
}

function waterfall<Args extends [unknown, unknown]>(name: string, hook: Tapped<Args, Args[0]>): Tapped<Args, Args[0]> {
  return {
    tapPromise(place, tap) {
      const at = placeOf(place);
      const check = (value: Args[0]): Args[0] => required(value, name, at.name);
      hook.tapPromise(at, (...args) => tap(...args).then(check));
    },
    tap(place, tap) {
      const at = placeOf(place);
      hook.tap(at, (...args) => required(atOnce(tap(...args), name, at.name), name, at.name));
    },
  };
}

/** One tap that throws never stops another: what it threw goes to the log. */
function isolated<Args extends unknown[]>(name: string, hook: Tapped<Args, void>, logger: Logger, callOf?: (...args: Args) => string): AsyncTap<Args, void> {
  const failed = (error: unknown, tap: string, args: Args): void => logger.error({ error, call: callOf?.(...args), hook: name, tap }, 'a tap failed');
  return {
    tapPromise(place, tap) {
      const at = placeOf(place);
      hook.tapPromise(at, (...args) => Promise.try(tap, ...args).catch((error: unknown) => failed(error, at.name, args)));
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

function conditional(place: ConditionalTapPlace, hook: { taps: object[] }, tapIt: () => void): void {
  const before = new Set(hook.taps);
  tapIt();
  const added = hook.taps.find((tap) => !before.has(tap));
  if (added) conditions.set(added, (exchange) => place.when(exchange));
}

function transforms({ transformRequest, transformStream }: CoreHooks): Pick<Hooks, 'transformRequest' | 'transformStream'> {
  return {
    transformRequest: {
      tapPromise(place, tap) {
        conditional(place, transformRequest, () =>
          transformRequest.tapPromise(placeOf(place), async (request, exchange) =>
            place.when(exchange) ? required(await tap(request, exchange), 'transformRequest', place.name) : request,
          ),
        );
      },
    },
    transformStream: {
      tap(place, tap) {
        conditional(place, transformStream, () =>
          transformStream.tap(placeOf(place), (events, exchange) =>
            place.when(exchange) ? required(atOnce(tap(events, exchange), 'transformStream', place.name), 'transformStream', place.name) : events,
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
    authenticate: plain('authenticate', hooks.authenticate),
    replay: plain('replay', hooks.replay),
    route: waterfall('route', hooks.route),
    authorize: waterfall('authorize', hooks.authorize),
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
    dispatch: plain('dispatch', hooks.dispatch),
    meter: isolated('meter', hooks.meter, logger, idOf),
    observe: isolated('observe', hooks.observe, logger, idOf),
    close: isolated('close', hooks.close, logger),
  };
  return new Proxy(Object.freeze(sides), {
    get(target, name, receiver) {
      if (typeof name === 'string' && !(name in target)) throw new TypeError(`there is no hook "${name}"; there are: ${Object.keys(target).join(', ')}`);
      return Reflect.get(target, name, receiver);
    },
  });
}

/** After `ready` no tap is added: it would recompile the hook under running calls. A late one throws a TypeError. */
export function freezeTaps(hooks: CoreHooks): void {
  for (const hook of Object.values(hooks)) Object.freeze(hook.taps);
}
