/**
 * Turns of the event loop for long texts. Those of several requests may arrive at once, and would add up to a
 * stall.
 */
import { setImmediate as giveWay } from 'node:timers/promises';

/** Characters or bytes of a long text. */
const long = 1024 * 1024;

let last: Promise<unknown> = Promise.resolve();

/** Await it before a long text is read. Undefined for a short one. */
export function takeTurn(length: number): Promise<unknown> | undefined {
  if (length < long) return undefined;
  last = last.then(() => giveWay());
  return last;
}
