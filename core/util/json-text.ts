/** Scans JSON text that `JSON.parse` has accepted, without parsing it. */

export const quote = 34;
export const backslash = 92;

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

/** True if the character is escaped: an odd number of backslashes precedes it. */
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

/** The target of a `$ref` within a schema, if it is there (RFC 6901, section 6). */
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

declare global {
  interface JSON {
    /** Written verbatim by `JSON.stringify`: the only way to send a number that no double holds. */
    rawJSON(text: string): unknown;
  }
}

/** Numbers that a double may write differently: with a point, an exponent, many digits, or minus zero. */
const unusual = /(?:^|[:,[])\s*(?:-0|-?\d+[.eE]|-?\d{16})/;

/** Parses JSON so that `JSON.stringify` writes each number's original digits. Throws if it is none. */
export function parseExactly(text: string): unknown {
  // A reviver visits each value and takes several times as long as plain parsing.
  if (hasPlainNumbers(text)) return JSON.parse(text);
  return JSON.parse(text, (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    return typeof value === 'number' && source !== undefined && source !== String(value)
      ? JSON.rawJSON(source)
      : value;
  });
}

/** Whether `parseExactly` returns the same as `JSON.parse`. */
export function hasPlainNumbers(text: string): boolean {
  return !unusual.test(text);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
