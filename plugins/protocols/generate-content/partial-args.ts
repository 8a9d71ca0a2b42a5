/**
 * The arguments of a call that Vertex streams in pieces: each says a place, as a JSON path, and a value to put there
 * or a text to go on with.
 */
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';

type Step = string | number;

const step = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/g;
/** A list grows by what is put into it, and not to any length a path may name. */
const longestList = 100_000;

function stepsOf(path: string): Step[] {
  return [...path.matchAll(step)].map(([, plain, index, single, double]) =>
    index === undefined ? (plain ?? (single ?? double ?? '').replaceAll(/\\(.)/g, '$1')) : Number(index),
  );
}

const kinds = ['stringValue', 'numberValue', 'boolValue', 'nullValue'] as const;

function get(holder: unknown, key: Step): unknown {
  return typeof holder === 'object' && holder !== null && Object.hasOwn(holder, key)
    ? Reflect.get(holder, key)
    : undefined;
}

/** Puts a value without ever reaching a prototype. */
function put(holder: object, key: Step, value: unknown): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

export class PartialArguments {
  readonly #whole: Record<string, unknown> = {};

  /** Passed one piece; a piece that says no place or no value is passed over. */
  add(piece: unknown): void {
    if (!isObject(piece) || typeof piece.jsonPath !== 'string') return;
    const kind = kinds.find((each) => piece[each] !== undefined);
    const steps = stepsOf(piece.jsonPath);
    const last = steps.pop();
    if (kind === undefined || last === undefined || steps.some(isTooLong) || isTooLong(last)) return;
    let holder: object = this.#whole;
    for (const [index, key] of steps.entries()) {
      const there = get(holder, key);
      const next: object =
        typeof there === 'object' && there !== null
          ? there
          : typeof (steps[index + 1] ?? last) === 'number'
            ? []
            : {};
      if (next !== there) put(holder, key, next);
      holder = next;
    }
    const before = get(holder, last);
    const value = kind === 'nullValue' ? null : piece[kind];
    put(holder, last, typeof before === 'string' && typeof value === 'string' ? before + value : value);
  }

  toString(): string {
    return JSON.stringify(this.#whole);
  }
}

function isTooLong(key: Step): boolean {
  return typeof key === 'number' && key >= longestList;
}
