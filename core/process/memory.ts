/**
 * Gives memory back where V8 would keep it. Starting makes its young generation grow to 16 MB and leaves
 * garbage behind, and a large picture passes as half a dozen copies of itself; an idle process would hold all
 * of it for ever. Only a collection of last resort lets go, and V8 offers that to nobody but a script that
 * was shown its `gc`.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Milliseconds after the last occasion: the collection stops everything for about 40, so whoever waits for
 * the start is served first, and a row of large pictures is collected once.
 */
const delay = 250;
/** Bytes from which a body is large: only pictures are, and few of them. */
const large = 8 * 1024 * 1024;

let pending: NodeJS.Timeout | undefined;

function collect(): void {
  setFlagsFromString('--expose-gc');
  const collector: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collector === 'function') collector({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** Collects once, soon; each further call before that puts it off. */
export function releaseSoon(): void {
  pending ??= setTimeout(collect, delay).unref();
  pending.refresh();
}

/** To be told the size of each body of a call: a large one leaves garbage that is worth a collection. */
export function releaseAfter(bytes: number): void {
  if (bytes >= large) releaseSoon();
}
