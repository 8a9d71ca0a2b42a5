/**
 * Deadlines of many calls on one timer. A timer of its own for each call costs more than it looks: Node keeps what
 * a cleared timer was for until the next full collection, and with it the whole call.
 */

/** Milliseconds between two looks: no deadline of a call needs to be finer. */
const tick = 100;

interface Deadline {
  readonly at: number;
  readonly callback: () => void;
}

const pending = new Set<Deadline>();
let timer: NodeJS.Timeout | undefined;

function look(): void {
  const now = performance.now();
  for (const deadline of pending) {
    if (deadline.at > now) continue;
    pending.delete(deadline);
    deadline.callback();
  }
}

/** Calls back once `milliseconds` have passed, give or take a tick; the answer takes the deadline back. */
export function setDeadline(milliseconds: number, callback: () => void): () => void {
  timer ??= setInterval(look, tick).unref();
  const deadline = { at: performance.now() + milliseconds, callback };
  pending.add(deadline);
  return () => void pending.delete(deadline);
}
