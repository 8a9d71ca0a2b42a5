/** Stores on a new PostgreSQL database of each test. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach } from 'vitest';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { price } from './calls.ts';
import { queryDatabase, openFresh, type OpenedDatabase } from './postgres-database.ts';

export const closers: (() => Promise<void>)[] = [];

export async function fill(store: Store): Promise<void> {
  await store.definePrice(price);
  await store.createAccount({ name: 'a', at: 1 });
  await store.addCredit({ account: 'a', amount: 1000n, kind: 'top-up', reference: undefined, at: 1 });
}

export async function open(options: Parameters<typeof openFresh>[0] = {}): Promise<OpenedDatabase> {
  const opened = await openFresh(options);
  closers.push(() => opened.dispose());
  await fill(opened.store);
  return opened;
}

export async function waitForRecovery(store: Store): Promise<void> {
  while (store.findFault()) await sleep(20);
}

/** Resolves once so many wait for a lock that someone else holds. */
export async function waitForLocks(url: string, count: number): Promise<void> {
  const waiting =
    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
  while ((await queryDatabase(url, waiting)).length < count) await sleep(20);
}

export function closeStores(): void {
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });
}
