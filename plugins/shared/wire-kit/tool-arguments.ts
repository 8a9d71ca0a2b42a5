/**
 * The arguments of a tool call. Some protocols carry them as text, others as an object, and providers write "no arguments"
 * in several ways. Numbers keep their own digits, even if a double would write them differently (`1.0`, twenty digits).
 */
import { isObject } from './vendor-bag.ts';

declare global {
  interface JSON {
    /** What `JSON.stringify` writes as it is. It is the only way to send a number that no double holds. */
    rawJSON(text: string): unknown;
  }
}

/** Matches numbers that a double may write differently: with a point, an exponent or many digits, or minus zero. */
const unusual = /(?:^|[:,[])\s*(?:-0|-?\d+[.eE]|-?\d{16})/;

/** Parses JSON so that `JSON.stringify` writes every number with the digits it had. Throws where the text is not JSON. */
export function parseExactly(text: string): unknown {
  // A reviver, which sees each value, takes several times as long as plain parsing.
  if (isUsual(text)) return JSON.parse(text);
  return JSON.parse(text, (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    return typeof value === 'number' && source !== undefined && source !== String(value)
      ? JSON.rawJSON(source)
      : value;
  });
}

/** Whether a value holds a number anywhere: where it does not, no digit can have been lost. */
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

/** Parses arguments into an object; undefined where the text is none. Empty text and `null` stand for no arguments. */
export function argumentsObject(text: string): Record<string, unknown> | undefined {
  if (areNone(text)) return {};
  try {
    const value = parseExactly(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export const noArguments = '{}';

/** Longer text is not trimmed to find out: it holds arguments. */
const longest = 64;

function bare(text: string): string | undefined {
  return text.length <= longest ? text.trim() : undefined;
}

/** Whether arguments so far may turn out to be none. The text is held back for as long as they may. */
export function mayBeNone(text: string): boolean {
  const start = bare(text);
  return start !== undefined && 'null'.startsWith(start);
}

/** Whether arguments are none: empty text, or the `null` that Groq writes. */
export function areNone(text: string): boolean {
  const whole = bare(text);
  return whole === '' || whole === 'null';
}

/** Arguments as they come, piece by piece. */
export class ArgumentPieces {
  #held = '';
  #told = false;

  /** Passed a piece; the answer is the text to pass on. */
  add(piece: string): string {
    if (this.#told) return piece;
    this.#held += piece;
    if (mayBeNone(this.#held)) return '';
    this.#told = true;
    return this.#held;
  }

  /** The answer is what is left to pass on. */
  end(): string {
    if (this.#told) return '';
    return areNone(this.#held) ? noArguments : this.#held;
  }
}
