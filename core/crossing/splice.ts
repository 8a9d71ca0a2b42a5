/**
 * Sets, adds and removes members of a JSON object in its text. Every other byte stays as the client sent it:
 * numbers keep their digits, keys their order, and prompt-cache prefixes their hash. `JSON.parse` has
 * accepted the text already, so this only has to find positions.
 */
import { quote, skipScalar, skipSpace, skipString } from '../util/json-text.ts';

/** The position of a member in the text: the opening quote of its key, and its value. */
interface Member {
  readonly start: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/**
 * A member (with an ASCII name) to set to `value`, to add if it is missing, or to remove if `value` is
 * undefined.
 */
export interface Edit {
  readonly path: readonly [string, ...string[]];
  readonly value: unknown;
}

/**
 * Skips a value. Strings are most of a long body and are skipped by searches; between them is little to scan.
 */
export function skipValue(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === quote) return skipString(text, from);
  if (first !== 123 && first !== 91) return skipScalar(text, from);
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = skipString(text, at) - 1;
    else if (code === 123 || code === 91) depth += 1;
    else if (code === 125 || code === 93) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

/** Visits the members of the object at `from` in order, until a visit returns true. */
function visitMembers(text: string, from: number, visit: (name: string, member: Member) => boolean): void {
  let at = skipSpace(text, from + 1);
  while (text.charCodeAt(at) === quote) {
    const keyEnd = skipString(text, at);
    const written = text.slice(at + 1, keyEnd - 1);
    const name = written.includes('\\') ? String(JSON.parse(`"${written}"`)) : written;
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = skipValue(text, valueStart);
    if (visit(name, { start: at, valueStart, valueEnd })) return;
    at = skipSpace(text, valueEnd);
    if (text.charCodeAt(at) === 44) at = skipSpace(text, at + 1);
  }
}

/** Writes JSON in ASCII, which is the same in every encoding that contains ASCII. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The members inside an object that these edits set. */
function innerValues(edits: readonly Edit[]): Record<string, unknown> | undefined {
  const set = edits.flatMap(({ path: [, inner, ...rest], value }): [string, unknown][] =>
    inner === undefined || value === undefined
      ? []
      : [[inner, rest.reduceRight((value, name) => ({ [name]: value }), value)]],
  );
  return set.length > 0 ? Object.fromEntries(set) : undefined;
}

/** The new text of a member that `edits` name, or name members of; undefined if it is removed. */
function editMember(
  text: string,
  { valueStart, valueEnd }: Member,
  edits: readonly Edit[],
): string | undefined {
  const [{ path: [, inner] = [], value } = {}] = edits;
  if (inner === undefined) return value === undefined ? undefined : asciiJson(value);
  const written = text.slice(valueStart, valueEnd);
  if (text[valueStart] === '{')
    return splice(
      written,
      edits.flatMap(({ path: [, name, ...rest], value: wanted }): Edit[] =>
        name === undefined ? [] : [{ path: [name, ...rest], value: wanted }],
      ),
    );
  const values = innerValues(edits);
  return values ? asciiJson(values) : written;
}

/**
 * Applies edits to a text. Several may name members of one inner object. Otherwise each names another member,
 * and no object may contain a member twice. New members go to the front.
 */
export function splice(text: string, edits: readonly Edit[]): string {
  return spliceParts(text, edits).join('');
}

/** The parts of the edited text, in order. */
function spliceParts(text: string, edits: readonly Edit[]): string[] {
  const open = skipSpace(text, 0);
  let unseen = edits;
  const edited: string[] = [];
  /** Where the rest of the text begins that is not copied yet. */
  let at = open + 1;
  /** Where the last member ends that stays; 0 before the first. */
  let keptEnd = 0;
  visitMembers(text, open, (name, member) => {
    // Without a member before them, removed members take the comma after them.
    if (keptEnd === 0 && at > open + 1) at = member.start;
    const edit = edits.find(({ path }) => path[0] === name);
    const same = edit?.path[1] === undefined ? edit && [edit] : edits.filter(({ path }) => path[0] === name);
    const json = same && editMember(text, member, same);
    if (same) unseen = unseen.filter((each) => !same.includes(each));
    if (edit && json === undefined) {
      // With one, they take the comma before them.
      edited.push(text.slice(at, Math.max(at, keptEnd || member.start)));
      at = member.valueEnd;
      return false;
    }
    if (json !== undefined) {
      edited.push(text.slice(at, member.valueStart), json);
      at = member.valueEnd;
    }
    keptEnd = member.valueEnd;
    // The rest, which may be long, is not read.
    return unseen.length === 0;
  });
  const missing = unseen.filter(({ value }) => value !== undefined);
  const added = [...Map.groupBy(missing, ({ path: [name] }) => name)].map(
    ([name, same]) => `${JSON.stringify(name)}:${asciiJson(innerValues(same) ?? same[0]?.value)}`,
  );
  const comma = added.length > 0 && keptEnd > 0 ? ',' : '';
  return [text.slice(0, open + 1), added.join(','), comma, ...edited, text.slice(at)];
}

/**
 * The same for bytes, read as one character per byte. JSON syntax is ASCII and never part of another
 * character. A long non-ASCII text would take several times as long to search and to encode again.
 */
export function spliceBytes(bytes: Buffer, text: string, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return bytes;
  const view = text.length === bytes.length ? text : bytes.toString('latin1');
  const parts = spliceParts(view, edits);
  const edited = Buffer.allocUnsafe(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) end += edited.write(part, end, 'latin1');
  return edited;
}

/** Finds the string value at `path` in the text of a JSON object, including its quotes. */
export function locateString(
  text: string,
  path: readonly string[],
): { start: number; end: number } | undefined {
  let found = { start: 0, valueStart: skipSpace(text, 0), valueEnd: text.length };
  for (const wanted of path) {
    if (text[found.valueStart] !== '{') return undefined;
    let inner: Member | undefined;
    visitMembers(text, found.valueStart, (name, member) => {
      if (name === wanted) inner = member;
      return inner !== undefined;
    });
    if (!inner) return undefined;
    found = inner;
  }
  return text[found.valueStart] === '"' ? { start: found.valueStart, end: found.valueEnd } : undefined;
}
