/** What waits for a call's cancellation is forgotten once it has settled. */
import { expect, it } from 'vitest';
import { Cancellation } from '../../core/util/cancellation.ts';
import { pause, rejectAfterCancel } from '../../core/util/timeouts.ts';

/** Counts the callbacks that it still holds. */
class CountedCancellation extends Cancellation {
  held = 0;

  override onCancel(callback: () => void): void {
    this.held += 1;
    super.onCancel(callback);
  }

  override dropCallback(callback: () => void): void {
    this.held -= 1;
    super.dropCallback(callback);
  }
}

it.each<[string, (cancellation: Cancellation) => Promise<unknown>]>([
  ['that resolved', (cancellation) => rejectAfterCancel(Promise.resolve(1), cancellation)],
  [
    'that rejected',
    (cancellation) => rejectAfterCancel(Promise.reject(new Error('no')), cancellation).catch(() => undefined),
  ],
  ['that was a pause', (cancellation) => pause(1, cancellation)],
])('holds nothing of a wait %s: a tapped stream waits once for each event', async (_, wait) => {
  const cancellation = new CountedCancellation();
  const waiting = wait(cancellation);
  expect(cancellation.held).toBe(1);
  await waiting;
  expect(cancellation.held).toBe(0);
});
