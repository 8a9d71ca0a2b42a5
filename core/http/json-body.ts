/**
 * Reads a client's body from bytes to a value. Refuses what is no JSON, what could not be written again (invalid UTF-8,
 * nesting deeper than a stack goes), what no honest call holds, and fields that stand twice.
 */
import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors.ts';
import { countKeys, holdsBackslash, readCarefully } from './careful-json.ts';

const deepest = 128;
/** Fields in all, and objects and lists that stand in lists: the longest conversations have a quarter of that, and each takes a while in which nobody else is served. */
const mostFields = 100_000;
/** Fields of the body itself: no protocol knows a tenth of that, and all that are not known are listed as lost. */
const mostOwnFields = 1000;
/** Fields of any object in it. A tool may answer with a large one, but not with this many keys. */
const mostInObject = 20_000;
/** Characters of a name that an error shows. */
const longestName = 100;

/** A client's body as it is read: its bytes, their text, and what the text says. */
export interface ReadBody {
  readonly bytes: Buffer;
  readonly text: string;
  readonly value: unknown;
}

/** Throws `invalid_request` saying what is wrong with the body as a whole. */
export function parseJson(bytes: Buffer): ReadBody {
  if (!isUtf8(bytes))
    throw new GatewayError('invalid_request', 'The body is not valid UTF-8; send JSON encoded as UTF-8.');
  const text = bytes.toString('utf8');
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
    throw new GatewayError('invalid_request', 'The body has to be a JSON object.');
  }
  const extra = Object.keys(value)[mostOwnFields];
  if (extra !== undefined) {
    const param = extra.slice(0, longestName);
    throw new GatewayError(
      'invalid_request',
      `The body has more than ${mostOwnFields} fields of its own, the first too many is "${param}".`,
      { param },
    );
  }
  const count: Count = { fields: 0, listed: 0, crowded: undefined };
  if (!countInto(count, value, deepest))
    throw new GatewayError('invalid_request', `The body is nested deeper than ${deepest} levels.`);
  if (count.crowded !== undefined) {
    const param = count.crowded.slice(0, longestName);
    throw new GatewayError(
      'invalid_request',
      `An object in the body has more than ${mostInObject} fields, the first too many is "${param}".`,
      { param },
    );
  }
  if (count.fields + count.listed > mostFields) {
    throw new GatewayError(
      'invalid_request',
      `The body has more than ${mostFields} fields, which no conversation needs.`,
    );
  }
  // With one byte for each character a text is searched several times faster.
  const view = text.length === bytes.length ? text : bytes.toString('latin1');
  const isPlain = countKeys(view) === count.fields && !(view.includes('\\u') && holdsBackslash(value));
  return { bytes, text, value: isPlain ? value : readCarefully(text) };
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

interface Count {
  /** Members of objects. */
  fields: number;
  /** Objects and lists that stand in lists. */
  listed: number;
  /** The first field too many of one object. */
  crowded: string | undefined;
}

/**
 * Adds what a value holds to a count. Returns false if it is nested deeper than the limit: the depth is the sender's
 * choice, the stack is ours. Makes no array of an object's members, of which a long body has thousands.
 */
function countInto(count: Count, value: Readonly<Record<string, unknown>>, limit: number): boolean {
  if (limit === 0) return false;
  if (Array.isArray(value)) {
    const children: readonly unknown[] = value;
    for (const child of children) {
      if (!isContainer(child)) continue;
      count.listed += 1;
      if (!countInto(count, child, limit - 1)) return false;
    }
    return true;
  }
  let own = 0;
  for (const name in value) {
    count.fields += 1;
    own += 1;
    if (own > mostInObject) count.crowded ??= name;
    const child = value[name];
    if (isContainer(child) && !countInto(count, child, limit - 1)) return false;
  }
  return true;
}
