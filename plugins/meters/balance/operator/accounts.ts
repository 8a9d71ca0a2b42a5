/** How operators create and list accounts, and add credit. */
import { z } from 'zod';
import { formatUsd, type GatewayError, type Nano } from '../../../../core/index.ts';
import {
  accountStates,
  creditSources,
  deepestTeam,
  mostCredit,
  type AccountRecord,
  type Balance,
  type Entry,
  type EntryQuery,
  type Store,
} from '../store.ts';
import { accountName, amount, creditKind, page, reference, buildNumberSchema } from './reading.ts';
import { toIso, buildPage, buildRefusal } from './replies.ts';

export const accountOrder = z.strictObject({ name: accountName });
/** The account below which it moves, with all accounts below it; null moves it to the top. */
export const accountMove = z.strictObject({ parent: accountName.nullable() });
export const accountChanges = z.strictObject({
  state: z.enum(accountStates, `the states of an account are ${accountStates.join(', ')}`),
});
export const creditOrder = z.strictObject({
  account: accountName,
  amount,
  kind: creditKind.default('top-up'),
  reference: reference.optional(),
});
export const creditQuery = page.extend({
  account: accountName.optional(),
  after: buildNumberSchema(0).optional(),
});

/** An account as it is shown; amounts are decimal strings in USD. */
function describeBalance(account: string, { total, used, pending }: Balance) {
  return {
    account,
    currency: 'USD',
    balance: formatUsd(total - used),
    total: formatUsd(total),
    used: formatUsd(used),
    pending: formatUsd(pending),
    available: formatUsd(total - used - pending),
  };
}

export type ShownBalance = ReturnType<typeof describeBalance>;

export function buildAccountError(account: string): GatewayError {
  return buildRefusal(
    'not_found',
    `there is no account "${account}"; create it first, or create its first key`,
  );
}

export async function createAccount(store: Store, { name }: z.output<typeof accountOrder>) {
  const isNew = await store.createAccount({ name, at: Date.now() });
  if (!isNew) throw buildRefusal('conflict', `there is an account "${name}" already`);
  return requireBalance(store, name);
}

export async function requireBalance(store: Store, account: string): Promise<ShownBalance> {
  const balance = await store.readBalance(account);
  if (!balance) throw buildAccountError(account);
  return describeBalance(account, balance);
}

const unchanged = {
  held: 'calls of this account are still running: disable it, wait for them, and close it then',
  closed: 'a closed account stays closed',
} as const;

type Changes = z.output<typeof accountChanges>;

export async function changeAccount(store: Store, account: string, { state }: Changes) {
  const changed = await store.setAccountState({ account, state });
  if (changed === 'not_found') throw buildAccountError(account);
  if (changed !== 'changed') throw buildRefusal('conflict', unchanged[changed], 'state');
  return { ...(await requireBalance(store, account)), state };
}

const unmoved = {
  cycle: 'an account cannot move below itself or an account below it',
  deep: `a tree of accounts has at most ${deepestTeam} levels`,
} as const;

type Place = z.output<typeof accountMove>;

export async function moveAccount(store: Store, account: string, { parent }: Place) {
  const moved = await store.moveAccount({ account, parent: parent ?? undefined });
  if (moved === 'not_found') throw buildAccountError(account);
  if (moved === 'no_parent') throw buildAccountError(parent ?? '');
  if (moved !== 'moved') throw buildRefusal('conflict', unmoved[moved], 'parent');
  return { ...(await requireBalance(store, account)), parent };
}

/** All credits of an account, read page by page. */
export async function* readAllCredits(
  store: Store,
  query: Pick<EntryQuery, 'account' | 'from' | 'to'>,
): AsyncGenerator<Entry> {
  const limit = 1000;
  for (let after = 0, isMore = true; isMore;) {
    const entries = await store.listEntries({ ...query, kinds: ['credit'], after, limit });
    yield* entries;
    after = entries.at(-1)?.number ?? after;
    isMore = entries.length === limit;
  }
}

/** An account with the sum of its credits of each kind. */
export async function describeAccount(store: Store, account: string) {
  const [record] = await store.listAccounts({ wanted: account, limit: 1 });
  if (!record) throw buildAccountError(account);
  const sums = new Map<string, Nano>(creditSources.map((source) => [source, 0n]));
  for await (const { source, available } of readAllCredits(store, { account }))
    if (source) sums.set(source, (sums.get(source) ?? 0n) + available);
  return {
    ...describeRecord(record),
    credits: Object.fromEntries([...sums].map(([source, sum]) => [source, formatUsd(sum)])),
  };
}

function describeRecord({ name, created, line, state, ...balance }: AccountRecord) {
  return { ...describeBalance(name, balance), parent: line[0] ?? null, state, created: toIso(created) };
}

export async function listAccounts(store: Store, query: z.output<typeof page>) {
  return buildPage(await store.listAccounts(query), query.limit, describeRecord, ({ name }) => name);
}

/** Adds credit, once for each reference. A repeated order changes nothing, and the reply says so. */
export async function addCredit(store: Store, order: z.output<typeof creditOrder>) {
  const status = await store.addCredit({ ...order, reference: order.reference, at: Date.now() });
  if (status === 'not_found') throw buildAccountError(order.account);
  if (status === 'reference_taken')
    throw buildRefusal(
      'conflict',
      `the reference "${order.reference}" belongs to another credit`,
      'reference',
    );
  if (status === 'too_much')
    throw buildRefusal(
      'invalid_request',
      `an account can be credited ${formatUsd(mostCredit)} USD in all: add less`,
      'amount',
    );
  return { status, ...(await requireBalance(store, order.account)) };
}

function describeCredit({ number, account, at, available, source, ...entry }: Entry) {
  const { reference = null, reason = null, author = null } = entry;
  const what = { amount: formatUsd(available), kind: source ?? null, reference, reason, author };
  return { number, account, at: toIso(at), ...what };
}

export async function listCredits(store: Store, query: z.output<typeof creditQuery>) {
  const entries = await store.listEntries({ ...query, kinds: ['credit'] });
  return buildPage(entries, query.limit, describeCredit, ({ number }) => number);
}
