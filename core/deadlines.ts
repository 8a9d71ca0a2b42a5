/**
 * Deadlines of many calls on one timer. A timer of its own for each call costs more than it looks: Node keeps what
 * a cleared timer was for until the next full collection, and with it the whole call.
 */
import { Running } from './running.ts';

/** Milliseconds between two looks: no deadline of a call needs to be finer. */
const tick = 100;

interface Deadline {
  readonly at: number;
  pass(): void;
}

const pending = new Running<Deadline>();
let timer: NodeJS.Timeout | undefined;

function look(): void {
  const now = performance.now();
  for (const deadline of pending) {
    if (deadline.at <= now) deadline.pass();
  }
}

/** Calls back once `milliseconds` have passed, give or take a tick; the answer takes the deadline back. */
export function setDeadline(milliseconds: number, callback: () => void): () => void {
  timer ??= setInterval(look, tick).unref();
  let isPending = true;
  const takeBack = (): void => {
    if (isPending) pending.remove(place);
    isPending = false;
  };
  const pass = (): void => {
    takeBack();
    callback();
  };
  const place = pending.add({ at: performance.now() + milliseconds, pass });
  return takeBack;
}
