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
  readonly path: readonly [string] | readonly [string, string];
  readonly value: unknown;
}

/**
 * Skips a value. Strings are most of a long body and are skipped by searches; between them is little to scan.
 */
function skipValue(text: string, from: number): number {
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

/** The members of the object at `from`, by name. */
function readMembers(text: string, from: number): Map<string, Member> {
  const members = new Map<string, Member>();
  visitMembers(text, from, (name, member) => {
    members.set(name, member);
    return false;
  });
  return members;
}

interface Change {
  readonly from: number;
  readonly to: number;
  readonly with: string;
}

/** Removes members with one comma each: the one before, or the one after if no member remains in front. */
function planRemovals(members: Map<string, Member>, names: ReadonlySet<string>): Change[] {
  const changes: Change[] = [];
  if (names.size === 0) return changes;
  const inOrder = [...members];
  let previous: Member | undefined;
  let keptBefore = false;
  for (const [index, [name, member]] of inOrder.entries()) {
    if (names.has(name)) {
      const next = inOrder[index + 1]?.[1];
      changes.push(
        keptBefore && previous
          ? { from: previous.valueEnd, to: member.valueEnd, with: '' }
          : { from: member.start, to: next?.start ?? member.valueEnd, with: '' },
      );
    } else {
      keptBefore = true;
    }
    previous = member;
  }
  return changes;
}

/** Writes JSON in ASCII, which is the same in every encoding that contains ASCII. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The changes that apply the edits to the object at `open`. New members go to the front. */
function planChanges(text: string, open: number, edits: readonly Edit[]): Change[] {
  const members = readMembers(text, open);
  const removed = new Set(
    edits.flatMap(({ path, value }) =>
      path.length === 1 && value === undefined && members.has(path[0]) ? [path[0]] : [],
    ),
  );
  const changes = planRemovals(members, removed);
  const added: string[] = [];
  for (const {
    path: [name, inner],
    value,
  } of edits) {
    const member = members.get(name);
    if (member && inner !== undefined && text[member.valueStart] === '{') {
      changes.push(...planChanges(text, member.valueStart, [{ path: [inner], value }]));
      continue;
    }
    if (value === undefined) continue;
    const json = asciiJson(inner === undefined ? value : { [inner]: value });
    if (member) {
      changes.push({ from: member.valueStart, to: member.valueEnd, with: json });
    } else {
      added.push(`${JSON.stringify(name)}:${json}`);
    }
  }
  const comma = added.length > 0 && members.size > removed.size ? ',' : '';
  return [...changes, { from: open + 1, to: open + 1, with: added.join(',') + comma }];
}

/** Applies edits to a text. Each edit must name another member, and no object may contain a member twice. */
export function splice(text: string, edits: readonly Edit[]): string {
  const changes = planChanges(text, skipSpace(text, 0), edits).toSorted(
    (first, second) => first.from - second.from || first.to - second.to,
  );
  let edited = '';
  let at = 0;
  for (const change of changes) {
    edited += text.slice(at, change.from) + change.with;
    at = change.to;
  }
  return edited + text.slice(at);
}

/**
 * The same for bytes, read as one character per byte. JSON syntax is ASCII and never part of another
 * character. A long non-ASCII text would take several times as long to search and to encode again.
 */
export function spliceBytes(bytes: Buffer, text: string, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return bytes;
  const view = text.length === bytes.length ? text : bytes.toString('latin1');
  return Buffer.from(splice(view, edits), 'latin1');
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
