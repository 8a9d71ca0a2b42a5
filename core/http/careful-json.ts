/**
 * Two things that `JSON.parse` hides. Of two fields with one name it keeps the last, though a vendor may keep the first.
 * And V8 takes an escaped key for one that it read in the same place before, if that one holds a backslash where the
 * escape begins: it reads `"max_token\u0073"` as `max_token\`. Such a field would be unknown to us and known to the vendor.
 */
import { GatewayError } from '../errors.ts';

const quote = 34;
const backslash = 92;

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

/** Whether a quote is part of a string's content: an odd number of backslashes stands before it. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === backslash) before -= 1;
  return (at - before) % 2 === 0;
}

/** The characters that can stand before a string: `[`, `,`, `:` and `{`. */
function opensString(code: number): boolean {
  return code === 91 || code === 44 || code === 58 || code === 123;
}

/**
 * How many keys a JSON text holds. Looks only at its colons, and back from each to the quote before it, so long strings
 * cost next to nothing. Infinity if a quote could open a string as well as close a key, as in `":)"` and `"a,":`.
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

/** Whether a value has a field with a backslash in its name, which V8 may have misread. Hardly any has. */
export function holdsBackslash(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsBackslash);
  if (!isFields(value)) return false;
  for (const name in value) if (name.includes('\\') || holdsBackslash(value[name])) return true;
  return false;
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Characters that an error shows of a name, and of a path. */
const longestName = 100;
const longestPath = 400;

function repeated(place: string): GatewayError {
  const path = place.length > longestPath ? `…${place.slice(-longestPath)}` : place;
  return new GatewayError('invalid_request', `The body holds the field "${path}" twice; send it once.`, {
    param: path,
  });
}

const scalarEnd = /[,}\]\s]/g;

/** Reads a text that `JSON.parse` takes, one value after the other, and itself reads only its strings and numbers. */
class CarefulReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(path: string): unknown {
    const code = this.#next();
    if (code === quote) return this.#string();
    if (code === 123) return this.#object(path);
    if (code === 91) return this.#list(path);
    const from = this.#at;
    scalarEnd.lastIndex = from;
    this.#at = scalarEnd.test(this.#text) ? scalarEnd.lastIndex - 1 : this.#text.length;
    return JSON.parse(this.#text.slice(from, this.#at));
  }

  /** Skips white space. Returns the character behind it. */
  #next(): number {
    let code = this.#text.charCodeAt(this.#at);
    while (isSpace(code)) code = this.#text.charCodeAt((this.#at += 1));
    return code;
  }

  /** Goes on behind a bracket or a comma. Returns false at the end of the object or list. */
  #goOn(end: number): boolean {
    this.#at += 1;
    if (this.#next() !== end) return true;
    this.#at += 1;
    return false;
  }

  #string(): string {
    const from = this.#at;
    let end = this.#text.indexOf('"', from + 1);
    while (this.#text.charCodeAt(end - 1) === backslash && isEscaped(this.#text, end))
      end = this.#text.indexOf('"', end + 1);
    this.#at = end + 1;
    const written = this.#text.slice(from, end + 1);
    return written.includes('\\') ? String(JSON.parse(written)) : written.slice(1, -1);
  }

  #object(path: string): unknown {
    const members = new Map<string, unknown>();
    for (let more = this.#goOn(125); more; more = this.#more(125)) {
      const name = this.#string();
      const place = `${path === '' ? '' : `${path}.`}${name.slice(0, longestName)}`;
      if (members.has(name)) throw repeated(place);
      this.#next();
      this.#at += 1;
      members.set(name, this.read(place));
    }
    return Object.fromEntries(members);
  }

  #list(path: string): unknown[] {
    const items: unknown[] = [];
    for (let more = this.#goOn(93); more; more = this.#more(93))
      items.push(this.read(`${path}[${items.length}]`));
    return items;
  }

  #more(end: number): boolean {
    if (this.#next() !== end) return this.#goOn(end);
    this.#at += 1;
    return false;
  }
}

/**
 * The value of a text that `JSON.parse` takes and that is not nested too deeply. Throws `invalid_request` naming a field
 * that stands twice in one object.
 */
export function readCarefully(text: string): unknown {
  return new CarefulReader(text).read('');
}
