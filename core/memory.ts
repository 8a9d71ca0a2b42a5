/**
 * Gives back what starting took. Loading makes V8 grow its young generation to 16 MB and leave garbage behind, and
 * an idle process would hold both for ever: only a collection of last resort lets go of them, and V8 offers that
 * to nobody but a script that was shown its `gc`.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Milliseconds after which the first callers, who wait for the start, are served; the collection takes about 40. */
const delay = 250;

/** Collects once, soon. */
export function releaseSoon(): void {
  setTimeout(() => {
    setFlagsFromString('--expose-gc');
    const collect: unknown = runInNewContext('gc');
    setFlagsFromString('--no-expose-gc');
    if (typeof collect === 'function') collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }, delay).unref();
}
