/**
 * Parses a request body. Refuses invalid JSON, invalid UTF-8, halves of characters, deep nesting, duplicate
 * fields and more fields or values than a real call has. The structure of the bytes is counted before: a few
 * megabytes of brackets, short keys or short strings would hold the event loop for seconds in `JSON.parse`,
 * while long strings cost almost nothing.
 */
import { isUtf8 } from 'node:buffer';
import type { ReadBody } from '../protocol.ts';
import { GatewayError, getMessage } from '../util/errors.ts';
import { backslash, quote, skipScalar, skipSpace, skipString } from '../util/json-text.ts';

const deepest = 128;
/**
 * Fields in all, plus objects and lists inside lists. The longest conversations have a quarter of that.
 * Parsing more would hold the event loop too long.
 */
const mostFields = 100_000;
const mostValues = 500_000;
/** Characters of JSON that can be parsed at once: the worst of them take 0.15 seconds. */
const longestUncounted = 2 * mostValues;
/** Fields at the top level. No protocol has a tenth of that, and each unknown field is listed as a loss. */
const mostOwnFields = 1000;
/** Fields of any one object. A tool may return a large object, but not with this many keys. */
const mostInObject = 20_000;
/** Where backslashes are frequent, this takes a tenth of what `includes` takes, and elsewhere longer. */
const anyEscape = /\\u[\da-fA-F]/;
/** An escaped surrogate. UTF-8 itself has none. */
const surrogate = /\\u[dD][89a-fA-F]/;
/** Characters of a name and of a path that an error shows. */
const longestName = 100;
const longestPath = 400;

interface StructureLimits {
  readonly depth: number;
  /** Members of objects, plus objects and lists inside lists. */
  readonly fields: number;
  /** Commas, since one precedes each value but the first of an object or list. */
  readonly values: number;
}

export interface Structure {
  /** Members of objects, with those that have the same name. */
  members: number;
  listed: number;
  values: number;
  /** The first limit that is exceeded, where the count stopped. */
  exceeded: keyof StructureLimits | undefined;
}

const limits: StructureLimits = { depth: deepest, fields: mostFields, values: mostValues };

const [comma, colon, openList, closeList, openObject, closeObject] = [44, 58, 91, 93, 123, 125];
/** 1 for each byte that matters outside strings: most others are digits and white space. */
const matters = new Uint8Array(256);
for (const byte of [quote, comma, colon, openList, closeList, openObject, closeObject]) matters[byte] = 1;

/** Counts until a limit is exceeded. Of invalid JSON it counts at least what `JSON.parse` reads. */
export function countStructure(bytes: Buffer, limits: StructureLimits): Structure {
  const found: Structure = { members: 0, listed: 0, values: 0, exceeded: undefined };
  /** Whether the container at each depth is a list. */
  const lists = new Uint8Array(limits.depth + 1);
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (matters[byte] === 0) continue;
    if (byte === quote) at = findStringEnd(bytes, at);
    else if (byte === comma) {
      found.values += 1;
      if (found.values > limits.values) return { ...found, exceeded: 'values' };
    } else if (byte === colon) found.members += 1;
    else if (byte === openList || byte === openObject) {
      found.listed += lists[depth] ?? 0;
      depth += 1;
      if (depth > limits.depth) return { ...found, exceeded: 'depth' };
      lists[depth] = byte === openList ? 1 : 0;
    } else if (depth > 0) depth -= 1;
    if (found.members + found.listed > limits.fields) return { ...found, exceeded: 'fields' };
  }
  return found;
}

/** Bytes of a string to look at one by one: for shorter ones a native search takes longer. */
const shortString = 64;

export function findStringEnd(bytes: Uint8Array, from: number): number {
  for (let at = from + 1; ;) {
    for (const near = at + shortString; at < near; at += 1) {
      const byte = bytes[at];
      if (byte === quote || byte === undefined) return at;
      if (byte === backslash) at += 1;
    }
    const end = bytes.indexOf(quote, at);
    if (end === -1) return bytes.length;
    let before = end;
    while (before > at && bytes[before - 1] === backslash) before -= 1;
    if ((end - before) % 2 === 0) return end;
    at = end + 1;
  }
}

/** Throws `invalid_request` if parsing these texts, JSON in the strings of a body, would take too long. */
export function checkTexts(texts: readonly string[]): void {
  if (texts.reduce((sum, { length }) => sum + length, 0) <= longestUncounted) return;
  let { fields, values } = limits;
  for (const text of texts) {
    const found = countStructure(Buffer.from(text), { depth: deepest, fields, values });
    if (found.exceeded !== undefined) throw toTooLargeError(found.exceeded);
    fields -= found.members + found.listed;
    values -= found.values;
  }
}

/** Throws `invalid_request` if the body as a whole is unacceptable. */
export function parseJson(bytes: Buffer): ReadBody {
  if (!isUtf8(bytes))
    throw new GatewayError('invalid_request', 'The body is not valid UTF-8; send JSON encoded as UTF-8.');
  const { members, exceeded } = countStructure(bytes, limits);
  if (exceeded !== undefined) throw toTooLargeError(exceeded);
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new GatewayError('invalid_request', `The body is not valid JSON: ${getMessage(error)}.`, {
      cause: error,
    });
  }
  if (!isContainer(value) || Array.isArray(value))
    throw new GatewayError('invalid_request', 'The body must be a JSON object.');
  const extra = Object.keys(value)[mostOwnFields];
  if (extra !== undefined) throw toTooManyError('The body', mostOwnFields, extra);
  const fields = countFields(value);
  const isEscaped = text.length > longestUncounted ? anyEscape.test(text) : bytes.includes('\\u');
  if (isEscaped && surrogate.test(text)) checkCharacters(value);
  const isPlain = members === fields && !(isEscaped && holdsBackslash(value));
  return { bytes, text, value: isPlain ? value : readCarefully(text) };
}

