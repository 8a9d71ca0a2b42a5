/** What a key's holder can read: its balance, limits, budgets and usage, and its own calls. */
import { z } from 'zod';
import {
  formatUsd,
  GatewayError,
  isGatewayError,
  parseUsd,
  toUsdNumber,
  type Archive,
  type Nano,
  type Principal,
  type Route,
  type RouteReply,
} from '../../../core/index.ts';
import { buildReply } from '../../shared/operator-routes.ts';
import { getCurrentPeriod } from './budgets/periods.ts';
import { units } from './calls/figures.ts';
import type { LedgerService } from './ledger-service.ts';
import { describeRecord, requireRecord as requireAccount } from './operator/accounts.ts';
import { describePeriod, listCounted } from './operator/budgets.ts';
import { describeKey } from './operator/key-records.ts';
import { computeTotals } from './operator/overview.ts';
import { buildNumberSchema } from './operator/reading.ts';
import { toIso, buildRefusal } from './operator/replies.ts';
import type { KeyRecord, Store } from './store.ts';

const day = units['1d'];

export const keyQuery = z.strictObject({ days: buildNumberSchema(1, 366).default(30) });

async function requireRecord(store: Store, { key }: Principal): Promise<KeyRecord> {
  const [record] = await store.listKeys({ ids: [key], limit: 1 });
  if (record) return record;
  throw buildRefusal('not_found', 'The key is in no ledger of this gateway.');
}

/** How often each model was called on each day. */
async function computeUsage(store: Store, { account, key }: Principal, days: number) {
  const to = Math.ceil(Date.now() / day) * day;
  const from = to - days * day;
  const rows = await store.sumCalls({ account, key, from, to, by: 'model', unit: '1d', top: 10_000 });
  const data = rows
    .toSorted((one, other) => other.start - one.start || one.place - other.place)
    .map((row) => {
      const { cost, calls, errors, input, output, cached, reasoning, uses } = computeTotals([row]);
      const sums = { calls, errors, cost, input, output, cached, reasoning, uses };
      return { day: new Date(row.start).toISOString().slice(0, 10), model: row.name ?? null, ...sums };
    });
  return { from: toIso(from), to: toIso(to), data };
}

/**
 * The balance of the account. What is available to one that pays later is what the budgets of the account
 * and its teams leave, whatever the balance is.
 */
async function describeOwnBalance(
  store: Store,
  { account }: Principal,
  budgets: Awaited<ReturnType<typeof listOwnBudgets>>,
) {
  const record = await requireAccount(store, account);
  const { balance, total, used, pending, available, postpaid } = describeRecord(record);
  const left = budgets
    .filter(({ hard, scope }) => hard && (scope === 'account' || scope === 'team'))
    .map((budget) => parseUsd(budget.left));
  const [least = 0n] = left.toSorted((one, other) => (one < other ? -1 : 1));
  const payable = postpaid ? formatUsd(least > 0n ? least : 0n) : available;
  return { balance, total, used, pending, available: payable, postpaid };
}

/** Calls can have more tags, which are unknown before they are made. */
async function listOwnBudgets(store: Store, principal: Principal, tags: readonly string[]) {
  return (await listCounted(store, { ...principal, tags })).map((budget) => {
    const { scope, subject, per, zone, hard } = budget;
    return { scope, subject, per, zone, hard, ...describePeriod(budget) };
  });
}

/** What the key has spent on the current day, in its week and in its month, by the clocks of UTC. */
export async function sumSpent(store: Store, { account, key }: Principal, at: number) {
  const [today, week, month] = (['day', 'week', 'month'] as const).map(
    (per) => getCurrentPeriod(per, 'UTC', at).start,
  );
  const from = Math.min(week ?? at, month ?? at);
  const query = { account, key, by: 'model', unit: '1d', top: 1 } as const;
  const rows = await store.sumCalls({ ...query, from, to: Math.ceil(at / day) * day });
  const sumFrom = (time = at): Nano =>
    rows.reduce((sum, { start, cost }) => (start >= time ? sum + cost : sum), 0n);
  return { day: sumFrom(today), week: sumFrom(week), month: sumFrom(month) };
}

const resetWords = { hour: 'hourly', day: 'daily', week: 'weekly', month: 'monthly', total: null } as const;

/**
 * The key in the words of OpenRouter's `GET /key`, whose amounts are numbers. The limit is what leaves the
 * least: the cap of the key or one of the hard budgets that count it.
 */
