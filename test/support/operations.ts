/**
 * Counts what code does instead of the time it takes, so that a verdict does not depend on the machine:
 * blocks of our sources that V8 ran, values and characters that built-in functions processed, and bytes that
 * were allocated.
 */
import { Session, type Profiler } from 'node:inspector';
import { getHeapStatistics } from 'node:v8';

export interface Operations {
  /** How often blocks of the sources ran. */
  readonly blocks: number;
  /** Items and characters that built-in functions processed. */
  readonly scanned: number;
  /** Bytes on the heap, garbage included. */
  readonly allocated: number;
}

let scanned = 0;

/** Wraps a built-in function; `cost` gets its receiver, its arguments and its result. */
function count<Self, Args extends unknown[], Result>(
  owner: object,
  name: PropertyKey,
  cost: (self: Self, args: Args, result: Result) => number,
): () => void {
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== 'function') throw new Error(`there is no built-in function ${String(name)}`);
  const call = original;
  const counting = function counting(this: Self, ...args: Args): Result {
    const result: Result = Reflect.apply(call, this, args);
    scanned += cost(this, args, result);
    return result;
  };
  return replace(owner, name, counting);
}

/** Replaces a built-in function. Returns a function that restores it. */
function replace(owner: object, name: PropertyKey, value: unknown): () => void {
  const descriptor = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { ...descriptor, value });
  return () => void Object.defineProperty(owner, name, descriptor ?? {});
}

/** Spreading a list and iterating it: the most frequent call, so without a list of arguments. */
function watchIteration(): () => void {
  const iterator: Iterator<unknown> = Object.getPrototypeOf([][Symbol.iterator]());
  const { next } = iterator;
  return replace(iterator, 'next', function counting(this: Iterator<unknown>): IteratorResult<unknown> {
    scanned += 1;
    return next.call(this);
  });
}

type Items = ArrayLike<unknown>;

function countUntil(length: number, found: number): number {
  return found < 0 ? length : found;
}

/** What a search of a text from a position on processed. */
function countSearched(text: string, [sought, from]: [unknown, number?], found: number): number {
  const start = Number(from ?? 0);
  return Math.max(0, found < 0 ? text.length - start : found - start) + String(sought).length;
}

function watchLists(): (() => void)[] {
  const lists = Array.prototype;
  const whole = [
    'join',
    'concat',
    'slice',
    'shift',
    'unshift',
    'reverse',
    'toReversed',
    'toSpliced',
    'with',
    'fill',
    'flat',
    'sort',
    'toSorted',
  ];
  return [
    ...['indexOf', 'lastIndexOf'].map((name) =>
      count<Items, unknown[], number>(lists, name, (self, _, found) => countUntil(self.length, found)),
    ),
    count<Items, [unknown], boolean>(lists, 'includes', (self, [sought], found) =>
      found ? Array.prototype.findIndex.call(self, (item) => item === sought) : self.length,
    ),
    ...whole.map((name) =>
      count<Items, unknown[], unknown>(lists, name, (self, _, result) =>
        name === 'slice' && Array.isArray(result) ? result.length : self.length,
      ),
    ),
    count<Items, [number], Items>(
      lists,
      'splice',
      ({ length }, [start], removed) => removed.length + Math.max(0, length - start),
    ),
    watchIteration(),
    ...['entries', 'keys', 'values'].map((name) =>
      count<unknown, [object], Items>(Object, name, (_self, _args, { length }) => length),
    ),
    count<unknown, [object, ...object[]], object>(Object, 'assign', (_, [, ...from]) =>
      from.reduce((sum, each) => sum + Reflect.ownKeys(each).length, 0),
    ),
    count<unknown, [Items], Buffer>(Buffer, 'concat', (_self, _args, { length }) => length),
  ];
}

