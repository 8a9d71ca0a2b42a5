/**
 * Arguments of tools are text in some protocols and objects in others. They cross without harm to their numbers: one
 * that a double does not write back alike (`1.0`, twenty digits) keeps its own digits.
 */
import { isObject } from './vendor-bag.ts';

declare global {
  interface JSON {
    /** What `JSON.stringify` writes as it is: the way to send a number that no double holds. */
    rawJSON(text: string): unknown;
  }
}

/** A number that may be written otherwise than a double is: with a point, an exponent or many digits, or minus zero. */
const unusual = /(?:^|[:,[])\s*(?:-0|-?\d+[.eE]|-?\d{16})/;

/** The value of a JSON text, to be written again by `JSON.stringify` with every digit it had. Throws where it is none. */
export function parseExactly(text: string): unknown {
  // To be shown each value takes several times as long as parsing.
  if (isUsual(text)) return JSON.parse(text);
  return JSON.parse(text, (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    return typeof value === 'number' && source !== undefined && source !== String(value) ? JSON.rawJSON(source) : value;
  });
}

/** Whether there is a number in a value: where there is none, no digit can have been lost. */
export function holdsNumber(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsNumber);
  if (!isObject(value)) return typeof value === 'number';
  for (const name in value) if (holdsNumber(value[name])) return true;
  return false;
}

/** Whether `parseExactly` gives what `JSON.parse` does. */
export function isUsual(text: string): boolean {
  return !unusual.test(text);
}

/** The text of arguments as an object; undefined where it is none. A call without arguments has an empty one. */
export function argumentsObject(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') return {};
  try {
    const value = parseExactly(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
