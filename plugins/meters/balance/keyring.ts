/**
 * Tells whose key a secret is. The ledger is asked at most once a second for each key, so a key that is disabled
 * is refused within a second. Secrets nobody has are remembered apart and in small number: a flood of them must
 * neither reach the ledger each time nor push out the keys in use.
 */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Keyring, Principal } from '../../../core/index.ts';
import { hashSecret, isSecret } from '../../shared/secret.ts';
import { keyId } from './keys.ts';
import type { Store } from './store.ts';

/** Milliseconds an answer holds: under a second, with room for the asking itself. */
const ttl = 900;

export function createKeyring(store: () => Store): Keyring {
  const unknown = new LRUCache<string, true>({ max: 1000, ttl });
  // Cached under the whole hash: under a part of it, one key could stand for another.
  const known = new LRUCache<string, Principal>({ max: 10_000, ttl, fetchMethod: (hash) => lookUp(hash) });

  async function lookUp(hash: string): Promise<Principal | undefined> {
    const key = await store().findKey(hash);
    if (key && !key.disabled && timingSafeEqual(Buffer.from(key.hash), Buffer.from(hash))) {
      return { kind: 'user', account: key.account, key: keyId(hash) };
    }
    unknown.set(hash, true);
    return undefined;
  }

  return {
    name: 'balance',
    async verify(secret) {
      if (!isSecret(secret)) return undefined;
      const hash = hashSecret(secret);
      return unknown.has(hash) ? undefined : known.fetch(hash);
    },
  };
}
