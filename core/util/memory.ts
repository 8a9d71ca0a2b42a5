/**
 * Returns memory that V8 would keep. Starting grows the young generation to 16 MB and leaves garbage behind,
 * and a large picture leaves half a dozen copies. An idle process would keep all of it. Only a last-resort
 * collection frees it, and V8 offers that only to scripts that hold `gc`.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Milliseconds after the last request to collect. A collection pauses everything for about 40 ms, so callers
 * that wait for the start are served first, and a series of large pictures is collected once.
 */
const delay = 250;
/** A body of this many bytes is large: only pictures and lists of vectors are. */
const large = 8 * 1024 * 1024;

let pending: NodeJS.Timeout | undefined;

function collect(): void {
  setFlagsFromString('--expose-gc');
  const collector: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collector === 'function') collector({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** Collects once, soon. Each further call postpones it. */
export function releaseSoon(): void {
  pending ??= setTimeout(collect, delay).unref();
  pending.refresh();
}

/** Reports the size of each body. A large one leaves garbage that is worth a collection. */
export function releaseAfter(bytes: number): void {
  if (bytes >= large) releaseSoon();
}
