/**
 * Keys as the ledger stores them: by their secret's hash, never by the secret. The keyring looks up each key
 * at most once a second, so a disabled key is refused within a second. Unknown secrets have a small cache of
 * their own: a flood of them must neither reach the ledger each time nor push out the keys in use.
 */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { formatUsd, type Nano, GatewayError, type Keyring, type PeopleKeys } from '../../../core/index.ts';
import { createSecret, hashSecret, type SecretKind, isSecret } from '../../shared/secret.ts';
import { limitEntries } from '../../shared/up-to.ts';
import type { NewKey, Store, KeyRecord } from './store.ts';

const idLength = 16;

/** The public id of a key: the start of its hash. */
export function toKeyId(keyHash: string): string {
  return keyHash.slice(0, idLength);
}

/** Whether a text has the form of an id. */
export const isKeyId = (text: string): boolean => /^[0-9a-f]{16}$/.test(text);

/** A new secret, and the parts of it that may be stored. */
export function createKeySecret(kind: SecretKind) {
  const secret = createSecret(kind);
  const hash = hashSecret(secret);
  return { secret, kept: { id: toKeyId(hash), hash, lastFour: secret.slice(-4), at: Date.now() } };
}

/** Without an account it is of an operator key. */
export type KeyOrder = Omit<NewKey, 'id' | 'hash' | 'lastFour' | 'kind' | 'at'>;

/**
 * Creates a key. Only the returned value contains its secret. Returns undefined if the store creates no key.
 */
export async function issueKey(store: Store, order: KeyOrder) {
  const kind = order.account === undefined ? 'operator' : 'user';
  const { secret, kept } = createKeySecret(kind);
  const isMade = await store.createKey({ ...order, ...kept, kind });
  return isMade ? { secret, id: kept.id } : undefined;
}

/**
 * Gives a ledger without any key an account with a little credit, and a key to it, so that a new gateway
 * works immediately. Returns the line to print; undefined if there are keys already. Without credit no key is
 * created: its secret would stay in a log, and work as soon as credit is added.
 */
export async function makeFirstKey(store: Store, credit: Nano): Promise<string | undefined> {
  if (await store.hasKeys()) return undefined;
  if (credit === 0n) return 'There is no key yet: the verb `keys create --credit 5` makes one.';
  const [account, at] = ['default', Date.now()];
  await store.createAccount({ name: account, at });
  // The reference keeps two processes that start on one new ledger from both adding it.
  await store.addCredit({ account, amount: credit, kind: 'bonus', reference: 'first-key', at });
  const made = await issueKey(store, { account, name: 'first key', onlyFirst: true });
  return (
    made && `First key, with ${formatUsd(credit)} USD of credit, shown this once: export KEY=${made.secret}`
  );
}

/**
 * Milliseconds for which a lookup stays valid, counted from its start: under a second, to leave time for
 * the call itself.
 */
const ttl = 900;

/** A key as a call's principal: its account, and what it may do. */
function toHolder({ account = '', id: key, expires = Infinity, ...record }: KeyRecord) {
  const { kind, name, holder, root, disabled, models, tags, teams, accountState, readOnly } = record;
  const { networks, protocols, operations } = record;
  const permits = (networks ?? protocols ?? operations) && { networks, protocols, operations };
  const may = { models, permits, tags, teams, readOnly };
  return { kind, account, key, name, holder, root, disabled, expires, accountState, ...may };
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

  function findInForce(hash: string, isKey: () => boolean): ReturnType<Keyring['verify']> {
    const holder = known.get(hash);
    if (holder) return checkInForce(holder);
    if (unknown.has(hash) || !isKey()) return undefined;
    return known.fetch(hash).then((found) => found && checkInForce(found));
  }

  return {
    name: 'balance',
    verify: (secret) =>
      findInForce(hashSecret(secret), () => isSecret(secret) || isSecret(secret, 'operator')),
    people: createPeopleKeys(store, (hash) => findInForce(hash, () => true)),
  };
}

/** The most keys of one person that are suspended at once. */
const mostHeld = 1000;

async function switchKeys(ledger: Store, ids: readonly string[], disabled: boolean): Promise<void> {
  for (const id of ids) await ledger.changeKey({ id, changes: { disabled } });
}

/** The keys of people who sign in. The handle of one is its hash. */
function createPeopleKeys(store: () => Store, find: PeopleKeys['find']): PeopleKeys {
  const begin = (author: string, action: string, subject: string): Store =>
    store().withAction({ at: Date.now(), author, action, subject, detail: '{}' });
  return {
    find,
    async lend({ account, holder, name }) {
      const held = await store().listKeys({ holder, limit: mostHeld });
      const known = held.find(
        (key) => key.account === account && key.name === name && key.rotatedTo === undefined,
      );
      if (known && (await find(known.hash))) return known.hash;
      const { kept } = createKeySecret('user');
      const order = { ...kept, kind: 'user', account, holder, name } as const;
      const isMade = await begin(holder, 'sign a device in', kept.id).createKey(order);
      return isMade ? kept.hash : undefined;
    },
    async suspend(holder, author) {
      const keys = await store().listKeys({ holder, limit: mostHeld });
      const ids = keys.filter(({ disabled }) => !disabled).map(({ id }) => id);
      await switchKeys(begin(author, 'suspend keys', holder), ids, true);
      return ids;
    },
    resume: (holder, ids, author) => switchKeys(begin(author, 'resume keys', holder), ids, false),
  };
}
