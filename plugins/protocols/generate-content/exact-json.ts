/**
 * Arguments of tools are text in most protocols and objects in this one. They cross without harm to their numbers:
 * one that a double does not write back alike (`1.0`, twenty digits) keeps its own digits.
 */
import { isObject } from '../../shared/vendor-bag.ts';

declare global {
  interface JSON {
    /** What `JSON.stringify` writes as it is: the way to send a number that no double holds. */
    rawJSON(text: string): unknown;
  }
}

/** The value of a JSON text, to be written again by `JSON.stringify` with every digit it had. Throws where it is none. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    return typeof value === 'number' && source !== undefined && source !== String(value) ? JSON.rawJSON(source) : value;
  });
}

/** The text of arguments as the object this wire wants; text that holds none goes under a name of its own. */
export function argumentsObject(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  try {
    const value = parseExactly(text);
    if (isObject(value)) return value;
  } catch {
    // Told below, like an array or a number: the model's words are worth more than their form.
  }
  return { _raw: text };
}
