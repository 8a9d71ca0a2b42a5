/** Scans JSON text that `JSON.parse` has accepted, without parsing it. */

export const quote = 34;
export const backslash = 92;

export function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

/** True if the quote is escaped: an odd number of backslashes precedes it. */
export function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === backslash) before -= 1;
  return (at - before) % 2 === 0;
}

export function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** Returns the position after the closing quote. */
export function skipString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); ; end = text.indexOf('"', end + 1)) {
    if (text.charCodeAt(end - 1) !== backslash || !isEscaped(text, end)) return end + 1;
  }
}

const scalarEnd = /[,}\]\s]/g;

export function skipScalar(text: string, from: number): number {
  scalarEnd.lastIndex = from;
  // `exec` would create an array for each match.
  return scalarEnd.test(text) ? scalarEnd.lastIndex - 1 : text.length;
}
