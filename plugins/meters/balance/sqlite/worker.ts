/** One of the ledger's threads, so that the event loop never waits for the disk. */
import { flushCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { serve } from './serve.ts';

// Each thread adds its part to a diagnostic report of the process, and the environment holds the vendors'
// keys.
process.report.excludeEnv = true;

if (parentPort) parentPort.postMessage(await serve(parentPort, workerData), []);
// Node keeps what it read from the compile cache until it writes it back.
flushCompileCache();
