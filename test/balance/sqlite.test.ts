/** The SQLite store beyond the contract: what shares a commit, and what faults of the disk, the thread and the file do. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { text } from '../../plugins/meters/balance/sqlite/rows.ts';
import { Thread } from '../../plugins/meters/balance/sqlite/thread.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { expectSound, testStore } from '../contract/store.ts';
import { quote, settlement } from './calls.ts';
import { commitsLogged, lock, openTemporary, temporaryFolder, withDatabase, type OpenedFile } from './ledger-file.ts';

testStore('SQLite', () => openTemporary());

let opened: OpenedFile | undefined;
afterEach(async () => {
  await opened?.dispose();
  opened = undefined;
});

async function open(options: Parameters<typeof openTemporary>[0] = {}): Promise<OpenedFile> {
  opened = await openTemporary(options);
  await opened.store.createAccount({ name: 'a', at: 1 });
  await opened.store.credit({ account: 'a', amount: 1000n, kind: 'top-up', reference: undefined, at: 1 });
  return opened;
}

function reserve(store: Store, id: string, amount = 10n): ReturnType<Store['reserve']> {
  return store.reserve({ id, account: 'a', key: 'k', quotes: [quote(amount)], at: 1 });
}

describe('group commit', () => {
  it('shares one commit among the operations of a turn', async () => {
    const groups: number[] = [];
    const { store, file } = await open({ onGroup: (operations) => groups.push(operations) });
    const before = commitsLogged(file);
    groups.length = 0;
    await Promise.all(Array.from({ length: 64 }, (_, index) => reserve(store, `r${index}`)));
    expect(groups).toEqual([64]);
    expect(commitsLogged(file) - before).toBe(1);
  });

  it('forms the next group of what is asked while one is being committed', async () => {
    const groups: number[] = [];
    const { store } = await open({ onGroup: (operations) => groups.push(operations) });
    groups.length = 0;
    const first = reserve(store, 'first');
    await new Promise((resolve) => setImmediate(resolve));
    const later = Array.from({ length: 8 }, (_, index) => reserve(store, `r${index}`));
    await Promise.all([first, ...later]);
    expect(groups).toEqual([1, 8]);
  });

  it('keeps the others of a turn where one is refused and one breaks a rule of the tables', async () => {
    const { store, books } = await open();
    const answers = await Promise.allSettled([
      reserve(store, 'r1'),
      reserve(store, 'too-much', 5000n),
      store.settle(settlement('unknown', 1n)),
      reserve(store, 'r1'),
      store.credit({ account: 'a', amount: 2n ** 63n, kind: 'bonus', reference: undefined, at: 1 }),
      store.settle(settlement('r1', 4n)),
    ]);
    expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : 'rejected'))).toEqual([
      { quote: 0, amount: 10n }, undefined, { status: 'not_found' }, 'rejected', 'rejected', { status: 'posted', posted: 4n, overage: 0n },
    ]);
    expectSound(await books());
  });
});

describe('faults', () => {
  it('refuses as unavailable, retryable, while another process holds the lock, and works again afterwards', async () => {
    const { store, file } = await open({ busyTimeout: 20 });
    const unlock = lock(file);
    const refused = await Promise.allSettled([reserve(store, 'r1'), reserve(store, 'r2')]);
    for (const answer of refused) {
      expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'ledger_unavailable', status: 503, details: { retryAfter: 1 } } });
    }
    expect(await store.balance('a')).toEqual({ total: 1000n, used: 0n, pending: 0n });
    unlock();
    expect(await reserve(store, 'r1')).toEqual({ quote: 0, amount: 10n });
  });

  it('rejects all that waits, and all that comes later, once its thread is gone', async () => {
    const worker = new Worker("require('node:worker_threads').parentPort.once('message', () => { throw new Error('out of memory'); })", { eval: true });
    const thread = new Thread(worker, () => undefined);
    const ask = (): Promise<unknown> => thread.ask({ name: 'balance', argument: 'a' });
    const waiting = await Promise.allSettled([ask(), thread.ask({ name: 'settle', argument: settlement('r1', 1n) })]);
    const cause = { message: 'its thread failed', cause: { message: 'out of memory' } };
    const unavailable = { status: 'rejected', reason: { code: 'ledger_unavailable', details: { cause } } };
    expect(waiting).toMatchObject([unavailable, unavailable]);
    expect(await Promise.allSettled([ask()])).toMatchObject([unavailable]);
    await thread.close();
  });

  it('finishes what was asked before it closes, and refuses what is asked afterwards', async () => {
    const { store, books } = await open();
    const asked = [reserve(store, 'r1'), reserve(store, 'r2')];
    const closed = store.close();
    await expect(reserve(store, 'r3')).rejects.toMatchObject({ code: 'ledger_unavailable' });
    expect(await Promise.all(asked)).toEqual([{ quote: 0, amount: 10n }, { quote: 0, amount: 10n }]);
    await closed;
    expect((await books()).transactions.filter(({ kind }) => kind === 'reserve')).toHaveLength(2);
  });
});

describe('the file', () => {
  it('keeps everything from one opening to the next', async () => {
    const { store, file } = await open();
    await reserve(store, 'r1');
    await store.close();
    const again = await openSqlite({ file });
    expect(await again.balance('a')).toEqual({ total: 1000n, used: 0n, pending: 10n });
    expect(await again.settle(settlement('r1', 3n))).toEqual({ status: 'posted', posted: 3n, overage: 0n });
    await again.close();
  });

  it('refuses to change or delete what was booked', async () => {
    const { file } = await open();
    for (const statement of ['UPDATE entries SET amount = 0', 'DELETE FROM entries', 'UPDATE transactions SET at = 0', 'DELETE FROM transactions']) {
      expect(() => withDatabase(file, (database) => database.exec(statement)), statement).toThrow(/are never (changed|deleted)/);
    }
  });

  it('has room for one end of a reservation, whoever writes it', async () => {
    const { store, file } = await open();
    await reserve(store, 'r1');
    await store.settle(settlement('r1', 3n));
    const another = "INSERT INTO transactions (kind, account, reservation, at) SELECT 'void', account, number, 0 FROM reservations";
    expect(() => withDatabase(file, (database) => database.exec(another))).toThrow(/UNIQUE/);
  });

  it('settles no reservation that expired', async () => {
    const { store, file } = await open();
    await reserve(store, 'r1');
    withDatabase(file, (database) => database.exec("UPDATE reservations SET state = 'expired'"));
    expect(await store.settle(settlement('r1', 3n))).toEqual({ status: 'expired' });
  });

  it('marks each reservation with the process that answers for it, and until when', async () => {
    const { store, file } = await open();
    const another = await openSqlite({ file });
    await reserve(store, 'r1');
    await reserve(another, 'r2');
    await another.close();
    const rows = withDatabase(file, (database) => database.prepare('SELECT owner, lease > created AS leased FROM reservations').all());
    expect(rows).toMatchObject([{ leased: 1n }, { leased: 1n }]);
    expect(new Set(rows.map((row) => text(row, 'owner'))).size).toBe(2);
    for (const row of rows) expect(text(row, 'owner')).toMatch(new RegExp(`^${process.pid}-`));
  });

  it('keeps with each end what a usage report needs', async () => {
    const { store, file } = await open();
    await reserve(store, 'r1');
    await store.settle(settlement('r1', 3n, { attempts: 2, reason: 'aborted', basis: 'estimate' }));
    const row = withDatabase(file, (database) => database.prepare("SELECT * FROM transactions WHERE kind = 'post'").get());
    expect(row).toMatchObject({
      reason: 'aborted', basis: 'estimate', model: 'house/model', provider: 'house',
      price: '{"input":"1","output":"2"}', usage: '{"input":3,"output":4}', attempts: 2n, at: 2000n,
    });
  });

  it('is not opened where a newer program wrote it, or where it is no ledger', async () => {
    const { store, file } = await open();
    await store.close();
    withDatabase(file, (database) => database.exec('PRAGMA user_version = 99'));
    await expect(openSqlite({ file })).rejects.toThrow(/ledger\.db cannot be opened: it has version 99 .* newer/);
    const folder = temporaryFolder();
    const other = join(folder.path, 'other.db');
    writeFileSync(other, 'this is no database at all, and long enough to be seen as none');
    await expect(openSqlite({ file: other })).rejects.toThrow(/other\.db cannot be opened: .*not a database/);
    folder.remove();
  });
});
