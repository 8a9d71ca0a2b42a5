/**
 * What a model costs, as catalogue files, options and price feeds state it: a list of rates by unit. `tiers`
 * are rates of long inputs, `modes` those of other service modes, `rules` those of other times, for any
 * unit. Factors are written out when a price is read: from then on all rates are explicit, and a price that
 * is written and read again stays the same.
 */
import { z } from 'zod';
import { facts, modalities, nameKind, unitNames } from './canonical/units.ts';
import { whenShape } from './price-schedule.ts';
import {
  restorePrice,
  scaleRates,
  standard,
  type Price,
  type PriceRule,
  type Rate,
  type Table,
  type Terms,
} from './price-terms.ts';
import { isDecimal, trimDecimal } from './util/decimal.ts';
import { getMessage } from './util/errors.ts';
import { formatUsd, parseUsd } from './util/money.ts';

/** An amount as a decimal string in USD. */
const amount = z.string({
  error: ({ input }) =>
    input === undefined
      ? 'is missing: an amount in USD as a decimal string, such as "0.20"'
      : 'an amount in USD is a decimal string, such as "0.20": numbers are not exact',
});

export const usd = amount.transform((text, context) => {
  try {
    return parseUsd(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: getMessage(error) });
    return z.NEVER;
  }
});

const decimal = amount
  .refine((text) => !text.startsWith('-'), { error: 'a price is not negative', abort: true })
  .refine(isDecimal, { error: 'is not a decimal number, such as "0.20"', abort: true })
  .transform(trimDecimal);

const rateSchema = z
  .strictObject({
    unit: z.enum(unitNames, { error: `is no unit; there are ${unitNames.join(', ')}` }),
    modality: z.enum(modalities).optional(),
    /** USD for one, or for a million tokens. */
    rate: decimal,
  })
  .refine(({ unit, modality }) => modality === undefined || facts[unit].byModality, {
    error: 'this unit has no modalities',
    path: ['modality'],
  });

/** What is wrong with a list of rates; undefined if nothing is. */
function findRateFault(rates: readonly Rate[]): string | undefined {
  const names = rates.map(nameKind);
  const twice = names.find((name, place) => names.indexOf(name) < place);
  if (twice !== undefined) return `has two rates for ${twice}`;
  const isToken = rates.some(({ unit }) => facts[unit].per > 1);
  // A forgotten rate would make all output free.
  const missing = isToken && ['input', 'output'].find((unit) => !names.includes(unit));
  return missing ? `has no rate for ${missing}: "0" if it is free` : undefined;
}

