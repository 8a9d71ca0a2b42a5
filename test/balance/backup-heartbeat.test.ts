/** The worker thread's heartbeat, on a fake clock. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BackupHeartbeat } from '../../plugins/meters/balance/backup-heartbeat.ts';

const beat = vi.fn<() => boolean>();
let heartbeat: BackupHeartbeat;
beforeEach(() => {
  vi.useFakeTimers();
  beat.mockReset().mockReturnValue(true);
  heartbeat = new BackupHeartbeat(600, beat);
});
afterEach(() => {
  heartbeat.stop();
  vi.useRealTimers();
});

it('the backup heartbeat beats at least once in each lease while the event loop does not', async () => {
  heartbeat.begin();
  for (let lease = 1; lease <= 5; lease += 1) {
    beat.mockClear();
    await vi.advanceTimersByTimeAsync(600);
    expect(beat).toHaveBeenCalled();
  }
});

it('the backup heartbeat sends nothing while the event loop sends its own', async () => {
  heartbeat.begin();
  for (let round = 0; round < 20; round += 1) {
    await vi.advanceTimersByTimeAsync(200);
    heartbeat.noteBeat();
  }
  expect(beat).not.toHaveBeenCalled();
});

it('the backup heartbeat stops once nothing is reserved, and restarts at the next reservation', async () => {
  beat.mockReturnValue(false);
  heartbeat.begin();
  await vi.advanceTimersByTimeAsync(6000);
  const given = beat.mock.calls.length;
  expect(vi.getTimerCount()).toBe(0);
  heartbeat.begin();
  beat.mockReturnValue(true);
  await vi.advanceTimersByTimeAsync(600);
  expect(beat.mock.calls.length).toBeGreaterThan(given);
});

it('the backup heartbeat does not stop before a new reservation can be in the tables', async () => {
  beat.mockReturnValueOnce(false);
  heartbeat.begin();
  await vi.advanceTimersByTimeAsync(1200);
  expect(beat.mock.calls.length).toBeGreaterThan(1);
});

it('the backup heartbeat tries again at once if the ledger cannot be used', async () => {
  beat.mockImplementationOnce(() => {
    throw new Error('busy');
  });
  heartbeat.begin();
  await vi.advanceTimersByTimeAsync(500);
  expect(beat).toHaveBeenCalledTimes(2);
});
