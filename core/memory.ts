/**
 * Gives memory back where V8 would keep it. Starting makes its young generation grow to 16 MB and leaves garbage behind,
 * and a large picture passes as half a dozen copies of itself; an idle process would hold all of it for ever. Only a
 * collection of last resort lets go, and V8 offers that to nobody but a script that was shown its `gc`.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Milliseconds after which the first callers, who wait for the start, are served; the collection takes about 40. */
const delay = 250;
/** Milliseconds a large body has to be on its way. */
const afterLarge = 200;
/** Bytes from which a body is large: few pictures are, and nothing else is. */
const large = 8 * 1024 * 1024;

let collector: ((options: object) => void) | undefined;

function collect(options: object): void {
  if (!collector) {
    setFlagsFromString('--expose-gc');
    const found: unknown = runInNewContext('gc');
    setFlagsFromString('--no-expose-gc');
    collector = typeof found === 'function' ? (asked) => void found(asked) : () => undefined;
  }
  collector({ type: 'major', execution: 'sync', ...options });
}

function collectAll(): void {
  collect({ flavor: 'last-resort' });
}

/** Collects once, soon. */
export function releaseSoon(): void {
  setTimeout(collectAll, delay).unref();
}

export function isLarge(bytes: number): boolean {
  return bytes >= large;
}

let pending: NodeJS.Timeout | undefined;

/** To be called where a large body has become a copy of itself: lets go of those before, and of the rest when it has passed. */
export function releaseCopies(): void {
  collect({});
  clearTimeout(pending);
  pending = setTimeout(collectAll, afterLarge).unref();
}