function toTooLargeError(exceeded: keyof StructureLimits): GatewayError {
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

/**
 * Counts the fields of a value. Throws if one object has too many. Creates no array of member names, since a
 * long body has thousands.
 */
function countFields(value: Readonly<Record<string, unknown>>): number {
  let fields = 0;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    for (const item of items) if (isContainer(item)) fields += countFields(item);
    return fields;
  }
  let own = 0;
  for (const name in value) {
    own += 1;
    if (own > mostInObject) throw toTooManyError('An object in the body', mostInObject, name);
    const child = value[name];
    if (isContainer(child)) fields += countFields(child);
  }
  return own + fields;
}

/**
 * Whether a field name contains a backslash. Such names are rare, and V8 may misread an escaped one if it
 * read a similar name with a backslash before: `"max_token\u0073"` becomes `max_token\`. The gateway would
 * not recognise such a field, but the provider would.
 */
function holdsBackslash(body: unknown): boolean {
  return findText(body, (text, isName) => isName && text.includes('\\')) !== undefined;
}

function shortenPath(path: string): string {
  return path.length > longestPath ? `…${path.slice(-longestPath)}` : path;
}

function toDuplicateError(place: string): GatewayError {
  const path = shortenPath(place);
  return new GatewayError('invalid_request', `The body contains the field "${path}" twice; send it once.`, {
    param: path,
  });
}

/**
 * The path below a value of the first text, or field name, that is wanted. Paths are built on the way back,
 * because almost no body has such a text.
 */
function findText(value: unknown, isWanted: (text: string, isName: boolean) => boolean): string | undefined {
  if (typeof value === 'string') return isWanted(value, false) ? '' : undefined;
  if (!isContainer(value)) return undefined;
  if (Array.isArray(value)) {
    for (const [place, item] of value.entries()) {
      const below = findText(item, isWanted);
      if (below !== undefined) return `[${place}]${below}`;
    }
    return undefined;
  }
  for (const name in value) {
    const below = isWanted(name, true) ? '' : findText(value[name], isWanted);
    if (below !== undefined) return `.${name.slice(0, longestName)}${below}`;
  }
  return undefined;
}

/**
 * Throws `invalid_request` if a text of the body is not whole characters. An escaped half of a surrogate pair
 * is none: other languages cannot write it as UTF-8.
 */
function checkCharacters(body: unknown): void {
  const place = findText(body, (text) => !text.isWellFormed())
    ?.slice(1)
    .toWellFormed();
  if (place === undefined) return;
  const path = shortenPath(place);
  throw new GatewayError(
    'invalid_request',
    `The field "${path}" contains half of a surrogate pair, such as \\ud83d alone: send whole characters.`,
    { param: path },
  );
}

/** Parses text that `JSON.parse` accepts, value by value. It leaves strings and numbers to `JSON.parse`. */
class CarefulReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(path: string): unknown {
    const code = this.#peek();
    if (code === quote) return this.#readString();
    if (code === 123) return this.#readObject(path);
    if (code === 91) return this.#readList(path);
    const from = this.#at;
    this.#at = skipScalar(this.#text, from);
    return JSON.parse(this.#text.slice(from, this.#at));
  }

  #peek(): number {
    this.#at = skipSpace(this.#text, this.#at);
    return this.#text.charCodeAt(this.#at);
  }

  /** Steps past an opening bracket or a comma. Returns false at the end of the object or list. */
  #enter(end: number): boolean {
    this.#at += 1;
    if (this.#peek() !== end) return true;
    this.#at += 1;
    return false;
  }

  #readString(): string {
    const from = this.#at;
    this.#at = skipString(this.#text, from);
    const written = this.#text.slice(from, this.#at);
    return written.includes('\\') ? String(JSON.parse(written)) : written.slice(1, -1);
  }

  #readObject(path: string): unknown {
    const members = new Map<string, unknown>();
    for (let more = this.#enter(125); more; more = this.#enterNext(125)) {
      const name = this.#readString();
      const place = `${path === '' ? '' : `${path}.`}${name.slice(0, longestName)}`;
      if (members.has(name)) throw toDuplicateError(place);
      this.#peek();
      this.#at += 1;
      members.set(name, this.read(place));
    }
    return Object.fromEntries(members);
  }

  #readList(path: string): unknown[] {
    const items: unknown[] = [];
    for (let more = this.#enter(93); more; more = this.#enterNext(93))
      items.push(this.read(`${path}[${items.length}]`));
    return items;
  }

  #enterNext(end: number): boolean {
    if (this.#peek() !== end) return this.#enter(end);
    this.#at += 1;
    return false;
  }
}

/**
 * Parses text that `JSON.parse` accepts and that is not nested too deeply. Throws `invalid_request` if an
 * object contains a field twice: `JSON.parse` keeps the last one, but a provider may keep the first.
 */
export function readCarefully(text: string): unknown {
  return new CarefulReader(text).read('');
}
