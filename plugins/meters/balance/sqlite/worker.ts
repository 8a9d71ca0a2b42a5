/** One of the ledger's threads, so that the event loop never waits for the disk. */
import { flushCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { serve } from './serve.ts';

// Each thread adds its part to a diagnostic report of the process, and the environment holds the vendors'
// keys.
process.report.excludeEnv = true;

/** Loading grows the young generation by 3 MB, which V8 would keep: see `core/util/memory.ts`. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collector: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collector === 'function') collector({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

if (parentPort) parentPort.postMessage(await serve(parentPort, workerData), []);
// Node holds what it read from the compile cache in memory until it writes it back.
flushCompileCache();
// Not while the gateway starts and requests its first writes.
setTimeout(collectGarbage, 1000).unref();
