/**
 * What a model costs, as catalogue files, options and price feeds state it. Rates are USD per million tokens,
 * fees are apart from tokens. `tiers` are rates of long inputs, `modes` those of other service modes, `rules`
 * those of other times. Factors are written out when a price is read: from then on all rates are explicit,
 * and a price that is written and read again stays the same.
 */
import { z } from 'zod';
import { whenShape } from './price-schedule.ts';
import { standard } from './price-terms.ts';
import { getMessage } from './util/errors.ts';
import { parseUsd } from './util/money.ts';

/** A price as a decimal string in USD, parsed to an integer. */
export const usd = z
  .string({
    error: ({ input }) =>
      input === undefined
        ? 'is missing: an amount in USD as a decimal string, such as "0.20"'
        : 'an amount in USD is a decimal string, such as "0.20": numbers are not exact',
  })
  .transform((text, context) => {
    try {
      return parseUsd(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: getMessage(error) });
      return z.NEVER;
    }
  });

const rate = usd.refine((nano) => nano >= 0n, 'a price is not negative');

const rates = {
  input: rate,
  output: rate,
  cacheRead: rate.optional(),
  cacheReadAudio: rate.optional(),
  /** Writing to the vendor's cache, by how long it is kept there. */
  cacheWrite5m: rate.optional(),
  cacheWrite30m: rate.optional(),
  cacheWrite1h: rate.optional(),
  cacheWrite12h: rate.optional(),
  reasoning: rate.optional(),
  inputAudio: rate.optional(),
  outputAudio: rate.optional(),
  inputImage: rate.optional(),
  outputImage: rate.optional(),
};

const fees = {
  request: rate.optional(),
  /** Per picture made, if the vendor counts pictures. */
  image: rate.optional(),
  /** Per web search that the vendor made. */
  webSearch: rate.optional(),
  /** Per search by OpenAI's older tool `web_search_preview`, if it costs something else. */
  previewSearch: rate.optional(),
  /** Per search in the vendor's file store. */
  fileSearch: rate.optional(),
  /** Per container that the vendor opened for a call's code. */
  container: rate.optional(),
};

const ratesSchema = z.strictObject(rates);
const feesSchema = z.strictObject(fees);
const tierSchema = z.strictObject({ above: z.int().positive(), ...rates });
const tableSchema = z.strictObject({ ...rates, tiers: z.array(tierSchema).optional() });

/** A factor with at most nine decimals. A rate that it makes is rounded up to the nano-USD. */
const factor = usd.refine((times) => times > 0n, 'has to be more than 0');
const unit = 1_000_000_000n;

/** Entries, logs and exports show it. */
const name = z.string().regex(/^[\w.:-]{1,60}$/, 'has to be one word of letters, digits and . : - _');

const terms = {
  ...rates,
  ...fees,
  /** Rates for the whole call if its input exceeds `above` tokens. The highest tier that applies wins. */
  tiers: z.array(tierSchema).default([]),
  /** Rates of other service modes by name, such as `fast`, `flex` or `us`, or a factor on the usual ones. */
  modes: z.record(z.string().min(1), z.union([z.strictObject({ times: factor }), tableSchema])).optional(),
};

const statedSchema = z.strictObject({
  ...terms,
  /** The name of these rates. Default: `standard`. */
  name: name.optional(),
  /**
   * Rates of certain times: a factor on all rates, or rates in their place; fees stay unless stated. The
   * first rule that applies wins. Where none does, the price's own rates hold.
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

/** Rates in USD per million tokens. */
export type Rates = z.output<typeof ratesSchema>;
export type Tier = z.output<typeof tierSchema>;
/** Rates, and those of long inputs. */
export type Table = z.output<typeof tableSchema>;

/** Everything that a call is priced by. */
export interface Terms extends Rates, z.output<typeof feesSchema> {
  tiers: Tier[];
  modes?: Record<string, Table> | undefined;
}

type Stated = z.output<typeof statedSchema>;
type StatedRule = NonNullable<Stated['rules']>[number];
export type PriceRule = Terms & Pick<StatedRule, 'name' | 'from' | 'until' | 'when'>;

export interface Price extends Terms {
  name?: string | undefined;
  rules?: PriceRule[] | undefined;
  regional?: bigint | undefined;
  billedAt?: 'start' | 'end' | undefined;
}

const kinds = ratesSchema.keyof().options;

/** The rates among `some`, by a factor, rounded up. */
function scaleRates(some: Rates, times: bigint): Rates {
  const scaled: Rates = { input: 0n, output: 0n };
  for (const kind of kinds) {
    const value = some[kind];
    if (value !== undefined) scaled[kind] = (value * times + unit - 1n) / unit;
  }
  return scaled;
}

function scaleTiers(tiers: readonly Tier[], times: bigint): Tier[] {
  return tiers.map((tier) => ({ ...tier, ...scaleRates(tier, times) }));
}

function scaleTable(table: Table, times: bigint): Table {
  const { tiers } = table;
  return { ...scaleRates(table, times), ...(tiers?.length ? { tiers: scaleTiers(tiers, times) } : {}) };
}

type StatedTerms = Pick<Stated, keyof Terms>;

/** Terms whose modes are all written out. */
function writeOut<Some extends StatedTerms>(stated: Some): Some & Terms {
  const { modes } = stated;
  return {
    ...stated,
    modes:
      modes &&
      Object.fromEntries(
        Object.entries(modes).map(([mode, table]) => [
          mode,
          'times' in table ? scaleTable(stated, table.times) : table,
        ]),
      ),
  };
}

/** All rates of the terms by a factor; fees stay. */
export function scaleTerms<Some extends Terms>(some: Some, times: bigint): Some {
  const { modes } = some;
  return {
    ...some,
    ...scaleRates(some, times),
    tiers: scaleTiers(some.tiers, times),
    modes:
      modes &&
      Object.fromEntries(Object.entries(modes).map(([mode, table]) => [mode, scaleTable(table, times)])),
  };
}

function writeOutRule(base: Price, rule: StatedRule): PriceRule {
  const { name: named, from, until, when } = rule;
  const scheduled = { name: named, from, until, when };
  if ('times' in rule) {
    const { billedAt: _, regional: __, ...own } = base;
    return { ...scaleTerms(own, rule.times), ...scheduled };
  }
  const { request, image, webSearch, previewSearch, fileSearch, container } = base;
  const own = { request, image, webSearch, previewSearch, fileSearch, container };
  return { ...own, ...writeOut(rule), ...scheduled };
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

export const priceSchema = statedSchema.transform((stated, context): Price => {
  const fault = findFault(stated);
  if (fault !== undefined) {
    context.addIssue({ code: 'custom', message: fault, path: ['rules'] });
    return z.NEVER;
  }
  const { rules, ...base } = stated;
  const written = writeOut(base);
  return rules?.length ? { ...written, rules: rules.map((rule) => writeOutRule(written, rule)) } : written;
});

/** The price of calls that the vendor keeps in one region. The names of its rules and rates say so. */
export function toRegionalPrice(price: Price): Price {
  const { regional, rules, name: named = standard } = price;
  if (regional === undefined) return price;
  return {
    ...scaleTerms(price, regional),
    name: `${named}-regional`,
    ...(rules && {
      rules: rules.map((rule) => ({ ...scaleTerms(rule, regional), name: `${rule.name}-regional` })),
    }),
  };
}

export const freePrice: Price = { input: 0n, output: 0n, tiers: [] };
