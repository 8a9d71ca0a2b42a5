/** Waiting, for so long and no longer. */
import type { Cancellation } from './cancellation.ts';
import { setDeadline } from './deadlines.ts';
import { GatewayError } from './errors.ts';

/** What a promise gives, or undefined when it takes longer than `milliseconds`; the promise goes on. */
export function within<Value>(promise: Promise<Value>, milliseconds: number): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const clearDeadline = setDeadline(milliseconds, () => resolve(undefined));
    const settle = (value: Value): void => {
      clearDeadline();
      resolve(value);
    };
    const fail = (error: unknown): void => {
      clearDeadline();
      reject(error);
    };
    promise.then(settle, fail);
  });
}

/** Longest whatever a plugin does for a call may go on once nobody wants it any more. */
const longestHeed = 1000;

/** What a promise gives. Where it is cancelled and still gives nothing a while later, as where a tap never answers, an error; the promise goes on. */
export function heeding<Value>(promise: Promise<Value>, cancellation: Cancellation): Promise<Value> {
  return new Promise((resolve, reject) => {
    let clearDeadline: (() => void) | undefined;
    const release = cancellation.onCancel(() => {
      clearDeadline = setDeadline(longestHeed, () => reject(new GatewayError('internal', 'A plugin went on though it was told to stop.')));
    });
    const settled = (): void => {
      release();
      clearDeadline?.();
    };
    const give = (value: Value): void => {
      settled();
      resolve(value);
    };
    const fail = (error: unknown): void => {
      settled();
      reject(error);
    };
    promise.then(give, fail);
  });
}
