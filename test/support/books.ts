/** The ledger of a running gateway, opened beside it, and a key whose account has no other calls. */
import { join } from 'node:path';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { closeInTime } from './closing.ts';
import type { TestGateway } from './gateway.ts';

export async function openBooks({
  dataFolder,
  newKey,
}: TestGateway): Promise<{ readonly store: Store; readonly key: string }> {
  const store = await openSqlite({ file: join(dataFolder, 'ledger.db') });
  closeInTime(() => store.close());
  return { store, key: await newKey({ account: 'tester' }) };
}
