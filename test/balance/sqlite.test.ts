/**
 * The SQLite store beyond the contract: what shares a commit, and how it handles faults of the disk, the
 * thread and the file.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { readOwnVersion } from '../../core/for-threads.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { Thread } from '../../plugins/meters/balance/sqlite/thread.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { expectSound } from '../contract/books.ts';
import { testStore } from '../contract/store.ts';
import { makeFolder } from '../support/folder.ts';
import { useThreads } from '../support/without-threads.ts';
import { openAccount, price, quote, settlement } from './calls.ts';
import { countCommits, lock, openTemporary, withDatabase, type OpenedFile } from './ledger-file.ts';

testStore('SQLite', () => openTemporary());

/** A ledger thread, as `openSqlite` starts it. */
function startLedgerThread(file: string, version = readOwnVersion()): Worker {
  return new Worker(join(import.meta.dirname, '../../plugins/meters/balance/sqlite/worker.ts'), {
    workerData: { version, file, owner: 'test', busyTimeout: 1000 },
  });
}

async function open(options: Parameters<typeof openTemporary>[0] = {}): Promise<OpenedFile> {
  const opened = await openTemporary(options);
  onTestFinished(() => opened.dispose());
  await openAccount(opened.store, 'a', 1000n);
  return opened;
}

function reserve(store: Store, id: string, amount = 10n): ReturnType<Store['reserve']> {
  return store.reserve({ id, account: 'a', key: 'k', quotes: [quote(amount)], at: 1 });
}

describe('group commit', () => {
  useThreads();

  it('shares one commit among the operations of a turn', async () => {
    const groups: number[] = [];
    const { store, file } = await open({ onGroup: ({ operations }) => groups.push(operations) });
    const before = countCommits(file);
    groups.length = 0;
    await Promise.all(Array.from({ length: 64 }, (_, index) => reserve(store, `r${index}`)));
    expect(groups).toEqual([64]);
    expect(countCommits(file) - before).toBe(1);
  });

  it('forms the next group from operations asked during a commit', async () => {
    const groups: number[] = [];
    const { store } = await open({ onGroup: ({ operations }) => groups.push(operations) });
    groups.length = 0;
    const first = reserve(store, 'first');
    await new Promise((resolve) => setImmediate(resolve));
    const later = Array.from({ length: 8 }, (_, index) => reserve(store, `r${index}`));
    await Promise.all([first, ...later]);
    expect(groups).toEqual([1, 8]);
  });

  it('keeps the other operations of a turn if one is refused and one violates a constraint', async () => {
    const { store, books } = await open();
    const answers = await Promise.allSettled([
      reserve(store, 'r1'),
      reserve(store, 'too-much', 5000n),
      store.settle(settlement('unknown', 1n)),
      reserve(store, 'r1'),
      store.addCredit({ account: 'a', amount: 2n ** 63n, kind: 'bonus', reference: undefined, at: 1 }),
      store.settle(settlement('r1', 4n)),
    ]);
    expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : 'rejected'))).toEqual([
      { status: 'reserved', quote: 0, amount: 10n },
      { status: 'short', by: 'balance', available: 990n },
      { status: 'not_found' },
      'rejected',
      'rejected',
      { status: 'posted', posted: 4n, overage: 0n },
    ]);
    expectSound(await books());
  });
});

describe('faults', () => {
  useThreads();

  it('refuses with a retryable error while another process holds the lock, then works again', async () => {
    const { store, file } = await open({ busyTimeout: 20 });
    const unlock = lock(file);
    const refused = await Promise.allSettled([reserve(store, 'r1'), reserve(store, 'r2')]);
    for (const answer of refused) {
      expect(answer).toMatchObject({
        status: 'rejected',
        reason: { code: 'ledger_unavailable', status: 503, details: { retryAfter: 1 } },
      });
    }
    expect(await store.readBalance('a')).toEqual({ total: 1000n, used: 0n, pending: 0n });
    unlock();
    expect(await reserve(store, 'r1')).toMatchObject({ status: 'reserved', amount: 10n });
  });

  it('rejects waiting operations when its thread dies, and starts another thread', async () => {
    const { file } = await open();
    let started = 0;
    const startDyingThread = () =>
      new Worker(
        "const { parentPort } = require('node:worker_threads'); parentPort.postMessage({}); " +
          "parentPort.once('message', () => { throw new Error('out of memory'); })",
        { eval: true },
      );
    const thread = new Thread(() => {
      started += 1;
      return started === 1 ? startDyingThread() : startLedgerThread(file);
    });
    await thread.open();
    const ask = (): Promise<unknown> => thread.ask({ name: 'readBalance', argument: 'a' });
    const cause = { message: 'its thread failed: out of memory', cause: { message: 'out of memory' } };
    const unavailable = { status: 'rejected', reason: { code: 'ledger_unavailable', details: { cause } } };
    expect(
      await Promise.allSettled([ask(), thread.ask({ name: 'settle', argument: settlement('r1', 1n) })]),
    ).toMatchObject([unavailable, unavailable]);
    expect(thread.down).toMatchObject(cause);
    expect(await Promise.allSettled([ask()])).toMatchObject([unavailable]);
    await vi.waitFor(() => expect(thread.down).toBeUndefined(), 120_000);
    expect(await ask()).toEqual({ total: 1000n, used: 0n, pending: 0n });
    await thread.close();
    expect(started).toBe(2);
    await expect(ask()).rejects.toMatchObject({ code: 'ledger_unavailable' });
  });

  it('starts no thread of another version, whose files replaced those of the running gateway', async () => {
    const { file } = await open();
    const thread = new Thread(() => startLedgerThread(file, '0.0.1'));
    await expect(thread.open()).rejects.toThrow('an update replaced the files of the gateway: restart it');
    await thread.close();
  });

  it('says with which code its thread ended', async () => {
    const thread = new Thread(() => new Worker('process.exit(3)', { eval: true }));
    await expect(thread.open()).rejects.toThrow('its thread ended with code 3');
    await thread.close();
  });

  it('finishes pending operations before it closes, and refuses later ones', async () => {
    const { store, books } = await open();
    const reply = [reserve(store, 'r1'), reserve(store, 'r2')];
    const closed = store.close();
    await expect(reserve(store, 'r3')).rejects.toMatchObject({ code: 'ledger_unavailable' });
    expect(await Promise.all(reply)).toMatchObject([{ status: 'reserved' }, { status: 'reserved' }]);
    await closed;
    expect((await books()).entries.filter(({ kind }) => kind === 'reserve')).toHaveLength(2);
  });
});

