/** A process whose event loop is blocked for longer than its lease is not dead, and keeps its calls. */
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { issueKey } from '../../plugins/meters/balance/keys.ts';
import { openStore, type StoreOptions } from '../../plugins/meters/balance/open-store.ts';
import { openDatabase } from '../support/database.ts';
import { makeDataFolder, startProcess } from '../support/process.ts';
import { listEntries, startJournallingVendor, stream, type Made } from './killed-gateways.ts';

interface Blocked {
  /**
   * How many calls were settled by the other gateway, and how many clients had their whole stream, after the
   * event loop was blocked.
   */
  readonly taken: number;
  readonly whole: number;
  /** How many calls the other gateway settled after the first was killed. */
  readonly takenOfDead: number;
  readonly audit: unknown;
}

/** Blocks for so many milliseconds; `lease` is in seconds. Without a database the ledger is a file. */
async function runBlocked(
  streams: number,
  milliseconds: number,
  lease: number,
  database?: string,
): Promise<Blocked> {
  const folder = makeDataFolder();
  const { vendor } = await startJournallingVendor(10);
  const options: StoreOptions =
    database === undefined ? { kind: 'sqlite' } : { kind: 'postgres', url: database, connections: 1 };
  const store = await openStore(options, folder);
  await store.createAccount({ name: 'a', at: 1 });
  await store.addCredit({ account: 'a', amount: 10n ** 15n, kind: 'bonus', reference: undefined, at: 1 });
  const key = await issueKey(store, { name: '', account: 'a' });
  const environment = {
    TOLLGATE_CONFIG: 'test/balance/blocked-process.config.ts',
    TOLLGATE_DATA: folder,
    BLOCKED_LEASE: String(lease),
    BLOCKED_LEDGER: database ?? '',
    OPENAI_API_KEY: 'sk-vendor',
    OPENAI_BASE_URL: vendor.origin,
  };
  const [busy, other] = await Promise.all([startProcess(environment), startProcess(environment)]);
  const begin = async (
    name: string,
    words: number,
  ): Promise<{ readonly calls: readonly Made[]; readonly over: Promise<unknown> }> => {
    const calls = Array.from({ length: streams }, (_, index): Made => ({
      marker: `call-${name}-${index}`,
      key: key?.id ?? '',
      id: undefined,
      words: 0,
      done: false,
    }));
    const over = Promise.all(calls.map((made) => stream(busy.url, key?.secret ?? '', made, words)));
    while (calls.some((made) => made.words === 0)) await sleep(20);
    return { calls, over };
  };
  const countTaken = async (): Promise<number> =>
    new Set(
      (await listEntries(store)).flatMap(({ call, flags }) => (flags.includes('recovered') ? [call] : [])),
    ).size;
  try {
    const living = await begin('living', 100);
    await fetch(`${busy.url}/block?milliseconds=${milliseconds}`);
    await living.over;
    const takenOfLiving = await countTaken();
    const dead = await begin('dead', 10_000);
    busy.child.kill('SIGKILL');
    await dead.over;
    while ((await store.listPending({ limit: 1 })).length > 0) await sleep(100);
    await other.stop('SIGTERM');
    return {
      taken: takenOfLiving,
      whole: living.calls.filter(({ done }) => done).length,
      takenOfDead: (await countTaken()) - takenOfLiving,
      audit: await store.audit(),
    };
  } finally {
    for (const { child } of [busy, other]) child.kill('SIGKILL');
    await store.close();
    await vendor.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

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
