/**
 * Sets, adds and removes members of a JSON object in its text. Every other byte stays as the client sent it:
 * numbers keep their digits, keys their order, and prompt-cache prefixes their hash. `JSON.parse` has
 * accepted the text already, so this only has to find positions.
 */
import type { Edit } from '../protocol.ts';
import { quote, skipScalar, skipSpace, skipString } from '../util/json-text.ts';

/** Skips a value. Strings, which are most of a long body, are skipped by searches. */
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

/** Walks the members of the object at `from`, in order. One object for all members of a text. */
class MemberWalk {
  /** The name of the member, where its key and its value begin, and where its value ends. */
  name = '';
  start = 0;
  valueStart = 0;
  valueEnd = 0;
  readonly #text: string;
  #at: number;

  constructor(text: string, from: number) {
    this.#text = text;
    this.#at = skipSpace(text, from + 1);
  }

  advance(): boolean {
    const text = this.#text;
    if (text.charCodeAt(this.#at) !== quote) return false;
    const keyEnd = skipString(text, this.#at);
    const written = text.slice(this.#at + 1, keyEnd - 1);
    this.name = written.includes('\\') ? String(JSON.parse(`"${written}"`)) : written;
    this.start = this.#at;
    this.valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    this.valueEnd = skipValue(text, this.valueStart);
    const end = skipSpace(text, this.valueEnd);
    this.#at = text.charCodeAt(end) === 44 ? skipSpace(text, end + 1) : end;
    return true;
  }
}

/** The members inside an object that these edits set. */
function buildInnerValues(edits: readonly Edit[]): Record<string, unknown> | undefined {
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
  { valueStart, valueEnd }: MemberWalk,
  edits: readonly Edit[],
): string | undefined {
  const edit = edits[0];
  if (edit?.path[1] === undefined) return edit?.value === undefined ? undefined : JSON.stringify(edit.value);
  const written = text.slice(valueStart, valueEnd);
  if (text[valueStart] === '{')
    return splice(
      written,
      edits.flatMap(({ path: [, name, ...rest], value: wanted }): Edit[] =>
        name === undefined ? [] : [{ path: [name, ...rest], value: wanted }],
      ),
    );
  const values = buildInnerValues(edits);
  return values ? JSON.stringify(values) : written;
}

const none: readonly Edit[] = [];

/** Takes the edits of one member from those that are left. Few members have any, and fewer have two. */
function takeEdits(left: Edit[], member: string): readonly Edit[] {
  const at = left.findIndex(({ path }) => path[0] === member);
  if (at < 0) return none;
  const taken = left.splice(at, 1);
  const more = takeEdits(left, member);
  return more.length > 0 ? [...taken, ...more] : taken;
}

/**
 * Applies edits to a text. Several may name members of one inner object. Otherwise each names another member,
 * and no object may contain a member twice. New members go to the front.
 */
export function splice(text: string, edits: readonly Edit[]): string {
  const open = skipSpace(text, 0);
  const left = [...edits];
  const parts = [text.slice(0, open + 1), ''];
  /** Where the rest of the text begins that is not copied yet. */
  let at = open + 1;
  /** Where the last member ends that stays; 0 before the first. */
  let keptEnd = 0;
  const member = new MemberWalk(text, open);
  while (member.advance()) {
    // Without a member before them, removed members take the comma after them.
    if (keptEnd === 0 && at > open + 1) at = member.start;
    const same = takeEdits(left, member.name);
    if (same.length > 0) {
      const json = editMember(text, member, same);
      // With one, they take the comma before them.
      if (json === undefined) parts.push(text.slice(at, Math.max(at, keptEnd || member.start)));
      else parts.push(text.slice(at, member.valueStart), json);
      at = member.valueEnd;
      if (json === undefined) continue;
    }
    keptEnd = member.valueEnd;
    // The rest, which may be long, is not read.
    if (left.length === 0) break;
  }
  const added = writeMissing(left);
  parts[1] = added === '' || keptEnd === 0 ? added : `${added},`;
  parts.push(text.slice(at));
  return parts.join('');
}

function writeMissing(left: Edit[]): string {
  let added = '';
  for (let edit = left[0]; edit; edit = left[0]) {
    const name = edit.path[0];
    const same = takeEdits(left, name);
    const value = edit.path.length > 1 ? buildInnerValues(same) : edit.value;
    if (value !== undefined)
      added += `${added === '' ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(value)}`;
  }
  return added;
}

/** The same for bytes, whose text is known. */
export function spliceBytes(bytes: Buffer, text: string, edits: readonly Edit[]): Buffer {
  return edits.length === 0 ? bytes : Buffer.from(splice(text, edits));
}

/** The text of a member of a JSON object; undefined if it has none of this name. */
export function sliceMember(text: string, name: string): string | undefined {
  const member = new MemberWalk(text, skipSpace(text, 0));
  while (member.advance()) if (member.name === name) return text.slice(member.valueStart, member.valueEnd);
  return undefined;
}

/** The texts of the items of a JSON list. */
export function sliceItems(text: string): string[] {
  const items: string[] = [];
  for (let at = skipSpace(text, skipSpace(text, 0) + 1); at < text.length && text[at] !== ']';) {
    const end = skipValue(text, at);
    items.push(text.slice(at, end));
    const next = skipSpace(text, end);
    at = text[next] === ',' ? skipSpace(text, next + 1) : next;
  }
  return items;
}

/** Finds the string value at `path` in the text of a JSON object, including its quotes. */
export function locateString(
  text: string,
  path: readonly string[],
): { start: number; end: number } | undefined {
  let at = skipSpace(text, 0);
  let end = text.length;
  for (const wanted of path) {
    if (text[at] !== '{') return undefined;
    const member = new MemberWalk(text, at);
    do if (!member.advance()) return undefined;
    while (member.name !== wanted);
    at = member.valueStart;
    end = member.valueEnd;
  }
  return text[at] === '"' ? { start: at, end } : undefined;
}