describe('the file', () => {
  it('keeps everything from one opening to the next', async () => {
    const { store, file } = await open();
    await reserve(store, 'r1');
    await store.close();
    const again = await openSqlite({ file });
    expect(await again.readBalance('a')).toEqual({ total: 1000n, used: 0n, pending: 10n });
    expect(await again.settle(settlement('r1', 3n))).toEqual({ status: 'posted', posted: 3n, overage: 0n });
    await again.close();
  });

  it('refuses to change or delete an entry', async () => {
    const { file } = await open();
    for (const statement of ['UPDATE entries SET at = 0', 'DELETE FROM entries']) {
      expect(() => withDatabase(file, (database) => database.exec(statement)), statement).toThrow(
        /are never (changed|deleted)/,
      );
    }
  });

  it('refuses legs that do not sum to zero', async () => {
    const { file } = await open();
    const unbalanced =
      "INSERT INTO entries (kind, account, at, credits, available) VALUES ('credit', 1, 0, -5, 6)";
    expect(() => withDatabase(file, (database) => database.exec(unbalanced))).toThrow(/CHECK/);
  });

  it('accepts one end of a reservation, even from another program', async () => {
    const { store, file } = await open();
    await reserve(store, 'r1');
    await store.settle(settlement('r1', 3n));
    const another = `INSERT INTO entries (kind, account, at, reservation)
      SELECT 'void', account, 0, number FROM entries WHERE kind = 'reserve'`;
    expect(() => withDatabase(file, (database) => database.exec(another))).toThrow(/UNIQUE/);
  });

  it('fails the audit if a roll-up was changed, and passes it before', async () => {
    const { store, file } = await open();
    await store.definePrice(price);
    await reserve(store, 'r1');
    await store.settle(settlement('r1', 4n));
    await store.addCalls({ calls: [] });
    expect(await store.audit()).toMatchObject({ ok: true });
    withDatabase(file, (database) =>
      database.exec("UPDATE series_sums SET cost = cost + 1 WHERE dimension = 'model'"),
    );
    expect(await store.audit()).toMatchObject({
      ok: false,
      findings: [{ rule: 'I12', message: expect.stringContaining('model by 1h') }],
    });
    withDatabase(file, (database) => {
      database.exec("UPDATE series_sums SET cost = cost - 1 WHERE dimension = 'model'");
      database.exec('DELETE FROM party_sums');
    });
    const fresh = await openSqlite({ file });
    expect(await fresh.audit()).toMatchObject({
      ok: false,
      findings: [
        { rule: 'I12', message: expect.stringContaining('by 1h has nothing for a k house/model house') },
        { rule: 'I12', message: expect.stringContaining('by 1d has nothing for a k house/model house') },
      ],
    });
    await fresh.close();
  });

  it.each([1, 2])('is refused if it has version %i, which was never released', async (version) => {
    const { store, file } = await open();
    await store.close();
    withDatabase(file, (database) => database.exec(`PRAGMA user_version = ${version}`));
    await expect(openSqlite({ file })).rejects.toThrow(
      `ledger.db cannot be opened: it has version ${version}, which was never released`,
    );
  });

  it('is refused if a newer program wrote it, or if it is not a ledger', async () => {
    const { store, file } = await open();
    await store.close();
    withDatabase(file, (database) => database.exec('PRAGMA user_version = 99'));
    await expect(openSqlite({ file })).rejects.toThrow(
      /ledger\.db cannot be opened: it has version 99 .* newer/,
    );
    const folder = makeFolder();
    const other = join(folder, 'other.db');
    writeFileSync(other, 'this is no database at all, and long enough to be seen as none');
    await expect(openSqlite({ file: other })).rejects.toThrow(
      /other\.db cannot be opened: .*not a database$/,
    );
    // The error says who must own the folder if it cannot be written to.
    await expect(openSqlite({ file: join(other, 'in', 'ledger.db') })).rejects.toThrow(
      `; ${join(other, 'in')} has to belong to the user who runs the gateway`,
    );
  });
});
