/** Finds keys as operators name them, and shows them: never a secret, nor its hash. */
import { formatUsd } from '../../../../core/index.ts';
import type { Key } from '../../../shared/replies/accounts.ts';
import { isKeyId } from '../keys.ts';
import type { KeyRecord, Store } from '../store.ts';
import { toIso, buildRefusal, toUsdOrNull } from './replies.ts';

export function describeKey({ spendCap, expires, ...key }: KeyRecord): Key {
  const { models = null, callsPerMinute = null, networks = null, protocols = null, operations = null } = key;
  const { id, lastFour, name, kind, account = null, disabled, tags: tagged, rotatedTo = null } = key;
  const permits = { networks, protocols, operations };
  return {
    id,
    lastFour,
    name,
    kind,
    ...(kind === 'operator' ? { readOnly: key.readOnly } : {}),
    account,
    holder: key.holder ?? null,
    disabled,
    created: toIso(key.created),
    limits: { spendCap: toUsdOrNull(spendCap), models, expires: toIso(expires), callsPerMinute, ...permits },
    tags: tagged,
    used: formatUsd(key.used),
    pending: formatUsd(key.pending),
    rotatedTo,
  };
}

/** The keys with this id or these last four characters, or else those with this name. */
export async function findKeys(store: Store, wanted: string): Promise<readonly KeyRecord[]> {
  const found = await store.listKeys({ wanted, limit: 20 });
  if (found.length > 0) return found;
  return (await store.listKeys({ name: wanted, limit: 20 })).filter(({ name }) => name === wanted);
}

/** The one key that is named so. */
export async function findKey(store: Store, wanted: string): Promise<Key> {
  const found = (await findKeys(store, wanted)).map(describeKey);
  const [key, other] = found;
  if (!key)
    throw buildRefusal(
      'not_found',
      `there is no key "${wanted}"; name it by its id, its name or its last four characters`,
    );
  if (other)
    throw buildRefusal(
      'conflict',
      `"${wanted}" can be any of these, name one by its id: ${found.map(({ id }) => id).join(', ')}`,
    );
  return key;
}

/** What keys are called, also deleted ones, by their ids. */
export async function readKeyNames(
  store: Store,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const found = await store.listKeys({ ids, limit: ids.length });
  return new Map(found.map(({ id, name }) => [id, name]));
}

/** A filter with the id of the key that it names. A key of another keyring stays as it is. */
export async function nameKey<Filter extends { readonly key?: string | undefined }>(
  store: Store,
  filter: Filter,
): Promise<Filter> {
  const { key } = filter;
  const isNamed = key !== undefined && !isKeyId(key) && (await findKeys(store, key)).length > 0;
  return isNamed ? { ...filter, key: (await findKey(store, key)).id } : filter;
}
