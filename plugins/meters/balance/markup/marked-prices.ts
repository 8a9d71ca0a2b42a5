/**
 * What is charged above or below the vendor's price: by account, key or model, as a percentage of every rate
 * and fee, as a fixed sum for each call, or both. The rule becomes part of the price before a call reserves,
 * so that reservation, charge and audit use the same rates. They are exact, and the call's sum is rounded
 * once, as without a markup.
 */
import { z } from 'zod';
import {
  addDecimals,
  formatUsd,
  getRate,
  mapRates,
  multiplyDecimals,
  parseUsd,
  shiftDecimal,
  usd,
  type Offer,
  type Price,
  type Principal,
  type Table,
  type Target,
} from '../../../../core/index.ts';
import { rememberVendorPrice } from '../../../shared/vendor-price.ts';

/** A percentage with at most four decimals, as millionths: `"10"` → 100000n. */
const percent = z
  .string('a percentage is a decimal string, as "12.5"')
  .regex(
    /^-?\d{1,5}(\.\d{1,4})?$/,
    'a percentage is a decimal string below 100000 with at most four decimals, as "12.5"',
  )
  .transform((text) => parseUsd(text) / 100_000n)
  .refine((millionths) => millionths >= -1_000_000n, 'a discount is at most "-100"');

const fixed = usd.refine((nano) => nano >= 0n, 'must not be negative');

const selectors = {
  account: z.string().min(1).max(128).optional(),
  /** The id of a key. The rule is for the keys that replace it, too. */
  key: z.string().min(1).max(64).optional(),
  /** The id of a model, or the beginning of ids followed by a star. */
  model: z
    .string()
    .regex(/^[^\s*]+\*?$/, 'a model is named <owner>/<name>, or <owner>/*')
    .max(200)
    .optional(),
};

export const selectorSchema = z.strictObject(selectors);

export const markupSchema = z
  .strictObject({ ...selectors, percent: percent.optional(), fixed: fixed.optional() })
  .refine((rule) => rule.percent !== undefined || rule.fixed !== undefined, 'needs "percent" or "fixed"');

export type MarkupInput = z.input<typeof markupSchema>;
export type Markup = z.output<typeof markupSchema>;

function matchesCall({ account, key, model }: Markup, principal: Principal, id: string): boolean {
  return (
    (account === undefined || account === principal.account) &&
    (key === undefined || key === principal.key || key === principal.root) &&
    (model === undefined || (model.endsWith('*') ? id.startsWith(model.slice(0, -1)) : id === model))
  );
}

/** How specific a rule is: a key counts more than an account, and an account more than any model. */
function computeWeight({ account, key, model }: Markup): number {
  const ofModel = model?.endsWith('*') ? model.length : 1000;
  return (key ? 10_000 : 0) + (account ? 5000 : 0) + (model ? ofModel : 0);
}

/** The rule for a call: the most specific one, and the first among equals. */
export function findMarkup(
  rules: readonly Markup[],
  principal: Principal,
  model: string,
): Markup | undefined {
  let found: Markup | undefined;
  for (const rule of rules)
    if (matchesCall(rule, principal, model) && (!found || computeWeight(rule) > computeWeight(found)))
      found = rule;
  return found;
}

/** A price with a rule. The fixed sum is part of the fee for each call. */
export function markPrice(price: Price, { percent: millionths = 0n, fixed: sum = 0n }: Markup): Price {
  const times = shiftDecimal(String(1_000_000n + millionths), -6);
  const marked = mapRates(price, (rates) =>
    rates.map((each) => ({ ...each, rate: multiplyDecimals(each.rate, times) })),
  );
  const whole = sum === 0n ? marked : addFee(marked, formatUsd(sum));
  rememberVendorPrice(whole, price);
  return whole;
}

/** Adds to the fee for a request, at all times: modes and tiers have none of their own. */
function addFee(price: Price, sum: string): Price {
  const add = ({ rates }: Table): Pick<Table, 'rates'> => {
    const [others, own] = [rates.filter(({ unit }) => unit !== 'request'), getRate({ rates }, 'request')];
    return { rates: [...others, { unit: 'request', rate: addDecimals(own ?? '0', sum) }] };
  };
  return {
    ...price,
    ...add(price),
    ...(price.rules && { rules: price.rules.map((rule) => ({ ...rule, ...add(rule) })) }),
  };
}

/** The rules in force, and the prices that they make, each made once: all calls of a rule share it. */
export class Markups {
  readonly #prices = new WeakMap<Markup, WeakMap<Price, Price>>();
  #rules: readonly Markup[] = [];

  /** Of equal rules the first wins. */
  setRules(rules: readonly Markup[]): void {
    this.#rules = rules;
  }

  applyRules(targets: readonly Target[], principal: Principal): readonly Target[] {
    if (this.#rules.length === 0) return targets;
    return targets.map((target) => {
      const rule = findMarkup(this.#rules, principal, target.model.id);
      return rule ? { ...target, ...this.#mark(rule, target) } : target;
    });
  }

  #mark(rule: Markup, offer: Offer): Pick<Offer, 'price' | 'findServed'> {
    const findServed = (upstream: string): Offer | undefined => {
      const served = offer.findServed?.(upstream);
      return served && { ...served, ...this.#mark(rule, served) };
    };
    return { price: this.#getPrice(rule, offer.price), findServed };
  }

  #getPrice(rule: Markup, price: Price): Price {
    let known = this.#prices.get(rule);
    if (!known) this.#prices.set(rule, (known = new WeakMap()));
    let marked = known.get(price);
    if (!marked) known.set(price, (marked = markPrice(price, rule)));
    return marked;
  }
}
