/** Keys as the ledger stores them: by their secret's hash, never by the secret. */
import { formatUsd, type Nano } from '../../../core/index.ts';
import { createSecret, hashSecret, type SecretKind } from '../../shared/secret.ts';
import type { KeyLimits, NewKey, Store } from './store.ts';

const idLength = 16;

/** The public id of a key: the start of its hash. */
export function toKeyId(keyHash: string): string {
  return keyHash.slice(0, idLength);
}

/** Whether a text has the form of an id. */
export const isKeyId = (text: string): boolean => /^[0-9a-f]{16}$/.test(text);

export const noLimits: KeyLimits = {
  spendCap: undefined,
  models: undefined,
  expires: undefined,
  callsPerMinute: undefined,
  tags: [],
  readOnly: false,
};

/** A new secret, and the parts of it that may be stored. */
export function createKeySecret(kind: SecretKind): {
  secret: string;
  kept: Pick<NewKey, 'id' | 'hash' | 'lastFour' | 'at'>;
} {
  const secret = createSecret(kind);
  const hash = hashSecret(secret);
  return { secret, kept: { id: toKeyId(hash), hash, lastFour: secret.slice(-4), at: Date.now() } };
}

export interface KeyOrder extends Partial<KeyLimits> {
  readonly name: string;
  /** Undefined for an operator key. */
  readonly account: string | undefined;
  /** Creates the key only in a ledger without keys. */
  readonly onlyFirst?: true;
}

/**
 * Creates a key. Only the returned value contains its secret. Returns undefined if the store creates no key.
 */
export async function issueKey(
  store: Store,
  order: KeyOrder,
): Promise<{ secret: string; id: string } | undefined> {
  const kind = order.account === undefined ? 'operator' : 'user';
  const { secret, kept } = createKeySecret(kind);
  const isMade = await store.createKey({ ...noLimits, ...order, ...kept, kind });
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
