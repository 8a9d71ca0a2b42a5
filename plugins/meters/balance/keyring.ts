/**
 * Finds the key of a secret. Each key is looked up at most once a second, so a disabled key is refused
 * within a second. Unknown secrets have a small cache of their own: a flood of them must neither reach the
 * ledger each time nor push out the keys in use.
 */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { GatewayError, type Keyring } from '../../../core/index.ts';
import { hashSecret, isSecret } from '../../shared/secret.ts';
import { limitEntries } from '../../shared/up-to.ts';
import type { KeyRecord, Store } from './store.ts';

/**
 * Milliseconds for which a lookup stays valid, counted from its start: under a second, to leave time for
 * the call itself.
 */
const ttl = 900;

/** A key as a call's principal: its account, and what it may do. */
function toHolder({ account = '', id: key, expires = Infinity, ...record }: KeyRecord) {
  const { kind, name, root, disabled, models, tags, accountState, readOnly } = record;
  return { kind, account, key, name, root, disabled, expires, models, tags, accountState, readOnly };
}

type KeyHolder = ReturnType<typeof toHolder>;

function buildRefusal(message: string): GatewayError {
  return new GatewayError('invalid_api_key', message);
}

/** Throws `invalid_api_key` for a key that is disabled or has expired, or whose account is not open. */
function checkInForce(holder: KeyHolder): KeyHolder {
  const { key, disabled, accountState, expires } = holder;
  if (disabled) throw buildRefusal(`The API key ${key} is disabled.`);
  if (accountState !== 'open') throw buildRefusal(`The account of the API key ${key} is ${accountState}.`);
  if (expires <= Date.now())
    throw buildRefusal(`The API key ${key} expired at ${new Date(expires).toISOString()}.`);
  return holder;
}

export function createKeyring(store: () => Store): Keyring {
  const unknown = new LRUCache<string, true>({ max: 1000, ttl });
  // Cached by the whole hash: with a part of it, one key could be taken for another.
  const known = new LRUCache<string, KeyHolder>({
    ...limitEntries(10_000),
    ttl,
    // To read the clock takes less time than a timer for each call, which would keep the time it read.
    ttlResolution: 0,
    async fetchMethod(hash, _, { options }) {
      const asked = performance.now();
      const holder = await findHolder(hash);
      options.ttl = Math.max(1, ttl - (performance.now() - asked));
      return holder;
    },
  });

  async function findHolder(hash: string): Promise<KeyHolder | undefined> {
    const key = await store().findKey(hash);
    if (key && timingSafeEqual(Buffer.from(key.hash), Buffer.from(hash))) return toHolder(key);
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
