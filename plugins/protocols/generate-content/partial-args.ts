/**
 * The arguments of a call that Vertex streams in pieces. Each piece has a JSON path, and a value to put there
 * or text to append.
 */
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';

type Step = string | number;

const step = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/g;
/** Without a limit, a path such as `$.a[4000000000]` would make a list of that length. */
const longestList = 100_000;

function parsePath(path: string): Step[] {
  return [...path.matchAll(step)].map(([, plain, index, single, double]) =>
    index === undefined ? (plain ?? (single ?? double ?? '').replaceAll(/\\(.)/g, '$1')) : Number(index),
  );
}

const kinds = ['stringValue', 'numberValue', 'boolValue', 'nullValue'] as const;

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function getOwn(holder: object, key: Step): unknown {
  return Object.hasOwn(holder, key) ? Reflect.get(holder, key) : undefined;
}

/** Sets an own property, also when the name is `__proto__`. */
function put(holder: object, key: Step, value: unknown): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

/** The object or list under a key. A new one is a list if the next step is an index. */
function descend(holder: object, key: Step, next: Step): object {
  const existing = getOwn(holder, key);
  if (isContainer(existing)) return existing;
  const created = typeof next === 'number' ? [] : {};
  put(holder, key, created);
  return created;
}

export class PartialArguments {
  readonly #whole: Record<string, unknown> = {};

  /** Adds one piece. A piece without a path or a value is ignored. */
  add(piece: unknown): void {
    if (!isObject(piece) || typeof piece.jsonPath !== 'string') return;
    const kind = kinds.find((each) => piece[each] !== undefined);
    const steps = parsePath(piece.jsonPath);
    if (kind === undefined || steps.some((key) => typeof key === 'number' && key >= longestList)) return;
    const last = steps.pop();
    if (last === undefined) return;
    let holder: object = this.#whole;
    for (const [index, key] of steps.entries()) holder = descend(holder, key, steps[index + 1] ?? last);
    const before = getOwn(holder, last);
    const value = kind === 'nullValue' ? null : piece[kind];
    put(holder, last, typeof before === 'string' && typeof value === 'string' ? before + value : value);
  }

  toString(): string {
    return JSON.stringify(this.#whole);
  }
}
