/** Keys as the ledger knows them: by the start of their secret's hash, and never by the secret. */
import { createSecret, hashSecret, type SecretKind } from '../../shared/secret.ts';
import type { KeyLimits, NewKey, Store } from './store.ts';

const idLength = 16;

/** The public id of a key: the start of its hash. */
export function toKeyId(keyHash: string): string {
  return keyHash.slice(0, idLength);
}

export const noLimits: KeyLimits = {
  spendCap: undefined,
  models: undefined,
  expires: undefined,
  callsPerMinute: undefined,
  tags: [],
  readOnly: false,
};

/** A new secret, and the parts of it that may be kept. */
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
  /** Makes the key only in a ledger that has none. */
  readonly onlyFirst?: true;
}

/** Makes a key. Its secret is in this answer and nowhere else. Undefined where the store makes none. */
export async function issueKey(
  store: Store,
  order: KeyOrder,
): Promise<{ secret: string; id: string } | undefined> {
  const kind = order.account === undefined ? 'operator' : 'user';
  const { secret, kept } = createKeySecret(kind);
  const isMade = await store.createKey({ ...noLimits, ...order, ...kept, kind });
  return isMade ? { secret, id: kept.id } : undefined;
}
