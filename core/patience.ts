/** Waiting, for so long and no longer. */
import { setDeadline } from './deadlines.ts';

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
