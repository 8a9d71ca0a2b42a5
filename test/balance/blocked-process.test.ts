/** A process whose event loop is blocked for longer than its lease is not dead, and keeps its calls. */
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../support/database.ts';
import { runBlocked } from './blocked-process.ts';

const streams = 5;
/** Seconds. A busy machine may keep the thread that beats waiting for several of them. */
const lease = 12;
const block = 2 * lease * 1000;
const sound = {
  taken: 0,
  whole: streams,
  takenOfDead: streams,
  audit: expect.objectContaining({ ok: true, pending: 0, findings: [] }),
};

describe.concurrent('another process', () => {
  it('settles the calls of a killed process, not of a blocked one, on SQLite', async () => {
    expect(await runBlocked(streams, block, lease)).toEqual(sound);
  });

  it('settles the calls of a killed process, not of a blocked one, on PostgreSQL', async () => {
    const { url, drop } = await openDatabase();
    expect(await runBlocked(streams, block, lease, url)).toEqual(sound);
    await drop();
  });
});
