/**
 * Catches three problems that `JSON.parse` hides.
 * If an object has two fields with one name, `JSON.parse` keeps the last, but a provider may keep the first.
 * V8 may misread an escaped key if it read a similar key with a backslash before: `"max_token\u0073"` becomes
 * `max_token\`. We would not recognise such a field, but the provider would.
 * An escaped half of a surrogate pair is no character: other languages cannot write it as UTF-8.
 */
import { GatewayError } from '../util/errors.ts';
import {
  backslash,
  isEscaped,
  isSpace,
  quote,
  skipScalar,
  skipSpace,
  skipString,
} from '../util/json-text.ts';

/** The characters that can precede a string: `[`, `,`, `:` and `{`. */
function opensString(code: number): boolean {
  return code === 91 || code === 44 || code === 58 || code === 123;
}

/**
 * Counts the keys of a JSON text; of invalid JSON, at least those that `JSON.parse` reads before its error.
 * It looks only at colons and the quote before each, so long strings cost almost nothing. Returns Infinity
 * if a quote could open a string as well as close a key, as in `":)"` and `"a,":`.
 */
export function countKeys(text: string): number {
  let keys = 0;
  for (let colon = text.indexOf(':'); colon >= 0; colon = text.indexOf(':', colon + 1)) {
    let at = colon - 1;
    let code = text.charCodeAt(at);
    while (isSpace(code)) code = text.charCodeAt((at -= 1));
    if (code !== quote) continue;
    let before = at - 1;
    code = text.charCodeAt(before);
    if (code === backslash && isEscaped(text, at)) continue;
    while (isSpace(code)) code = text.charCodeAt((before -= 1));
    if (opensString(code)) return Infinity;
    keys += 1;
  }
  return keys;
}

/** True if a field name contains a backslash, which V8 may have misread. Such names are rare. */
export function holdsBackslash(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsBackslash);
  if (!isFields(value)) return false;
  for (const name in value) if (name.includes('\\') || holdsBackslash(value[name])) return true;
  return false;
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Characters of a name and of a path that an error shows. */
const longestName = 100;
const longestPath = 400;

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
 * The path below a value of the first text, or field name, that is not whole characters. Paths are built on
 * the way back, because almost no body has such a text.
 */
function findBroken(value: unknown): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : '';
  if (!isFields(value)) return undefined;
  if (Array.isArray(value)) {
    for (const [place, item] of value.entries()) {
      const below = findBroken(item);
      if (below !== undefined) return `[${place}]${below}`;
    }
    return undefined;
  }
  for (const name in value) {
    const below = name.isWellFormed() ? findBroken(value[name]) : '';
    if (below !== undefined) return `.${name.slice(0, longestName)}${below}`;
  }
  return undefined;
}

/** Throws `invalid_request` if a text of the body is not whole characters. */
export function checkCharacters(body: unknown): void {
  const place = findBroken(body)?.slice(1).toWellFormed();
  if (place === undefined) return;
  const path = shortenPath(place);
  throw new GatewayError(
    'invalid_request',
    `The field "${path}" contains half of a surrogate pair, such as \\ud83d alone: send whole characters.`,
    { param: path },
  );
}

/**
 * Parses text that `JSON.parse` accepts, value by value. It leaves only strings and numbers to `JSON.parse`.
 */
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

  /** Skips white space. Returns the next character. */
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
 * object contains a field twice.
 */
export function readCarefully(text: string): unknown {
  return new CarefulReader(text).read('');
}
