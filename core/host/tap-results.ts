/**
 * What a tap's result has to be, and how errors name the tap. A wrong result would fail later, in core, where
 * no one sees which plugin it came from.
 */
import { findHeaderFault, isStatus } from '../http/reply-headers.ts';
import { isGatewayError } from '../util/errors.ts';
import { describeReason, isSlip, PluginError } from '../util/plugin-error.ts';

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
export function checkResult(result: unknown, isNeeded: boolean, hook: string, tap: string): void {
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
