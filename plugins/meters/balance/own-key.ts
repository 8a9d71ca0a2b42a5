/** What a key's holder can read: its balance, limits and usage, and its own calls. */
import { z } from 'zod';
import { formatUsd, toGatewayError, type Principal, type Route } from '../../../core/index.ts';
import { readInput } from '../../shared/operator-routes.ts';
import { encodeError } from '../../shared/wire-kit/openai-error.ts';
import { units } from './calls/figures.ts';
import type { LedgerService } from './ledger-service.ts';
import { requireBalance } from './operator/accounts.ts';
import { listOwnCalls, ownCallQuery } from './operator/calls.ts';
import { computeTotals } from './operator/overview.ts';
import { buildNumberSchema } from './operator/reading.ts';
import { toIso, buildRefusal, toUsdOrNull } from './operator/replies.ts';
import type { KeyRecord, Store } from './store.ts';

const day = units['1d'];

export const keyQuery = z.strictObject({ days: buildNumberSchema(1, 366).default(30) });

async function requireRecord(store: Store, { key }: Principal): Promise<KeyRecord> {
  const found = await store.listKeys({ wanted: key, limit: 20 });
  const record = found.find(({ id }) => id === key);
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
      const { cost, calls, errors, input, output, cached, reasoning } = computeTotals([row]);
      const sums = { calls, errors, cost, input, output, cached, reasoning };
      return { day: new Date(row.start).toISOString().slice(0, 10), model: row.name ?? null, ...sums };
    });
  return { from: toIso(from), to: toIso(to), data };
}

async function describeOwnKey(store: Store, principal: Principal, { days }: z.output<typeof keyQuery>) {
  const record = await requireRecord(store, principal);
  const { account: _account, currency, ...balance } = await requireBalance(store, principal.account);
  const { spendCap, used, pending, models, expires, callsPerMinute } = record;
  return {
    object: 'key',
    id: record.id,
    name: record.name,
    last_four: record.lastFour,
    account: principal.account,
    created: toIso(record.created),
    currency,
    balance,
    limits: {
      spend_cap: toUsdOrNull(spendCap),
      spend_used: formatUsd(used),
      spend_left: spendCap === undefined ? null : formatUsd(spendCap - used - pending),
      models: models ?? null,
      expires: toIso(expires),
      calls_per_minute: callsPerMinute ?? null,
    },
    usage: await computeUsage(store, principal, days),
  };
}

/** `opened` is the ledger of this process. */
export function listOwnKeyRoutes(opened: () => LedgerService): Route[] {
  const shared = {
    method: 'GET',
    access: 'user',
    encodeError: (error: unknown) => encodeError(toGatewayError(error)),
  } as const;
  const headers = { 'cache-control': 'no-store' };
  return [
    {
      ...shared,
      name: 'own key',
      path: '/v1/key',
      describe: async () => (await import('./calls/description.ts')).ownKey,
      handle: async ({ query }, principal) => ({
        status: 200,
        headers,
        body: await describeOwnKey(opened().store, principal, readInput(keyQuery, Object.fromEntries(query))),
      }),
    },
    {
      ...shared,
      name: 'own calls',
      path: '/v1/calls',
      describe: async () => (await import('./calls/description.ts')).ownCalls,
      async handle({ query }, { key }) {
        const asked = readInput(ownCallQuery, Object.fromEntries(query));
        await opened().calls.flush();
        return { status: 200, headers, body: await listOwnCalls(opened().store, key, asked) };
      },
    },
  ];
}