async function describeForOpenRouter(
  store: Store,
  principal: Principal,
  record: KeyRecord,
  budgets: Awaited<ReturnType<typeof listOwnBudgets>>,
) {
  const { spendCap, used, pending, callsPerMinute } = record;
  const limits = budgets
    .filter(({ hard }) => hard)
    .map(({ allowed, left, per }) => ({
      limit: parseUsd(allowed),
      left: parseUsd(left),
      reset: resetWords[per],
    }));
  const capped =
    spendCap === undefined ? [] : [{ limit: spendCap, left: spendCap - used - pending, reset: null }];
  const spent = await sumSpent(store, principal, Date.now());
  const [tightest] = [...capped, ...limits].toSorted((one, other) => (one.left < other.left ? -1 : 1));
  return {
    label: record.name || `sk-...${record.lastFour}`,
    limit: tightest ? toUsdNumber(tightest.limit) : null,
    limit_remaining: tightest ? toUsdNumber(tightest.left > 0n ? tightest.left : 0n) : null,
    limit_reset: tightest?.reset ?? null,
    usage: toUsdNumber(used),
    usage_daily: toUsdNumber(spent.day),
    usage_weekly: toUsdNumber(spent.week),
    usage_monthly: toUsdNumber(spent.month),
    // Vendors' keys are the operator's, and no model is free for some accounts only.
    byok_usage: 0,
    byok_usage_daily: 0,
    byok_usage_weekly: 0,
    byok_usage_monthly: 0,
    include_byok_in_limit: false,
    is_free_tier: false,
    is_management_key: false,
    is_provisioning_key: false,
    creator_user_id: record.holder ?? null,
    expires_at: toIso(record.expires),
    rate_limit: {
      requests: callsPerMinute ?? -1,
      interval: '1m',
      note: '-1 means no limit of the key itself.',
    },
  };
}

export async function describeOwnKey(
  store: Store,
  principal: Principal,
  { days }: z.output<typeof keyQuery>,
) {
  const record = await requireRecord(store, principal);
  const { spendCap, used, pending } = record;
  const { spendCap: spend_cap, callsPerMinute: calls_per_minute, ...limits } = describeKey(record).limits;
  const budgets = await listOwnBudgets(store, principal, record.tags);
  return {
    object: 'key',
    id: record.id,
    name: record.name,
    last_four: record.lastFour,
    account: principal.account,
    created: toIso(record.created),
    currency: 'USD',
    balance: await describeOwnBalance(store, principal, budgets),
    limits: {
      spend_cap,
      spend_used: formatUsd(used),
      spend_left: spendCap === undefined ? null : formatUsd(spendCap - used - pending),
      calls_per_minute,
      ...limits,
    },
    budgets,
    usage: await computeUsage(store, principal, days),
    data: await describeForOpenRouter(store, principal, record, budgets),
  };
}

const unauthenticated: RouteReply = { status: 401, body: { error: 'unauthenticated', is_active: false } };
const internalError: RouteReply = { status: 500, body: { error: 'internal error', is_active: false } };

/**
 * The balance endpoint, the same at each of its addresses. It has two errors: one for a key that is not
 * accepted here, and one for everything else.
 */
export function listBalanceRoutes(addresses: readonly string[], store: () => Store): Route[] {
  return addresses.map((path) => ({
    name: `balance ${path}`,
    method: 'GET',
    path,
    access: 'user',
    encodeError: (error) =>
      isGatewayError(error) && (error.status === 401 || error.status === 403)
        ? unauthenticated
        : internalError,
    describe: async () => (await import('./description.ts')).ownBalance,
    async handle(_request, { account }) {
      const balance = await store().readBalance(account);
      if (!balance) throw new GatewayError('invalid_api_key', 'The key belongs to no account of the ledger.');
      const { total, used } = balance;
      return buildReply({
        is_active: true,
        balance: toUsdNumber(total - used),
        total: toUsdNumber(total),
        used: toUsdNumber(used),
        currency: 'USD',
      });
    },
  }));
}

/** The stored calls, each with who holds its key now. */
export function createArchive(opened: () => LedgerService): Archive {
  return {
    name: 'balance',
    async find(id) {
      const { calls, store } = opened();
      await calls.flush();
      const call = await store.findCall(id);
      const [made] = call ? await store.listKeys({ ids: [call.key], limit: 1 }) : [];
      return call && { ...call, holder: made?.holder };
    },
  };
}
