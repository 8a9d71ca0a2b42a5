/**
 * What a call may cost at worst, and how much of that an account can pay. Input is bounded by its bytes:
 * no tokeniser makes more tokens than bytes, and counting tokens takes too long. Output is bounded by its
 * limit. If the balance is below the worst case, the limit is lowered instead of refusing the call.
 */
import {
  boundCost,
  boundBilled,
  computeAffordableOutput,
  computeCost,
  formatUsd,
  GatewayError,
  estimateInput,
  boundUse,
  computeWorstCost,
  type Grant,
  type Nano,
  type Planned,
  type Principal,
  type Target,
} from '../../../core/index.ts';
import type { ShortBudget } from './budgets/budget.ts';
import type { Tightest } from './budgets/sheet.ts';
import { getPriceRecord } from './prices.ts';
import type { Quote, Reserved } from './store.ts';

export interface Policy {
  /** What happens to a call whose worst case the balance does not cover. */
  readonly whenShort: 'lower' | 'refuse';
  /** The smallest output limit, in tokens, to which a call is lowered, unless its caller asked for less. */
  readonly leastOutput: number;
}

type Granted = Extract<Reserved, { status: 'reserved' }>;

/**
 * The smallest output worth calling for. Part of a picture is useless, so it includes all tokens of a
 * picture, and all that a model may reason where no limit bounds it.
 */
function computeLeastOutput({ leastOutput }: Policy, { call }: Planned, { model }: Target): number {
  return Math.max(leastOutput, boundBilled(call, model, 0));
}

function pickLarger(first: Nano, second: Nano): Nano {
  return first > second ? first : second;
}

/**
 * What each target of a grant could cost, at least and at most, and what is owed for it if the gateway
 * never learns how the call ended.
 */
export function listQuotes({ targets, outputLimit }: Grant, planned: Planned, policy: Policy): Quote[] {
  return targets.map((target) => {
    const bound = boundUse(planned.call, target, outputLimit);
    const input = estimateInput(planned.call, target.model);
    // At the price's own rates: if the call's end is unknown, so are the mode and the rule it was served
    // by. A reservation under a cheaper rule must still cover that.
    const owed = computeCost({ uses: [{ unit: 'input', count: input }] }, target.price);
    const computeWorst = boundCost(bound, target.price);
    const most = pickLarger(owed, computeWorst(bound.output));
    const leastOutput = Math.min(bound.output, computeLeastOutput(policy, planned, target));
    const least = policy.whenShort === 'refuse' ? most : pickLarger(owed, computeWorst(leastOutput));
    return {
      model: target.model.id,
      provider: target.provider.name,
      price: getPriceRecord(target.price).version,
      least,
      most,
      input,
      owed,
    };
  });
}

/**
 * The grant that a reservation pays for: the target of its quote first, with a lower limit where needed.
 * Before an attempt at a later target that may cost more, the reservation is extended.
 */
export function narrowGrant(
  grant: Grant,
  planned: Planned,
  { quote, amount }: Granted,
  policy: Policy,
): Grant {
  const targets = grant.targets.slice(quote);
  const [first] = targets;
  if (!first) throw new RangeError(`quote ${quote} was taken and there are ${grant.targets.length}`);
  const bound = boundUse(planned.call, first, grant.outputLimit);
  // If the balance is short, the sum is exact to the token, except that `least` is granted in full
  // although it was rounded.
  const affordable =
    amount < computeWorstCost(bound, first.price)
      ? Math.max(
          computeAffordableOutput(amount, bound, first.price),
          computeLeastOutput(policy, planned, first),
        )
      : Infinity;
  return { ...grant, targets, ...(affordable < bound.output ? { outputLimit: affordable } : {}) };
}

const shorten = 'Shorten the input, lower the output limit, or have';

function describeNeed(quotes: readonly Quote[]): string {
  const [needed = 0n] = quotes.map(({ least }) => least).toSorted((one, other) => (one < other ? -1 : 1));
  return `This call could cost ${formatUsd(needed)} USD, and`;
}

