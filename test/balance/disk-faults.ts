/**
 * The disk below a ledger, under a test's control: for as long as a test says so, nothing can be written, or
 * a commit is slow. A test file that replaces `node:worker_threads` with `wrapThreads` has its SQLite ledgers
 * look here.
 */
import type * as threads from 'node:worker_threads';

/** Whether nothing can be written, and the milliseconds that each commit takes. */
const state = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));

export function setReadOnly(isReadOnly: boolean): void {
  Atomics.store(state, 0, isReadOnly ? 1 : 0);
}

export function setSlowness(milliseconds: number): void {
  Atomics.store(state, 1, milliseconds);
}

/** For `vi.mock`: threads that start with `disk-faults-worker.ts`. */
export function wrapThreads(original: typeof threads): typeof threads {
  class Worker extends original.Worker {
    constructor(_: string | URL, options: threads.WorkerOptions = {}) {
      const data: unknown = options.workerData;
      super(new URL('disk-faults-worker.ts', import.meta.url), {
        ...options,
        workerData: Object.assign({ faults: state.buffer }, data),
      });
    }
  }
  return { ...original, Worker };
}
