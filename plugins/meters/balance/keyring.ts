/**
 * Finds the key of a secret. The ledger is asked at most once a second for each key, so a disabled key is
 * refused within a second. Unknown secrets are remembered apart, and only a few: a flood of them must neither
 * reach the ledger each time nor push out the keys in use.
 */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Keyring } from '../../../core/index.ts';
import { hashSecret, isSecret } from '../../shared/secret.ts';
import { upTo } from '../../shared/up-to.ts';
import { checkInForce, KeyHolder } from './key-limits.ts';
import type { Store } from './store.ts';

/**
 * Milliseconds for which an answer holds, counted from the question: under a second, with room for the call
 * itself.
 */
const ttl = 900;

export function createKeyring(store: () => Store): Keyring {
  const unknown = new LRUCache<string, true>({ max: 1000, ttl });
  // Cached by the whole hash: by a part of it, one key could be taken for another.
  const known = new LRUCache<string, KeyHolder>({
    ...upTo(10_000),
    ttl,
    async fetchMethod(hash, _, { options }) {
      const asked = performance.now();
      const holder = await lookUp(hash);
      options.ttl = Math.max(1, ttl - (performance.now() - asked));
      return holder;
    },
  });

  async function lookUp(hash: string): Promise<KeyHolder | undefined> {
    const key = await store().findKey(hash);
    if (key && timingSafeEqual(Buffer.from(key.hash), Buffer.from(hash))) return new KeyHolder(key);
    unknown.set(hash, true);
    return undefined;
  }

  return {
    name: 'balance',
    verify(secret) {
      const hash = hashSecret(secret);
      const holder = known.get(hash);
      if (holder) return checkInForce(holder);
      if (unknown.has(hash) || !(isSecret(secret) || isSecret(secret, 'operator'))) return undefined;
      return known.fetch(hash).then((found) => found && checkInForce(found));
    },
  };
}
