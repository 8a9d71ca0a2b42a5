/** Waiting, for so long and no longer. */
import { GatewayError } from '../errors.ts';
import type { Cancellation } from './cancellation.ts';
import { setDeadline } from './deadlines.ts';

/** What a promise gives, or undefined when it takes longer than `milliseconds`; the promise goes on. */
export function within<Value>(promise: Promise<Value>, milliseconds: number): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    follow(
      promise,
      setDeadline(milliseconds, () => resolve(undefined)),
      resolve,
      reject,
    );
  });
}

/** Resolves after `milliseconds`, or as soon as the call is cancelled. */
export async function pause(milliseconds: number, cancellation: Cancellation): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const clearDeadline = setDeadline(milliseconds, resolve);
  const release = cancellation.onCancel(resolve);
  await promise;
  clearDeadline();
  release();
}

/** Hands on what a promise gives, once `done` has ended the wait. */
function follow<Value>(
  promise: Promise<Value>,
  done: () => void,
  resolve: (value: Value) => void,
  reject: (error: unknown) => void,
): void {
  const give = (value: Value): void => {
    done();
    resolve(value);
  };
  const fail = (error: unknown): void => {
    done();
    reject(error);
  };
  promise.then(give, fail);
}

/** Milliseconds for which a plugin may go on with a call that nobody wants any more. */
const longestHeed = 1000;

/** What a promise gives. Rejects where it still gives nothing a while after its call was cancelled, as with a tap that never answers; the promise goes on. */
export function heeding<Value>(promise: Promise<Value>, cancellation: Cancellation): Promise<Value> {
  return new Promise((resolve, reject) => {
    let clearDeadline: (() => void) | undefined;
    const release = cancellation.onCancel(() => {
      clearDeadline = setDeadline(longestHeed, () =>
        reject(new GatewayError('internal', 'A plugin went on though it was told to stop.')),
      );
    });
    const done = (): void => {
      release();
      clearDeadline?.();
    };
    follow(promise, done, resolve, reject);
  });
}