const rates = z
  .array(rateSchema)
  .min(1)
  .superRefine((stated, context) => {
    const message = findRateFault(stated);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
const tiers = z.array(z.strictObject({ above: z.int().positive(), rates }));

/** A factor with at most nine decimals. */
const factor = usd
  .refine((times) => times > 0n, 'has to be more than 0')
  .transform((times) => formatUsd(times));

/** Entries, logs and exports show it. */
const name = z.string().regex(/^[\w.:-]{1,60}$/, 'has to be one word of letters, digits and . : - _');

const terms = {
  rates,
  /** Rates for the whole call if its input exceeds `above` tokens. The highest tier that applies wins. */
  tiers: tiers.default([]),
  /** Rates of other service modes by name, such as `fast`, `flex` or `us`, or a factor on the usual ones. */
  modes: z
    .record(
      z.string().min(1),
      z.union([z.strictObject({ times: factor }), z.strictObject({ rates, tiers: tiers.optional() })]),
    )
    .optional(),
};

export const statedPrice = z.strictObject({
  ...terms,
  /** The name of these rates. Default: `standard`. */
  name: name.optional(),
  /**
   * Rates of certain times: a factor on all rates, or rates in their place; fees, and units without a rate
   * there, cost what they always do. The first rule that applies wins. Where none does, the price's own rates
   * hold.
   */
  rules: z
    .array(
      z.union([
        z.strictObject({ name, ...whenShape, times: factor }),
        z.strictObject({ name, ...whenShape, ...terms }),
      ]),
    )
    .optional(),
  /** A factor on all rates where the vendor is asked to keep calls in one region, by its address. */
  regional: factor.optional(),
  /** By which moment of a call the vendor chooses the rule. Default: the end. */
  billedAt: z.enum(['start', 'end']).optional(),
});

type Stated = z.output<typeof statedPrice>;
type StatedTerms = Pick<Stated, keyof Terms>;
type StatedRule = NonNullable<Stated['rules']>[number];

/** A price in the form before lists: a member for each rate. */
interface FormerPrice {
  readonly input: string;
  readonly output: string;
  readonly [member: string]: unknown;
}

/** What can be stated as a price: rates alone, or with all that they depend on. */
export type StatedPrice = z.input<typeof rates> | z.input<typeof statedPrice> | FormerPrice;

/** Rates of a mode: those of the terms by a factor. Fees are no part of them. */
function scaleTable({ rates: all, tiers: long }: StatedTerms, times: string): Table {
  const own = all.filter(({ unit }) => !facts[unit].isFee);
  return scaleRates({ rates: own, ...(long.length > 0 ? { tiers: long } : {}) }, times);
}

/** Terms whose modes are all written out. */
function writeOut<Some extends StatedTerms>(stated: Some): Some & Terms {
  const modes = Object.entries(stated.modes ?? {}).map(([mode, table]) => [
    mode,
    'times' in table ? scaleTable(stated, table.times) : table,
  ]);
  return { ...stated, ...(stated.modes && { modes: Object.fromEntries(modes) }) };
}

function writeOutRule(base: Price, rule: StatedRule): PriceRule {
  const { name: named, from, until, when } = rule;
  const scheduled = { name: named, from, until, when };
  if ('times' in rule) {
    const { billedAt: _, regional: __, ...own } = base;
    return { ...scaleRates(own, rule.times), ...scheduled };
  }
  const stated = new Set(rule.rates.map(nameKind));
  const further = base.rates.filter(
    (each) => !stated.has(nameKind(each)) && !stated.has(facts[each.unit].within ?? each.unit),
  );
  return { ...writeOut({ ...rule, rates: [...rule.rates, ...further] }), ...scheduled };
}

function joinModes({ modes = {} }: StatedTerms): string {
  return Object.keys(modes).toSorted().join(', ');
}

/** What is wrong with the rules of a price; undefined if nothing is. */
function findFault({ rules = [], ...base }: Stated): string | undefined {
  const names = rules.map((rule) => rule.name);
  if (new Set(names).size < names.length || names.includes(base.name ?? standard))
    return 'has two rules of one name';
  const other = rules.find((rule) => !('times' in rule) && joinModes(rule) !== joinModes(base));
  return other && `has a rule "${other.name}" with other modes than the price`;
}

export const priceSchema = z
  .custom<StatedPrice>(
    (value) => typeof value === 'object' && value !== null,
    'a price is a list of rates: [{ unit: "input", rate: "0.20" }, …]',
  )
  .transform((written, context): Price => {
    const { data: stated, error } = statedPrice.safeParse(restorePrice(written));
    if (!stated) {
      for (const issue of error.issues) context.addIssue({ ...issue });
      return z.NEVER;
    }
    const fault = findFault(stated);
    if (fault !== undefined) {
      context.addIssue({ code: 'custom', message: fault, path: ['rules'] });
      return z.NEVER;
    }
    const { rules, ...base } = stated;
    const price = writeOut(base);
    return rules?.length ? { ...price, rules: rules.map((rule) => writeOutRule(price, rule)) } : price;
  });

/** The price of calls that the vendor keeps in one region. The names of its rules and rates say so. */
export function toRegionalPrice(price: Price): Price {
  const { regional, name: named = standard } = price;
  if (regional === undefined) return price;
  const { rules, ...scaled } = scaleRates(price, regional);
  const renamed = rules?.map((rule) => ({ ...rule, name: `${rule.name}-regional` }));
  return { ...scaled, name: `${named}-regional`, ...(renamed && { rules: renamed }) };
}

export const freePrice: Price = {
  rates: [
    { unit: 'input', rate: '0' },
    { unit: 'output', rate: '0' },
  ],
  tiers: [],
};
