/** The thread for reports and audits ends when nothing is asked, and the next one goes on with its audit. */
import { once } from 'node:events';
import { utimesSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { useThreads } from '../support/without-threads.ts';
import { openAccount, quote } from './calls.ts';
import { openTemporary, withDatabase, type OpenedFile } from './ledger-file.ts';

useThreads();

/** When each thread for reports has ended, in the order of their starts. */
let threads: Promise<unknown>[];
let opened: OpenedFile;

function note(worker: Worker): void {
  if (worker.threadName === 'ledger reports') threads.push(once(worker, 'exit'));
}

beforeEach(async () => {
  threads = [];
  process.on('worker', note);
  opened = await openTemporary({ patience: 1 });
  await openAccount(opened.store, 'a', 1000n);
});
afterEach(async () => {
  process.off('worker', note);
  await opened.dispose();
});

async function reserve(id: string): Promise<void> {
  await opened.store.reserve({ id, account: 'a', key: 'k', quotes: [quote(10n)], at: 1 });
}

it('audits only what is new when the thread of the last audit has ended', async () => {
  const { store, file } = opened;
  await reserve('first');
  expect(await store.audit()).toMatchObject({ ok: true, entries: 2 });
  await threads[0];
  // Only an audit that reads the first entries once more finds this.
  withDatabase(file, (database) =>
    database.exec("DROP TRIGGER entries_stay; UPDATE entries SET kind = 'void' WHERE number = 1"),
  );
  await reserve('second');
  expect(await store.audit()).toMatchObject({ ok: true, entries: 3, pending: 2 });
  expect(threads).toHaveLength(2);
  const fresh = await openSqlite({ file });
  expect(await fresh.audit()).toMatchObject({ ok: false, entries: 3 });
  await fresh.close();
});

it('starts no thread for an audit while nothing was written', async () => {
  const { store, file } = opened;
  // What was written just now may be followed by more at the same time.
  utimesSync(`${file}-wal`, 1, 1);
  const report = await store.audit();
  await threads[0];
  expect(await store.audit()).toBe(report);
  expect(threads).toHaveLength(1);
  await reserve('first');
  expect(await store.audit()).toMatchObject({ ok: true, entries: 2 });
  expect(threads).toHaveLength(2);
});
