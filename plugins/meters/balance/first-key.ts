/**
 * Gives a ledger without any key an account with a little credit, and a key to it, so that a new gateway
 * works immediately.
 */
import { formatUsd, type Nano } from '../../../core/index.ts';
import { issueKey } from './keys.ts';
import type { Store } from './store.ts';

const account = 'default';

/**
 * Returns the lines to print; undefined if there are keys already. Without credit no key is created: its
 * secret would stay in a log, and work as soon as credit is added.
 */
export async function makeFirstKey(store: Store, credit: Nano): Promise<string | undefined> {
  if (await store.hasKeys()) return undefined;
  if (credit === 0n) return 'There is no key yet: the verb `keys create --credit 5` makes one.';
  const at = Date.now();
  await store.createAccount({ name: account, at });
  // The reference keeps two processes that start on one new ledger from both adding it.
  await store.addCredit({ account, amount: credit, kind: 'bonus', reference: 'first-key', at });
  const made = await issueKey(store, { account, name: 'first key', onlyFirst: true });
  return (
    made && `First key, with ${formatUsd(credit)} USD of credit, shown this once: export KEY=${made.secret}`
  );
}
