/**
 * A gateway that stops in the middle of its calls for longer than its lease, like a machine that is
 * suspended, and then continues: the other one has taken it for dead, and it corrects what the other settled.
 */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { RunningGateway } from '../support/process.ts';
import { computeCost, expectSoundLedger, listEntries, listRecovered, openJournalled } from './journalled.ts';

/** Stops a gateway, but never while it holds the lock of the ledger's file: the others would wait for it. */
async function stopBetweenWrites({ child }: RunningGateway, file: string): Promise<void> {
  for (;;) {
    child.kill('SIGSTOP');
    const database = new DatabaseSync(file, { timeout: 500 });
    try {
      return database.exec('BEGIN IMMEDIATE; ROLLBACK');
    } catch {
      child.kill('SIGCONT');
      await sleep(20);
    } finally {
      database.close();
    }
  }
}

/** Stops for so many milliseconds; `lease` is in seconds. */
export async function expectSuspended({
  streams,
  words,
  milliseconds,
  lease,
}: Readonly<Record<'streams' | 'words' | 'milliseconds' | 'lease', number>>): Promise<void> {
  const { start, begin, store, file, journal, waitUntilSettled, close } = await openJournalled({ lease });
  try {
    const [sleeper, other] = await Promise.all([start(), start()]);
    const { calls, over } = await begin(sleeper, streams, words);
    await stopBetweenWrites(sleeper, file);
    const stopped = sleep(milliseconds);
    await waitUntilSettled();
    await stopped;
    sleeper.child.kill('SIGCONT');
    await over;
    for (const gateway of [sleeper, other]) await gateway.stop('SIGTERM');
    expect(calls.filter(({ done }) => done)).toHaveLength(streams);
    expect((await listRecovered(store)).size).toBe(streams);
    const entries = await listEntries(store);
    for (const { id, marker } of calls) {
      const own = entries.filter(({ call, kind }) => call === id && kind !== 'reserve');
      const charged = own.reduce((sum, { revenue }) => sum + revenue, 0n);
      const ends = own.filter(({ kind }) => kind === 'post' || kind === 'void').length;
      expect([marker, charged, ends]).toEqual([marker, computeCost(journal.get(marker)?.words ?? 0), 1]);
    }
    await expectSoundLedger(store);
  } finally {
    await close();
  }
}
