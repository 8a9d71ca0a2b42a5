/**
 * Calls the taps of a hook, in the order that tapable keeps. These loops make no promise until a tap does:
 * with tapable's own calling code, a JSON call allocates 15 % more. They also check results that would
 * charge or answer a call wrongly, and name the plugin in errors.
 */
import { findHeaderFault, isStatus } from '../http/valid-headers.ts';
import { isGatewayError } from '../util/errors.ts';
import { isSlip, PluginError, describeReason } from '../util/plugin-error.ts';

interface Tap {
  readonly name: string;
  readonly type: 'sync' | 'async' | 'promise';
  /** Untyped in tapable too. */
  readonly fn: CallableFunction;
}

type Compile = (hook: string, taps: readonly Tap[]) => (...args: unknown[]) => unknown;

/** Calls taps in turn. The result is a promise only if a tap returned one. */
function callInTurn(isWaterfall: boolean, hook: string, taps: readonly Tap[]): ReturnType<Compile> {
  const callFrom = (first: number, given: unknown, exchange: unknown): unknown => {
    let value = given;
    for (let index = first; index < taps.length; index += 1) {
      const tap = taps[index];
      if (!tap) break;
      try {
        const result: unknown = tap.fn(value, exchange);
        if (tap.type === 'sync') requireSyncResult(result, hook, tap.name);
        else if (isPromise(result)) return finish(index, result, value, exchange);
        if (isWaterfall && result === value) continue;
        checkResult(result, isWaterfall, hook, tap.name);
        if (isWaterfall) value = result;
        else if (result !== undefined) return result;
      } catch (error) {
        throw nameError(error, hook, tap.name);
      }
    }
    return isWaterfall ? value : undefined;
  };
  const finish = async (
    index: number,
    promise: PromiseLike<unknown>,
    given: unknown,
    exchange: unknown,
  ): Promise<unknown> => {
    const name = taps[index]?.name ?? '';
    let result: unknown;
    try {
      result = await promise;
      checkResult(result, isWaterfall, hook, name);
    } catch (error) {
      throw nameError(error, hook, name);
    }
    if (isWaterfall) return callFrom(index + 1, result, exchange);
    return result === undefined ? callFrom(index + 1, given, exchange) : result;
  };
  return (given, exchange) => {
    try {
      return callFrom(0, given, exchange);
    } catch (error) {
      return Promise.reject(error);
    }
  };
}

export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return hasFields(value) && typeof value.then === 'function';
}

/** Each tap gets what the one before it returned. */
export const callAsWaterfall: Compile = (hook, taps) => callInTurn(true, hook, taps);

/** The first result that is not undefined ends the call. */
export const callUntilAnswer: Compile = (hook, taps) => callInTurn(false, hook, taps);

/** All taps at once: one that never returns does not stop another. `wrapHooks` keeps their errors in. */
export const callTogether: Compile = (_, taps) => (given) => {
  let all: unknown;
  for (const { fn } of taps) {
    const turn: unknown = fn(given);
    if (isPromise(turn)) all = all === undefined ? turn : Promise.all([all, turn]).then(() => undefined);
  }
  return all ?? Promise.resolve();
};

/** Makes tapable call a hook's taps in this way. */
export function callBy<Hook extends object>(name: string, compile: Compile, hook: Hook): Hook {
  return Object.assign(hook, { compile: ({ taps }: { taps: readonly Tap[] }) => compile(name, taps) });
}

type Fields = Readonly<Record<string, unknown>>;

function hasFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

function isLimit(value: unknown): boolean {
  return value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value > 0);
}

function canBeSent(headers: unknown): boolean {
  return hasFields(headers) && findHeaderFault(headers) === undefined;
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
      isStatus(status) && canBeSent(headers) && (hasFields(body) || typeof body === 'string'),
  },
  authorize: aGrant,
  extend: aGrant,
};

/** Throws if a tap returned what its hook cannot use: nothing if the next tap needs it, or a wrong value. */
function checkResult(result: unknown, isNeeded: boolean, hook: string, tap: string): void {
  const expected = expectations[hook];
  if (result === undefined ? !isNeeded : !expected || (hasFields(result) && expected.suits(result))) return;
  const returned = result === undefined ? 'nothing' : 'something else';
  const remedy = expected ? `; it has to return ${expected.what}` : '';
  throw new TypeError(`the tap "${tap}" on "${hook}" returned ${returned}${remedy}`);
}

/**
 * Wraps programming errors in a PluginError that names the tap. Gateway errors and transport errors pass
 * through.
 */
export function nameError(error: unknown, hook: string, tap: string): unknown {
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
export function requireSyncResult<Value>(
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
