/** Deadlines, none of which keeps the process alive. */

/** The longest in seconds: Node's timers count milliseconds in 31 bits, and what is longer would be over at once. */
export const longestDeadline = 2_147_483;

/** Calls back once `milliseconds` have passed; the answer clears the deadline. */
export function setDeadline(milliseconds: number, callback: () => void): () => void {
  const timer = setTimeout(callback, milliseconds).unref();
  return () => clearTimeout(timer);
}