export function buildBalanceError(
  quotes: readonly Quote[],
  { account, key }: Principal,
  { by, available }: Extract<Reserved, { by: 'balance' | 'cap' | 'postpaid' }>,
): GatewayError {
  const left = `${formatUsd(available)} USD`;
  if (by === 'postpaid')
    return new GatewayError(
      'out_of_balance',
      `${describeNeed(quotes)} the account "${account}" pays later and no budget limits what it may owe. ` +
        `Have one set: tollgate budgets set account ${account} <usd>/month.`,
    );
  const [rest, remedy] =
    by === 'cap'
      ? [`the key ${key} has ${left} left to spend`, 'its limit raised']
      : [
          `the account "${account}" has ${left} besides what running calls reserve`,
          `credit added: tollgate credit add ${account} <usd>`,
        ];
  return new GatewayError('out_of_balance', `${describeNeed(quotes)} ${rest}. ${shorten} ${remedy}.`);
}

export function buildRateError(
  { key }: Principal,
  { rate, wait }: Extract<Reserved, { status: 'limited' }>,
): GatewayError {
  const calls = rate === 1 ? 'call' : 'calls';
  const message = `The API key ${key} has made the ${rate} ${calls} that it may make in a minute.`;
  return new GatewayError('rate_limited', message, { retryAfter: Math.max(1, Math.ceil(wait / 1000)) });
}

const budgetHeader = 'x-tollgate-budget';

/** Whether the caller asks what its tightest budget leaves. Throws `invalid_request` for another wish. */
export function readBudgetWish({ headers }: Planned): boolean {
  const wish = headers[budgetHeader];
  if (wish === undefined || wish === 'reply') return wish !== undefined;
  throw new GatewayError(
    'invalid_request',
    `The header ${budgetHeader} is wrong: its only value is "reply".`,
    {
      param: budgetHeader,
    },
  );
}

/** What the tightest budget leaves, as reply headers. Without a hard budget its scope is `none`. */
export function buildBudgetHeaders(tightest: Tightest | undefined): Readonly<Record<string, string>> {
  if (!tightest) return { [`${budgetHeader}-scope`]: 'none' };
  const { left, budget } = tightest;
  return {
    [`${budgetHeader}-scope`]: budget.scope,
    [`${budgetHeader}-left`]: formatUsd(left > 0n ? left : 0n),
    [`${budgetHeader}-limit`]: formatUsd(budget.allowed),
    [`${budgetHeader}-per`]: budget.per,
    ...(budget.resets !== undefined && { [`${budgetHeader}-reset`]: new Date(budget.resets).toISOString() }),
  };
}

/** If a budget resets within this many milliseconds, the refusal has a `retry-after`. */
const near = 3_600_000;

/** A moment on the clocks of a zone: `2026-11-23 00:00 (Europe/Berlin)`. */
export function formatMoment(at: number, zone: string): string {
  const format = { timeZone: zone, dateStyle: 'short', timeStyle: 'short' } as const;
  return `${new Intl.DateTimeFormat('sv-SE', format).format(at)} (${zone})`;
}

/** The error for a call that a budget refuses: which budget, what is left, and when it resets. */
function buildBudgetError(
  quotes: readonly Quote[],
  { available, budget }: { readonly available: Nano; readonly budget: ShortBudget },
  at: number,
): GatewayError {
  const { id, scope, subject, per, zone, allowed, resets } = budget;
  const left = formatUsd(available > 0n ? available : 0n);
  const period = per === 'total' ? '' : ` for this ${per}`;
  const reset = resets === undefined ? '' : ` It resets at ${formatMoment(resets, zone)}.`;
  return new GatewayError(
    'budget_exceeded',
    `${describeNeed(quotes)} the budget ${id} of the ${scope} "${subject}" ` +
      `has ${left} of ${formatUsd(allowed)} USD left${period}.${reset} ` +
      `${shorten} it raised: tollgate budgets raise ${id} <usd> --until <time>.`,
    {
      headers: buildBudgetHeaders({ left: available, budget }),
      ...(resets !== undefined && resets - at <= near && { retryAfter: Math.max(1, (resets - at) / 1000) }),
    },
  );
}

export function buildShortError(
  quotes: readonly Quote[],
  principal: Principal,
  short: Extract<Reserved, { status: 'short' }>,
  at: number,
): GatewayError {
  return short.by === 'budget'
    ? buildBudgetError(quotes, short, at)
    : buildBalanceError(quotes, principal, short);
}
