/**
 * Parses a request body. Refuses invalid JSON, invalid UTF-8, halves of characters, deep nesting, duplicate
 * fields and more fields or values than a real call has. What would take long to parse is counted before.
 */
import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../util/errors.ts';
import { checkCharacters, countKeys, holdsBackslash, readCarefully } from './careful-json.ts';
import { countStructure, type StructureLimits } from './json-structure.ts';

const deepest = 128;
/**
 * Fields in all, plus objects and lists inside lists. The longest conversations have a quarter of that.
 * Parsing more would hold the event loop too long.
 */
const mostFields = 100_000;
/** Values in all. */
const mostValues = 500_000;
/** Bytes of JSON that can be parsed at once: the worst of them takes 0.15 seconds. */
export const longestUncounted = 2 * mostValues;
/**
 * Bytes of a body for which a search of its fields is enough: with no more fields than the limit, the worst
 * of them takes 0.15 seconds too. A full count of a conversation takes three times as long as the search.
 */
const longestSearched = 2_000_000;
/** Fields at the top level. No protocol has a tenth of that, and each unknown field is listed as a loss. */
const mostOwnFields = 1000;
/** Fields of any one object. A tool may return a large object, but not with this many keys. */
const mostInObject = 20_000;
/** An escaped surrogate. UTF-8 itself has none. */
const surrogate = /\\u[dD][89a-fA-F]/;
/** Characters of a name that an error shows. */
const longestName = 100;
export const limits: StructureLimits = { depth: deepest, fields: mostFields, values: mostValues };

/** A request body: its bytes, their text and the parsed value. */
export interface ReadBody {
  readonly bytes: Buffer;
  readonly text: string;
  readonly value: unknown;
}

/** Throws `invalid_request` if the body as a whole is unacceptable. */
export function parseJson(bytes: Buffer): ReadBody {
  if (!isUtf8(bytes))
    throw new GatewayError('invalid_request', 'The body is not valid UTF-8; send JSON encoded as UTF-8.');
  const text = bytes.toString('utf8');
  // One-byte strings are searched several times faster.
  const view = text.length === bytes.length ? text : bytes.toString('latin1');
  const members = countMembers(bytes, view);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new GatewayError(
      'invalid_request',
      `The body is not valid JSON: ${error instanceof Error ? error.message : 'it could not be read'}.`,
      { cause: error },
    );
  }
  if (!isContainer(value) || Array.isArray(value)) {
    throw new GatewayError('invalid_request', 'The body must be a JSON object.');
  }
  const extra = Object.keys(value)[mostOwnFields];
  if (extra !== undefined) throw toTooManyError('The body', mostOwnFields, extra);
  const count: Count = { fields: 0, listed: 0, values: 0, crowded: undefined };
  if (!countInto(count, value, deepest)) throw toTooLargeError('depth');
  if (count.crowded !== undefined) throw toTooManyError('An object in the body', mostInObject, count.crowded);
  if (count.fields + count.listed > mostFields) throw toTooLargeError('fields');
  if (count.values > mostValues) throw toTooLargeError('values');
  const isEscaped = view.includes('\\u');
  if (isEscaped && surrogate.test(view)) checkCharacters(value);
  const isPlain = members === count.fields && !(isEscaped && holdsBackslash(value));
  return { bytes, text, value: isPlain ? value : readCarefully(text) };
}

/** Counts the members of all objects. Throws if `JSON.parse` would take too long. */
function countMembers(bytes: Buffer, view: string): number {
  const keys = bytes.length > longestSearched ? Infinity : countKeys(view);
  if (keys <= mostFields) return keys;
  const { members, exceeded } = countStructure(bytes, limits);
  if (exceeded !== undefined) throw toTooLargeError(exceeded);
  return members;
}

export function toTooLargeError(exceeded: keyof StructureLimits): GatewayError {
  const message =
    exceeded === 'depth'
      ? `The body is nested deeper than ${deepest} levels.`
      : `The body has more than ${limits[exceeded]} ${exceeded}, more than the gateway accepts.`;
  return new GatewayError('invalid_request', message);
}

function toTooManyError(subject: string, most: number, name: string): GatewayError {
  const param = name.slice(0, longestName);
  return new GatewayError(
    'invalid_request',
    `${subject} has more than ${most} fields; the first beyond the limit is "${param}".`,
    { param },
  );
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

interface Count {
  /** Members of objects. */
  fields: number;
  /** Objects and lists inside lists. */
  listed: number;
  /** Values after the first in an object or list. */
  values: number;
  /** The first field over the limit of one object. */
  crowded: string | undefined;
}

/**
 * Counts the fields of a value. Returns false if it is nested deeper than the limit: the sender chooses the
 * depth, but the stack is ours. Creates no array of member names, since a long body has thousands.
 */
function countInto(count: Count, value: Readonly<Record<string, unknown>>, limit: number): boolean {
  if (limit === 0) return false;
  if (Array.isArray(value)) {
    const children: readonly unknown[] = value;
    count.values += Math.max(0, children.length - 1);
    for (const child of children) {
      if (!isContainer(child)) continue;
      count.listed += 1;
      if (!countInto(count, child, limit - 1)) return false;
    }
    return true;
  }
  let own = 0;
  for (const name in value) {
    own += 1;
    if (own > mostInObject) count.crowded ??= name;
    const child = value[name];
    if (isContainer(child) && !countInto(count, child, limit - 1)) return false;
  }
  count.fields += own;
  count.values += Math.max(0, own - 1);
  return true;
}
