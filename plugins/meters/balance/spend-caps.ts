/**
 * What Claude Code learns of budgets when a person has signed it in: headers on each reply, a 429 in place
 * of the 402 of keys, and `GET /api/oauth/usage`. All describe the hard budget that leaves the least of those
 * that count the call, in Anthropic's own words for it.
 */
import {
  formatUsd,
  GatewayError,
  toGatewayError,
  toUsdNumber,
  type Host,
  type Nano,
  type Principal,
  type Route,
} from '../../../core/index.ts';
import { noStore } from '../../shared/operator-routes.ts';
import { formatMoment } from './admission.ts';
import type { Tightest } from './budgets/sheet.ts';
import { listCounted } from './operator/budgets.ts';
import { sumSpent } from './own-key.ts';
import type { Reserved, ShortBudget, Store } from './store.ts';

const prefix = 'anthropic-ratelimit-unified';
const periods = { hour: 'hourly', day: 'daily', week: 'weekly', month: 'monthly', total: 'total' } as const;

type Headers = Readonly<Record<string, string>>;

function computeUse({ left, budget: { allowed } }: Tightest): number {
  return allowed > 0n ? Number(allowed - left) / Number(allowed) : 1;
}

/** Below 1 while calls pass, and from two decimals on. */
function computeShown(cap: Tightest): number {
  return Math.min(0.99, Math.round(computeUse(cap) * 100) / 100);
}

function buildResets(resets: number | undefined): Headers {
  if (resets === undefined) return {};
  const seconds = String(Math.floor(resets / 1000));
  return { [`${prefix}-reset`]: seconds, [`${prefix}-overage-reset`]: seconds };
}

/**
 * Headers of a reply, none without a cap: what it leaves once the call has reserved its amount. A threshold
 * makes the client warn its person.
 */
export function buildCapHeaders({ tightest, amount }: Extract<Reserved, { status: 'reserved' }>): Headers {
  if (!tightest) return {};
  const cap = { ...tightest, left: tightest.left - amount };
  const use = computeUse(cap);
  const threshold = [0.95, 0.75].find((each) => use > each);
  const status = threshold === undefined ? 'allowed' : 'allowed_warning';
  return {
    [`${prefix}-status`]: status,
    [`${prefix}-overage-status`]: status,
    [`${prefix}-representative-claim`]: 'overage',
    [`${prefix}-overage-utilization`]: computeShown(cap).toFixed(2),
    ...(threshold !== undefined && { [`${prefix}-overage-surpassed-threshold`]: String(threshold) }),
    ...buildResets(cap.budget.resets),
  };
}

type Short = Extract<Reserved, { status: 'short' }>;

/** What ran out, when it resets, and what to do, since the client shows this as it is. */
function describeCap(short: Short, reason: string): string {
  if (short.by !== 'budget') return reason;
  const { scope, subject, per, zone, allowed, resets } = short.budget;
  const whose = scope === 'key' ? 'Your' : `The ${scope} "${subject}" has a`;
  const which = `${whose} budget of ${formatUsd(allowed)} USD${per === 'total' ? '' : ` a ${per}`}`;
  const rest = scope === 'key' ? 'leaves too little for this call' : 'that leaves too little for this call';
  const reset = resets === undefined ? '' : ` It resets at ${formatMoment(resets, zone)}.`;
  return `${which} ${rest}.${reset} Ask an operator to raise it.`;
}

function buildScope({ scope, per }: Pick<ShortBudget, 'scope' | 'per'>): Headers {
  const isNamed = per === 'day' || per === 'week' || per === 'month';
  return {
    ...(isNamed && { [`${prefix}-overage-period`]: periods[per] }),
    ...(scope !== 'key' && { [`${prefix}-overage-scope`]: 'group_pool' }),
  };
}

/** The 429 that a signed-in device gets where a key gets the 402 `refusal`. */
export function toCapError(refusal: GatewayError, short: Short, at: number): GatewayError {
  const budget = short.by === 'budget' ? short.budget : undefined;
  return new GatewayError('spending_capped', describeCap(short, refusal.message), {
    ...(budget?.resets !== undefined && { retryAfter: Math.max(1, (budget.resets - at) / 1000) }),
    headers: {
      [`${prefix}-status`]: 'rejected',
      ...buildResets(budget?.resets),
      [`${prefix}-overage-utilization`]: '1',
      [`${prefix}-overage-surpassed-threshold`]: '1',
      [`${prefix}-overage-disabled-reason`]: 'org_spend_cap_reached',
      ...(short.by === 'balance' && { [`${prefix}-overage-scope`]: 'group_pool' }),
      ...(budget && buildScope(budget)),
    },
  });
}

/** The hard budgets that count the calls of a key, the tightest first. */
async function listCaps(store: Store, principal: Principal): Promise<Tightest[]> {
  const found = await listCounted(store, principal);
  return found
    .filter(({ hard }) => hard)
    .map((budget) => ({ left: budget.allowed - budget.used - budget.pending, budget }))
    .toSorted((one, other) => Number(one.left - other.left) || one.budget.id - other.budget.id);
}

/** Cents, as the client reads money, with a small cap's fractions: 0 would be no cap. */
const toCents = (amount: Nano): number => Number((toUsdNumber(amount) * 100).toFixed(4));

function describeCapRow(cap: Tightest, index: number) {
  const { per, resets } = cap.budget;
  const use = computeUse(cap);
  const late = use > 0.75 ? 'warning' : 'normal';
  return {
    kind: 'spend',
    group: periods[per],
    percent: Math.round(computeShown(cap) * 100),
    resets_at: resets === undefined ? null : new Date(Math.floor(resets / 1000) * 1000).toISOString(),
    severity: use > 0.95 ? 'critical' : late,
    is_active: index === 0,
  };
}

const describePeriod = (used: number) => ({ limit: null, used_credits: used, utilization: null });

async function describeSpending(store: Store, principal: Principal) {
  const { day, week, month } = await sumSpent(store, principal, Date.now());
  const periodsOf = { daily: describePeriod(toCents(day)), weekly: describePeriod(toCents(week)) };
  return { monthly_limit: null, used_credits: toCents(month), utilization: null, ...periodsOf };
}

async function describeUsage(store: Store, principal: Principal) {
  const caps = await listCaps(store, principal);
  const [tightest] = caps;
  const spent = tightest
    ? {
        monthly_limit: toCents(tightest.budget.allowed),
        used_credits: toCents(tightest.budget.allowed - tightest.left),
        utilization: Math.round(computeShown(tightest) * 100),
      }
    : await describeSpending(store, principal);
  return {
    extra_usage: { is_enabled: true, ...spent, currency: 'USD' },
    limits: caps.map(describeCapRow),
  };
}

export function createUsageRoute(store: () => Store, protocols: Host['protocols']): Route {
  return {
    name: 'usage of a signed-in device',
    method: 'GET',
    path: '/api/oauth/usage',
    access: 'user',
    describe: false,
    encodeError(thrown) {
      const error = toGatewayError(thrown);
      const reply = protocols.find('messages')?.client.encodeError(error, '');
      return reply ?? { status: error.status, body: { error: { message: error.message } } };
    },
    async handle(_request, principal) {
      if (!principal.person)
        throw new GatewayError('not_found', 'Only devices that people signed in have this.');
      return { status: 200, headers: noStore, body: await describeUsage(store(), principal) };
    },
  };
}