function watchTexts(): (() => void)[] {
  const texts = String.prototype;
  return [
    ...['indexOf'].map((name) => count<string, [string, number?], number>(texts, name, countSearched)),
    count<string, [string, number?], boolean>(texts, 'includes', (self, args, found) =>
      countSearched(self, args, found ? 0 : -1),
    ),
    count<string, [string], number>(
      texts,
      'lastIndexOf',
      (self, _, found) => self.length - Math.max(0, found),
    ),
    ...['startsWith', 'endsWith'].map((name) =>
      count<string, [string], boolean>(texts, name, (_, [sought]) => sought.length),
    ),
    ...[
      'split',
      'trim',
      'trimEnd',
      'toLowerCase',
      'toUpperCase',
      'replace',
      'replaceAll',
      'matchAll',
      'normalize',
      'padEnd',
    ].map((name) => count<string, unknown[], unknown>(texts, name, (self) => self.length)),
    watchPatterns(),
    count<unknown, [string], unknown>(JSON, 'parse', (_, [text]) => String(text).length),
    count<unknown, [unknown], string | undefined>(
      JSON,
      'stringify',
      (_self, _args, text) => text?.length ?? 0,
    ),
    count<unknown, [string | Uint8Array], number>(Buffer, 'byteLength', (_self, _args, length) => length),
  ];
}

/** Every use of a pattern calls `exec` once it is replaced. */
function watchPatterns(): () => void {
  const { exec } = RegExp.prototype;
  const counting = function counting(this: RegExp, text: string): RegExpExecArray | null {
    const from = this.global || this.sticky ? this.lastIndex : 0;
    const found = exec.call(this, text);
    scanned += found ? found.index + found[0].length - from : this.sticky ? 1 : String(text).length - from;
    return found;
  };
  return replace(RegExp.prototype, 'exec', counting);
}

const sources = /\/(core|plugins)\/.*\.ts$|\/node_modules\/(zod|eventsource-parser)\//;

/**
 * The blocks of our sources, and of the code that parses bodies and streams for them, that ran since the last
 * call.
 */
function countBlocks(session: Session): number {
  let blocks = 0;
  session.post(
    'Profiler.takePreciseCoverage',
    (error: Error | null, report?: Profiler.TakePreciseCoverageReturnType) => {
      if (error || !report) throw error ?? new Error('V8 reports no coverage');
      for (const { url, functions } of report.result) {
        if (!sources.test(url.replace(/\?.*$/, ''))) continue;
        for (const { ranges } of functions) for (const range of ranges) blocks += range.count;
      }
    },
  );
  return blocks;
}

function readAllocatedBytes(): number {
  const statistics = getHeapStatistics();
  // Node 24 does not report this.
  return 'total_allocated_bytes' in statistics ? Number(statistics.total_allocated_bytes) : 0;
}

export interface OperationCounter {
  /** Counts a function's operations. Nothing else may run meanwhile. */
  of(run: () => unknown): Promise<Operations>;
  /** Counts those of each function in turn, which saves half of V8's reports: they take 20 ms each. */
  each(runs: readonly (() => unknown)[]): Promise<Operations[]>;
  /** Restores the built-in functions. */
  stop(): void;
}

export function countOperations(): OperationCounter {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  const undo = [...watchLists(), ...watchTexts()];
  /** Counts what ran since V8's last report. */
  const measureRun = async (run: () => unknown): Promise<Operations> => {
    scanned = 0;
    const before = readAllocatedBytes();
    await run();
    const [allocated, seen] = [readAllocatedBytes() - before, scanned];
    return { blocks: countBlocks(session), scanned: seen, allocated };
  };
  return {
    of(run) {
      countBlocks(session);
      return measureRun(run);
    },
    async each(runs) {
      countBlocks(session);
      const all: Operations[] = [];
      for (const run of runs) all.push(await measureRun(run));
      return all;
    },
    stop() {
      for (const each of undo.toReversed()) each();
      session.post('Profiler.stopPreciseCoverage');
      session.disconnect();
    },
  };
}
