/** How operators create, list and change keys. Only the reply that creates a secret shows it. */
import { z } from 'zod';
import { formatUsd } from '../../../../core/index.ts';
import { issueKey, createKeySecret } from '../keys.ts';
import type { KeyRecord, Store } from '../store.ts';
import { addCredit } from './accounts.ts';
import { checkModelPatterns, type Offer } from './model-patterns.ts';
import { accountName, amount, budgetTerms, label, limits, page, keepStated, tags } from './reading.ts';
import { toIso, buildPage, buildRefusal, toUsdOrNull } from './replies.ts';

export const keyOrder = z.strictObject({
  /** The account that the key belongs to, which is created if no account has this name yet. */
  account: accountName.optional(),
  /** `operator` keys use the admin API, belong to no account and spend nothing. */
  kind: z.enum(['user', 'operator']).default('user'),
  name: label.default(''),
  /** An operator key that sends GET requests only. */
  readOnly: z.boolean().default(false),
  limits: limits.default({}),
  credit: amount.optional(),
  /** Tags that every call of the key gets. */
  tags: tags.default([]),
  budgets: z.array(budgetTerms).max(10).default([]),
});
export const keyQuery = page.extend({
  account: accountName.optional(),
  kind: z.enum(['user', 'operator']).optional(),
});
export const keyChanges = z.strictObject({
  name: label.optional(),
  disabled: z.boolean().optional(),
  limits: limits.optional(),
  tags: tags.optional(),
});
const longestOverlap = 30 * 24 * 3600;
export const rotationOrder = z.strictObject({
  /** Seconds for which the old secret still works. */
  overlap: z.int('it has to be a whole number of seconds').min(0).max(longestOverlap).default(0),
});

/** A key as it is shown: never its secret, nor its hash. */
function describeKey({ spendCap, models, expires, callsPerMinute, ...key }: KeyRecord) {
  const { id, lastFour, name, kind, account = null, disabled, tags: tagged, rotatedTo = null } = key;
  return {
    id,
    lastFour,
    name,
    kind,
    ...(kind === 'operator' ? { readOnly: key.readOnly } : {}),
    account,
    disabled,
    created: toIso(key.created),
    limits: {
      spendCap: toUsdOrNull(spendCap),
      models: models ?? null,
      expires: toIso(expires),
      callsPerMinute: callsPerMinute ?? null,
    },
    tags: tagged,
    used: formatUsd(key.used),
    pending: formatUsd(key.pending),
    rotatedTo,
  };
}

export type ShownKey = ReturnType<typeof describeKey>;

/** The one key with this id, or with these last four characters. */
export async function findKey(store: Store, wanted: string): Promise<ShownKey> {
  const found = (await store.listKeys({ wanted, limit: 20 })).map(describeKey);
  const [key, other] = found;
  if (!key)
    throw buildRefusal(
      'not_found',
      `there is no key "${wanted}"; name it by its id or its last four characters`,
    );
  if (other)
    throw buildRefusal(
      'conflict',
      `"${wanted}" can be any of these, name one by its id: ${found.map(({ id }) => id).join(', ')}`,
    );
  return key;
}

/**
 * Throws if limits are set that an operator key cannot have. It spends nothing and calls no model, so only
 * an expiry makes sense.
 */
function checkOperatorKey(
  { spendCap, models, callsPerMinute }: z.output<typeof limits>,
  more: Readonly<Record<string, unknown>>,
): void {
  const asked = {
    ...more,
    'limits.spendCap': spendCap,
    'limits.models': models,
    'limits.callsPerMinute': callsPerMinute,
  };
  const [param] = Object.entries(asked).find(([, value]) => value !== undefined && value !== null) ?? [];
  if (param !== undefined)
    throw buildRefusal(
      'invalid_request',
      `${param}: an operator key spends nothing and calls no model`,
      param,
    );
}

/**
 * What to do about an account whose calls are all refused because it has no credit; undefined if it has
 * some.
 */
async function adviseCredit(store: Store, account: string): Promise<string | undefined> {
  const balance = await store.readBalance(account);
  if (!balance || balance.total > 0n) return undefined;
  return `The account "${account}" has no credit, so every call that costs something is refused.`;
}

export type NewKey = ShownKey & { readonly key: string; readonly warning?: string };

export async function createKey(
  store: Store,
  order: z.output<typeof keyOrder>,
  offer: Offer,
): Promise<NewKey> {
  const { account, kind, name, readOnly, limits: stated, credit, tags: tagged, budgets } = order;
  await checkModelPatterns(stated.models, offer, 'limits.models');
  if ((account === undefined) !== (kind === 'operator'))
    throw buildRefusal(
      'invalid_request',
      'a user key has an account, and an operator key has none',
      'account',
    );
  if (kind === 'user' && readOnly)
    throw buildRefusal(
      'invalid_request',
      'readOnly: only an operator key can be limited to reading',
      'readOnly',
    );
  if (kind === 'operator') checkOperatorKey(stated, { credit, tags: tagged[0], budgets: budgets[0] });
  if (account !== undefined) await store.createAccount({ name: account, at: Date.now() });
  const { spendCap, models, expires, callsPerMinute } = stated;
  const limited = {
    spendCap: spendCap ?? undefined,
    models: models ?? undefined,
    expires: expires ?? undefined,
    callsPerMinute: callsPerMinute ?? undefined,
  };
  const made = await issueKey(store, { account, name, readOnly, tags: tagged, ...limited });
  if (!made) throw buildRefusal('not_found', `there is no open account "${account}" to make a key for`);
  if (credit !== undefined && account !== undefined)
    await addCredit(store, { account, amount: credit, kind: 'top-up' });
  for (const budget of budgets)
    await store.createBudget({ ...budget, scope: 'key', subject: made.id, at: Date.now() });
  const warning = account === undefined ? undefined : await adviseCredit(store, account);
  return {
    key: made.secret,
    ...(await findKey(store, made.id)),
    ...(warning === undefined ? {} : { warning }),
  };
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

export async function listKeys(store: Store, query: z.output<typeof keyQuery>) {
  return buildPage(await store.listKeys(query), query.limit, describeKey, ({ id }) => id);
}

export async function changeKey(
  store: Store,
  wanted: string,
  { limits: changed, ...rest }: z.output<typeof keyChanges>,
  offer: Offer,
): Promise<ShownKey> {
  await checkModelPatterns(changed?.models, offer, 'limits.models');
  const { id, kind } = await findKey(store, wanted);
  if (kind === 'operator' && changed) checkOperatorKey(changed, { tags: rest.tags?.[0] });
  await store.changeKey({ id, changes: keepStated({ ...rest, ...changed }) });
  return findKey(store, id);
}

/**
 * A new secret with the account, the limits and the spending of the old one, which works until the overlap
 * ends.
 */
export async function rotateKey(
  store: Store,
  wanted: string,
  { overlap }: z.output<typeof rotationOrder> = { overlap: 0 },
): Promise<ShownKey & { readonly key: string }> {
  const { id, kind } = await findKey(store, wanted);
  const { secret, kept } = createKeySecret(kind);
  const isRotated = await store.rotateKey({ id, until: kept.at + overlap * 1000, key: kept });
  if (!isRotated) throw buildRefusal('conflict', `the key ${id} was rotated before`);
  return { key: secret, ...(await findKey(store, kept.id)) };
}

export async function deleteKey(store: Store, wanted: string) {
  const key = await findKey(store, wanted);
  await store.deleteKey({ id: key.id, at: Date.now() });
  return { ...key, deleted: true as const };
}
