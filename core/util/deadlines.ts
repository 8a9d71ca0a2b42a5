/** Timers that do not keep the process alive, and options that set them. */
import { z } from 'zod';

/**
 * The longest timer in seconds. Node's timers count milliseconds in 31 bits; a longer one would fire at once.
 */
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
