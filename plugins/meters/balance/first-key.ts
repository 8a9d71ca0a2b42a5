/** A ledger without any key gets an account with a little credit and a key to it, so that a first start can be tried at once. */
import { formatUsd, type Nano } from '../../../core/index.ts';
import { issueKey } from './keys.ts';
import type { Store } from './store.ts';

const account = 'default';

/** Answers what there is to tell of it; undefined where there are keys. Without credit there is none: it would stand in a log until somebody adds some. */
export async function makeFirstKey(store: Store, credit: Nano): Promise<string | undefined> {
  if (await store.hasKeys()) return undefined;
  if (credit === 0n) return 'There is no key yet: the verb `keys create --credit 5` makes one.';
  const at = Date.now();
  await store.createAccount({ name: account, at });
  // By reference, so that two processes that start on one new file do not both add it.
  await store.credit({ account, amount: credit, kind: 'bonus', reference: 'first-key', at });
  const made = await issueKey(store, { account, name: 'first key' });
  return made && `First key, with ${formatUsd(credit)} USD of credit, shown this once: export KEY=${made.secret}`;
}
