/**
 * The arguments of a tool call. Some protocols carry them as text, others as an object, and providers write
 * "no arguments" in several ways. Numbers keep their own digits, even if a double would write them
 * differently (`1.0`, twenty digits).
 */
import { parseExactly, type ToolCall } from '../../../core/index.ts';
import type { Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

/** Whether a value contains a number anywhere. If it does not, parsing cannot have changed a digit. */
export function containsNumber(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(containsNumber);
  if (!isObject(value)) return typeof value === 'number';
  for (const name in value) if (containsNumber(value[name])) return true;
  return false;
}

/** A number, in an object or array, that a double may not represent exactly. */
const longNumber = /[:[,]\s*-?\d{16}/;

/** A body whose numbers keep all their digits; undefined if none of these inputs of tools needs that. */
export function parseLongNumbers(text: string, inputs: readonly unknown[]): unknown {
  return inputs.some(containsNumber) && longNumber.test(text) ? parseExactly(text) : undefined;
}

/** Parses arguments; undefined if they are no object. Empty text and `null` mean no arguments. */
export function parseArguments(text: string): Record<string, unknown> | undefined {
  if (isEmptyArguments(text)) return {};
  try {
    const value = parseExactly(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The arguments of a call as an object, for wires without namespaces. Those that are no JSON object are sent
 * as text: that is better than losing them.
 */
export function encodeArguments(call: ToolCall, path: string, protocol: string, lose: Lose): Fields {
  const { arguments: text, custom, namespace } = call;
  if (namespace !== undefined) lose(`${path}.namespace`, `${protocol} has no namespaces for tools`);
  const object = custom ? { input: text } : parseArguments(text);
  if (!object) lose(`${path}.arguments`, 'not a JSON object; sent as text in "_raw"', 'approximated');
  return object ?? { _raw: text };
}

export const noArguments = '{}';

/** A longer text is not worth trimming: it contains arguments. */
const longestEmpty = 64;

function trimShort(text: string): string | undefined {
  return text.length <= longestEmpty ? text.trim() : undefined;
}

/** Whether the arguments received so far may turn out to be none, so that the text has to wait. */
export function mayBeEmptyArguments(text: string): boolean {
  const start = trimShort(text);
  return start !== undefined && 'null'.startsWith(start);
}

/** Whether arguments are none: empty text, or the `null` that some vendors write. */
export function isEmptyArguments(text: string): boolean {
  const whole = trimShort(text);
  return whole === '' || whole === 'null';
}

/** Streams arguments piece by piece. "No arguments" become an empty object, which clients can parse. */
export class ArgumentPieces {
  #held = '';
  #started = false;

  /** Takes a piece and returns the text to send now. */
  add(piece: string): string {
    if (this.#started) return piece;
    this.#held += piece;
    if (mayBeEmptyArguments(this.#held)) return '';
    this.#started = true;
    return this.#held;
  }

  /** Returns the text that is still to be sent. */
  end(): string {
    if (this.#started) return '';
    return isEmptyArguments(this.#held) ? noArguments : this.#held;
  }
}
