/**
 * Calls the taps of a hook, in the order that tapable keeps. tapable's own calling code makes several
 * promises and closures for each tap; these loops make none until a tap does. They also hold what the types
 * promise for plugins in plain JavaScript: an answer of the right form, and an error that names its plugin.
 */
import { isGatewayError } from '../errors.ts';
import { findHeaderFault, isStatus } from '../http/valid-headers.ts';
import { isSlip, PluginError, describeReason } from '../plugin.ts';

interface Tap {
  readonly name: string;
  readonly type: 'sync' | 'async' | 'promise';
  /** Untyped in tapable too. */
  readonly fn: CallableFunction;
}

type Compile = (hook: string, taps: readonly Tap[]) => (...args: unknown[]) => unknown;

/**
 * Calls taps in turn. The result is a promise only if a tap returned one, because the frame of an async
 * function takes half a kilobyte.
 */
function callInTurn(isWaterfall: boolean, hook: string, taps: readonly Tap[]): ReturnType<Compile> {
  const callFrom = (first: number, given: unknown, exchange: unknown): unknown => {
    let value = given;
    for (let index = first; index < taps.length; index += 1) {
      const tap = taps[index];
      if (!tap) break;
      try {
        const answer: unknown = tap.fn(value, exchange);
        if (tap.type === 'sync') requireSyncResult(answer, hook, tap.name);
        else if (isPromise(answer)) return finish(index, answer, value, exchange);
        checkAnswer(answer, isWaterfall ? value : undefined, hook, tap.name);
        if (isWaterfall) value = answer;
        else if (answer !== undefined) return answer;
      } catch (error) {
        throw nameError(error, hook, tap.name);
      }
    }
    return isWaterfall ? value : undefined;
  };
  const finish = (
    index: number,
    promise: PromiseLike<unknown>,
    given: unknown,
    exchange: unknown,
  ): Promise<unknown> => {
    const name = taps[index]?.name ?? '';
    const fail = (error: unknown): never => {
      throw nameError(error, hook, name);
    };
    return Promise.resolve(promise).then((answer) => {
      try {
        checkAnswer(answer, isWaterfall ? given : undefined, hook, name);
      } catch (error) {
        fail(error);
      }
      if (isWaterfall) return callFrom(index + 1, answer, exchange);
      return answer === undefined ? callFrom(index + 1, given, exchange) : answer;
    }, fail);
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

/** The first answer that is not undefined ends the call. */
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

function allowUndefined(suits: (fields: Fields) => boolean): (value: unknown) => boolean {
  return (value) => value === undefined || (hasFields(value) && suits(value));
}

function isLimit(value: unknown): boolean {
  return value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value > 0);
}

function canBeSent(headers: unknown): boolean {
  return hasFields(headers) && findHeaderFault(headers) === undefined;
}

/**
 * What a tap must return, as far as that is quick to check. Otherwise another plugin, or core, would fail and
 * take the blame.
 */
const answers: Readonly<Record<string, { readonly what: string; suits(value: unknown): boolean }>> = {
  authenticate: {
    what: 'a principal, with kind, account and key, or undefined',
    suits: allowUndefined(
      ({ kind, account, key }) =>
        (kind === 'user' || kind === 'operator') && typeof account === 'string' && typeof key === 'string',
    ),
  },
  replay: {
    what: 'a stored reply, with status, headers and body, or undefined',
    suits: allowUndefined(
      ({ status, headers, body }) =>
        isStatus(status) &&
        hasFields(headers) &&
        (hasFields(body) || typeof body === 'string') &&
        canBeSent(headers),
    ),
  },
  route: { what: 'an array of targets', suits: Array.isArray },
  authorize: {
    what: 'a grant with targets; its outputLimit, if any, a whole number above 0; its headers valid',
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
    suits: allowUndefined(
      ({ status, headers, body }) => typeof status === 'number' && hasFields(headers) && hasFields(body),
    ),
  },
  transformStream: {
    what: 'an iterable of events',
    suits: (value) => hasFields(value) && Symbol.asyncIterator in value,
  },
};

/** Throws if an answer is not what its hook asks for. What the tap was `given` was checked before. */
export function checkAnswer(answer: unknown, given: unknown, hook: string, tap: string): void {
  const expected = answers[hook];
  if (!expected || (answer !== undefined && answer === given) || expected.suits(answer)) return;
  throw new TypeError(
    `the tap "${tap}" on "${hook}" returned ${answer === undefined ? 'nothing' : 'something else'}; ` +
      `it has to return ${expected.what}`,
  );
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
