/** A process whose event loop is blocked for longer than its lease is not dead, and keeps its calls. */
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../support/database.ts';
import { expectSoundLedger, listRecovered, openJournalled } from './journalled.ts';

const streams = 5;
/** Seconds. A busy machine may keep the thread that beats waiting for several of them. */
const lease = 12;
const block = 2 * lease * 1000;

/** Without a database the ledger is a file. */
async function expectBlocked(database?: string): Promise<void> {
  const { start, begin, store, waitUntilSettled, close } = await openJournalled({ lease, database });
  try {
    const [busy, other] = await Promise.all([start(), start()]);
    const living = await begin(busy, streams, 100, 'living');
    await fetch(`${busy.url}/block?milliseconds=${block}`);
    await living.over;
    expect((await listRecovered(store)).size).toBe(0);
    expect(living.calls.filter(({ done }) => done)).toHaveLength(streams);
    const dead = await begin(busy, streams, 10_000, 'dead');
    busy.child.kill('SIGKILL');
    await dead.over;
    await waitUntilSettled();
    await other.stop('SIGTERM');
    expect((await listRecovered(store)).size).toBe(streams);
    await expectSoundLedger(store);
  } finally {
    await close();
  }
}

describe.concurrent('another process', () => {
  it('settles the calls of a killed process, not of a blocked one, on SQLite', () => expectBlocked());

  it('settles the calls of a killed process, not of a blocked one, on PostgreSQL', async () => {
    const { url, drop } = await openDatabase();
    await expectBlocked(url);
    await drop();
  });
});
