/**
 * Decodes the function calls of one candidate. A part usually holds a complete call. Vertex may spread a call
 * over several parts: the first has the name, and all except the last have `willContinue`.
 */
import type { Opaque } from '../../../core/index.ts';
import type { CallsSeen } from '../../shared/wire-kit/finish-reason.ts';
import { unwrapInput } from '../../shared/wire-kit/offered-tools.ts';
import { readObjects, readText } from '../../shared/wire-kit/values.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import type { ReplyState } from './decode-candidate.ts';
import { makeCallId } from './tool-names.ts';

interface OpenCall {
  readonly name: string;
  readonly id: string;
  readonly opaque: Opaque[];
  readonly pieces: PartialArguments;
  args: unknown;
}

export class FunctionCalls {
  readonly #candidate: number;
  readonly #state: ReplyState;
  #open: OpenCall | undefined;
  #count = 0;
  #cut = false;

  constructor(candidate: number, state: ReplyState) {
    this.#candidate = candidate;
    this.#state = state;
  }

  get seen(): CallsSeen {
    return { any: this.#count > 0, cut: this.#cut };
  }

  /** Reads the `functionCall` of one part. */
  read(call: Fields, opaque: readonly Opaque[]): void {
    const name = readText(call.name);
    if (name !== '' || !this.#open) {
      this.end();
      if (name === '') return;
      this.#count += 1;
      this.#open = {
        name,
        id: readText(call.id),
        opaque: [],
        pieces: new PartialArguments(),
        args: undefined,
      };
    }
    const open = this.#open;
    for (const state of opaque) open.opaque.push(state);
    open.args = call.args ?? open.args;
    for (const piece of readObjects(call.partialArgs)) open.pieces.add(piece);
    if (call.willContinue !== true) this.#emit(open);
  }

  /** Ends a call of which more was announced. Its arguments break off, and stay so for every client. */
  end(): void {
    if (this.#open) this.#emit(this.#open, true);
  }

  #emit({ name, id, opaque, pieces, args }: OpenCall, announced = false): void {
    this.#open = undefined;
    const isCut = announced && args === undefined;
    this.#cut ||= isCut;
    const candidate = this.#candidate;
    const { log, makeKey, findTool } = this.#state;
    const tool = findTool(name);
    const whole = args === undefined ? pieces.toString() : JSON.stringify(args);
    // Without its last bracket no client can parse it.
    const json = isCut ? whole.slice(0, -1) : whole;
    const block = log.startBlock(candidate, 'tool-call', {
      id: id || makeCallId(makeKey(), candidate, this.#count, name, json),
      name: tool?.name ?? name,
      ...(tool?.custom ? { custom: true } : {}),
      ...(opaque.length > 0 ? { opaque } : {}),
    });
    log.emit({ type: 'block-delta', candidate, block, text: tool?.custom ? unwrapInput(json) : json });
    log.endBlock(candidate, block, opaque);
  }
}

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

function getOwn(holder: object, key: Step): unknown {
  return Object.hasOwn(holder, key) ? Reflect.get(holder, key) : undefined;
}

/** Sets an own property, even if its name is `__proto__`. */
function put(holder: object, key: Step, value: unknown): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Returns the object or list under a key. Creates a list if the next step is an index, or else an object. */
function descend(holder: object, key: Step, next: Step): object {
  const existing = getOwn(holder, key);
  if (typeof existing === 'object' && existing !== null) return existing;
  const created = typeof next === 'number' ? [] : {};
  put(holder, key, created);
  return created;
}

class PartialArguments {
  readonly #whole: Record<string, unknown> = {};

  /** Adds one piece. A piece without a path or a value is ignored. */
  add(piece: Fields): void {
    if (typeof piece.jsonPath !== 'string') return;
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
