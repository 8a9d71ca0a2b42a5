/** A ledger without any key gets an account with a little credit and a key to it, so that a first start can be tried at once. */
import type { Nano } from '../../../core/index.ts';
import { issueKey } from './keys.ts';
import type { Store } from './store.ts';

const account = 'default';

/** Answers the secret of the key it made; undefined where there are keys. */
export async function makeFirstKey(store: Store, credit: Nano): Promise<string | undefined> {
  if (await store.hasKeys()) return undefined;
  const at = Date.now();
  await store.createAccount({ name: account, at });
  // By reference, so that two processes that start on one new file do not both add it.
  if (credit > 0n) await store.credit({ account, amount: credit, kind: 'bonus', reference: 'first-key', at });
  const made = await issueKey(store, { account, name: 'first key' });
  return made?.secret;
}
