/** Scans JSON text that `JSON.parse` has accepted, without parsing it. */

export const quote = 34;
export const backslash = 92;

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

/** True if the quote is escaped: an odd number of backslashes precedes it. */
function isEscaped(text: string, at: number): boolean {
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

/** Decodes a step of a JSON pointer. An invalid encoding stays as it is. */
function decodeStep(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return step;
  }
}

/**
 * The target of a `$ref` within a schema; undefined if there is none, or if it is outside the schema
 * (RFC 6901, section 6).
 */
export function resolvePointer(root: unknown, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  const steps = reference.slice(2).split('/').filter(Boolean);
  return steps.reduce<unknown>((value, step) => {
    const name = decodeStep(step);
    if (typeof value !== 'object' || value === null) return undefined;
    // Only the value's own members count, so that `constructor` leads nowhere.
    return Object.getOwnPropertyDescriptor(value, name)?.value;
  }, root);
}
