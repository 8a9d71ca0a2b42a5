/**
 * What Claude Code is told of budgets when a person has signed it in: headers on each reply, a 429 in place
 * of the 402 of keys, and `GET /api/oauth/usage`. All describe the fullest of the hard budgets that count the
 * call, in Anthropic's own words for it.
 */
import { LRUCache } from 'lru-cache';
import {
  formatUsd,
  GatewayError,
  toGatewayError,
  toUsdNumber,
  type Host,
  type Nano,
  type Planned,
  type Principal,
  type Route,
} from '../../../core/index.ts';
import { getAttribution } from '../../shared/attribution.ts';
import { noStore } from '../../shared/operator-routes.ts';
import { limitEntries } from '../../shared/up-to.ts';
import { formatMoment } from './admission.ts';
import { listCounted, sumSpent } from './own-key.ts';
import type { BudgetRecord, Reserved, ShortBudget, Store } from './store.ts';

const prefix = 'anthropic-ratelimit-unified';
const periods = { hour: 'hourly', day: 'daily', week: 'weekly', month: 'monthly', total: 'total' } as const;
/** Milliseconds for which budgets are told as they were, so that not every call reads them. */
const ttl = 3000;

type Headers = Readonly<Record<string, string>>;

function computeUse({ used, pending, allowed }: BudgetRecord): number {
  return allowed > 0n ? Number(used + pending) / Number(allowed) : 1;
}

/** Below 1 while calls pass, and from two decimals on. */
function computeShown(budget: BudgetRecord): number {
  return Math.min(0.99, Math.round(computeUse(budget) * 100) / 100);
}

function buildResets(resets: number | undefined): Headers {
  if (resets === undefined) return {};
  const seconds = String(Math.floor(resets / 1000));
  return { [`${prefix}-reset`]: seconds, [`${prefix}-overage-reset`]: seconds };
}

/** Headers of a reply; a threshold makes the client warn its person. */
function buildCapHeaders(budget: BudgetRecord): Headers {
  const use = computeUse(budget);
  const threshold = [0.95, 0.75].find((each) => use > each);
  const status = threshold === undefined ? 'allowed' : 'allowed_warning';
  return {
    [`${prefix}-status`]: status,
    [`${prefix}-overage-status`]: status,
    [`${prefix}-representative-claim`]: 'overage',
    [`${prefix}-overage-utilization`]: computeShown(budget).toFixed(2),
    ...(threshold !== undefined && { [`${prefix}-overage-surpassed-threshold`]: String(threshold) }),
    ...buildResets(budget.resets),
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
  return `${which} ${rest}.${reset} Ask whoever runs the gateway to raise it.`;
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

/** The hard budgets that count the calls of a key with these tags, the fullest first. */
async function listCaps(
  store: Store,
  principal: Principal,
  tags: readonly string[],
): Promise<BudgetRecord[]> {
  const found = await listCounted(store, principal, tags);
  return found.filter(({ hard }) => hard).toSorted((one, other) => computeUse(other) - computeUse(one));
}

/** Returns the function that finds the headers of a call whose device a person has signed in. */
export function createCapTeller(store: () => Store): (planned: Planned) => Promise<Headers> {
  const known = new LRUCache<string, { readonly headers: Headers }>({ ...limitEntries(1000), ttl });
  return async (planned) => {
    const { principal } = planned;
    const { texts: tags } = getAttribution(planned);
    const place = JSON.stringify([principal.key, tags]);
    const told = known.get(place);
    if (told) return told.headers;
    // No call fails for want of these headers.
    const [fullest] = await listCaps(store(), principal, tags).catch(() => []);
    const headers = fullest ? buildCapHeaders(fullest) : {};
    known.set(place, { headers });
    return headers;
  };
}

/** Cents, as the client reads money, with a small cap's fractions: 0 would be no cap. */
const toCents = (amount: Nano): number => Number((toUsdNumber(amount) * 100).toFixed(4));

function describeCapRow(budget: BudgetRecord, isActive: boolean) {
  const use = computeUse(budget);
  const late = use > 0.75 ? 'warning' : 'normal';
  return {
    kind: 'spend',
    group: periods[budget.per],
    percent: Math.round(computeShown(budget) * 100),
    resets_at:
      budget.resets === undefined ? null : new Date(Math.floor(budget.resets / 1000) * 1000).toISOString(),
    severity: use > 0.95 ? 'critical' : late,
    is_active: isActive,
  };
}

const describePeriod = (used: number) => ({ limit: null, used_credits: used, utilization: null });

async function describeSpending(store: Store, principal: Principal) {
  const { day, week, month } = await sumSpent(store, principal, Date.now());
  const periodsOf = { daily: describePeriod(toCents(day)), weekly: describePeriod(toCents(week)) };
  return { monthly_limit: null, used_credits: toCents(month), utilization: null, ...periodsOf };
}

async function describeUsage(store: Store, principal: Principal) {
  const caps = await listCaps(store, principal, principal.tags ?? []);
  const [fullest] = caps;
  const spent = fullest
    ? {
        monthly_limit: toCents(fullest.allowed),
        used_credits: toCents(fullest.used + fullest.pending),
        utilization: Math.round(computeShown(fullest) * 100),
      }
    : await describeSpending(store, principal);
  return {
    extra_usage: { is_enabled: true, ...spent, currency: 'USD' },
    limits: caps.map((budget) => describeCapRow(budget, budget === fullest)),
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
