/**
 * Serves SQLite ledgers on the event loop, as commands do: they answer the same messages. Loading a thread
 * takes 84 ms of processor time, and one for reports 266 ms: half the time of tests about the ledger.
 * Processes that tests start keep their threads.
 */
import { syncBuiltinESMExports } from 'node:module';
import threads, { type WorkerOptions } from 'node:worker_threads';
import { afterAll, beforeAll } from 'vitest';
import { serveHere } from '../../plugins/meters/balance/sqlite/serve.ts';

const { Worker } = threads;

function openHere(file: string | URL, options: WorkerOptions = {}): unknown {
  const isLedger = String(file).endsWith('/balance/sqlite/worker.ts');
  return isLedger ? serveHere(options.workerData) : new Worker(file, options);
}

function setWorker(constructor: unknown): void {
  Object.assign(threads, { Worker: constructor });
  syncBuiltinESMExports();
}

/** Gives the ledgers of a test file, or of a `describe`, their threads. */
export function useThreads(): void {
  beforeAll(() => setWorker(Worker));
  afterAll(() => setWorker(openHere));
}

beforeAll(() => setWorker(openHere));
afterAll(() => setWorker(Worker));
