/** Timeouts for promises. */
import { z } from 'zod';
import type { Cancellation } from './cancellation.ts';
import { GatewayError } from './errors.ts';

/** Resolves like the promise, or with undefined after `milliseconds`. The promise itself continues. */
export function withTimeout<Value>(
  promise: Promise<Value>,
  milliseconds: number,
): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds, undefined).unref();
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** Resolves after `milliseconds`, or when the call is cancelled. */
export async function pause(milliseconds: number, cancellation: Cancellation): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const clearDeadline = setDeadline(milliseconds, resolve);
  cancellation.onCancel(resolve);
  await promise;
  clearDeadline();
  cancellation.dropCallback(resolve);
}

/** Milliseconds that a plugin may take to react to a cancelled call. */
const longestReaction = 1000;

/**
 * Settles like the promise. Rejects if the promise is still pending some time after the call was cancelled,
 * for example because a tap never returns. The promise itself continues.
 */
export function rejectAfterCancel<Value>(
  promise: Promise<Value>,
  cancellation: Cancellation,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const rejectSoon = (): void => {
      setDeadline(longestReaction, () =>
        reject(new GatewayError('internal', 'A plugin did not stop after its call was cancelled.')),
      );
    };
    cancellation.onCancel(rejectSoon);
    promise.then(
      (value) => {
        cancellation.dropCallback(rejectSoon);
        resolve(value);
      },
      (error: unknown) => {
        cancellation.dropCallback(rejectSoon);
        reject(error);
      },
    );
  });
}

/** The longest timer in seconds: Node counts milliseconds in 31 bits, and a longer one fires at once. */
export const longestDeadline = 2_147_483;

/** An option in seconds, read as milliseconds. */
export const secondsOption = z
  .number()
  .positive()
  .max(longestDeadline)
  .transform((value) => value * 1000);

/** Calls back after `milliseconds`. Returns a function that clears the timer. */
export function setDeadline(milliseconds: number, callback: () => void): () => void {
  const timer = setTimeout(callback, milliseconds).unref();
  return () => clearTimeout(timer);
}
