/**
 * Counts the structure of JSON bytes before they are parsed. A few megabytes of brackets, short keys or short
 * strings would hold the event loop for seconds in `JSON.parse`, while long strings cost almost nothing.
 */
import { backslash, quote } from '../util/json-text.ts';

/** What JSON may contain at most. */
export interface StructureLimits {
  readonly depth: number;
  /** Members of objects, plus objects and lists inside lists. */
  readonly fields: number;
  /** Commas, since one precedes each value but the first of an object or list. */
  readonly values: number;
}

export interface Structure {
  /** Members of objects, with those that have the same name. */
  members: number;
  /** Objects and lists inside lists. */
  listed: number;
  values: number;
  /** The first limit that is exceeded, where the count stopped. */
  exceeded: keyof StructureLimits | undefined;
}

const [comma, colon, openList, closeList, openObject, closeObject] = [44, 58, 91, 93, 123, 125];
/** 1 for each byte that matters outside strings: most others are digits and white space. */
const matters = new Uint8Array(256);
for (const byte of [quote, comma, colon, openList, closeList, openObject, closeObject]) matters[byte] = 1;

/**
 * Counts until a limit is exceeded. In invalid JSON it counts at least what `JSON.parse` reads before its
 * error.
 */
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

/** Returns the position of the closing quote, or the end of the bytes. */
function findStringEnd(bytes: Buffer, from: number): number {
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
