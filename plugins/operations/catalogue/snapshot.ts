/**
 * Reads facts about models: our own price list, a catalogue file like ours, a vendor's part of models.dev,
 * its whole `api.json`, or LiteLLM's `model_prices_and_context_window.json`. From each form come the prices,
 * as decimal strings under our names, and the limits of each model.
 */
import { basename } from 'node:path';
import { z } from 'zod';
import { getMessage, priceSchema, trimDecimal, type Model, type Price } from '../../../core/index.ts';
import { isLiteLlm, readDecimal, readLiteLlm } from './litellm.ts';
import { isPriceList, flattenPrice, readPriceList } from './price-list.ts';

/** The figures of one model by their names: `input`, `cacheRead`, `input above 200000`, `contextLength`. */
export type Figures = Readonly<Record<string, string>>;

/** The figures of each model, by the vendor's own name for the model. */
export type Facts = ReadonlyMap<string, Figures>;

/** A sum in USD, as text or as the number JSON makes of it. */
const sum = z.union([
  z
    .string()
    .regex(/^\d{1,12}(\.\d{1,18})?$/)
    .transform(trimDecimal),
  z.number().transform((value, context) => {
    const text = readDecimal(value);
    if (text !== undefined) return text;
    context.addIssue({ code: 'custom', message: 'is no price' });
    return z.NEVER;
  }),
]);

/** Our kinds by the names of models.dev. */
const names: Readonly<Record<string, string>> = {
  input: 'input',
  output: 'output',
  cache_read: 'cacheRead',
  cache_write: 'cacheWrite5m',
  reasoning: 'reasoning',
  input_audio: 'inputAudio',
  output_audio: 'outputAudio',
};
const rates = Object.fromEntries(Object.keys(names).map((name) => [name, sum.optional()]));

const listedModel = z.looseObject({
  id: z.string(),
  cost: z
    .looseObject({
      ...rates,
      tiers: z.array(z.looseObject({ tier: z.looseObject({ size: z.int() }), ...rates })).optional(),
      context_over_200k: z.looseObject(rates).optional(),
    })
    .optional(),
  experimental: z
    .looseObject({
      modes: z
        .looseObject({ fast: z.looseObject({ cost: z.looseObject(rates).default({}) }).optional() })
        .optional(),
    })
    .optional(),
  limit: z.looseObject({ context: z.int().optional(), output: z.int().optional() }).optional(),
});

type ListedModel = z.output<typeof listedModel>;

const models = z.union([
  z.array(listedModel),
  z.record(z.string(), listedModel).transform((byId) => Object.values(byId)),
]);
const ownFile = z.looseObject({
  vendor: z.string(),
  asOf: z.string(),
  models: z.array(
    z.looseObject({
      upstream: z.string(),
      price: priceSchema.optional(),
      contextLength: z.int(),
      outputLimit: z.int(),
    }),
  ),
});
const oneVendor = z.looseObject({ models });
const allVendors = z.record(z.string(), oneVendor);

/** Vendors that have another name at models.dev. */
const otherNames: Readonly<Record<string, string>> = {
  togetherai: 'together',
  'fireworks-ai': 'fireworks',
  moonshotai: 'moonshot',
};

function readRates(listed: Readonly<Record<string, unknown>>, suffix = ''): Figures {
  return Object.fromEntries(
    Object.entries(names).flatMap(([theirs, ours]) => {
      const rate = listed[theirs];
      return typeof rate === 'string' ? [[ours + suffix, rate]] : [];
    }),
  );
}

function readFigures({ cost = {}, limit = {}, experimental }: ListedModel): Figures {
  const tiers = cost.tiers?.map((tier) => readRates(tier, ` above ${tier.tier.size}`)) ?? [];
  const long =
    cost.context_over_200k && tiers.length === 0 ? readRates(cost.context_over_200k, ' above 200000') : {};
  const fast = readRates(experimental?.modes?.fast?.cost ?? {}, ' served fast');
  const limits = {
    ...(limit.context ? { contextLength: String(limit.context) } : {}),
    ...(limit.output ? { outputLimit: String(limit.output) } : {}),
  };
  return Object.assign({}, readRates(cost), ...tiers, long, fast, limits);
}

/** A model in our own catalogue form. */
export function flattenModel({
  price,
  contextLength,
  outputLimit,
}: Pick<Model, 'price' | 'contextLength' | 'outputLimit'>): Figures {
  return {
    ...(price ? flattenPrice(price) : {}),
    contextLength: String(contextLength),
    outputLimit: String(outputLimit),
  };
}

function readFacts(listed: readonly ListedModel[]): Facts {
  return new Map(
    listed.flatMap((model) =>
      model.cost?.input !== undefined && model.cost.output !== undefined
        ? [[model.id, readFigures(model)]]
        : [],
    ),
  );
}

export interface Snapshot {
  /** Whether it holds everything about a model, so that what it lacks is gone. */
  readonly complete: boolean;
  /** Whether a person named what changes, so that the rest stays on purpose. */
  readonly byHand?: boolean;
  /** The facts of each vendor of the file. */
  readonly vendors: ReadonlyMap<string, Facts>;
  /** Whole prices with their rules, of forms that have them. */
  readonly prices?: ReadonlyMap<string, ReadonlyMap<string, Price>>;
}

/**
 * Reads the content of the file `name`. `vendor` names the vendor if the content does not. Throws if it has
 * none of the forms.
 */
export function readSnapshot(text: string, name: string, vendor?: string): Snapshot {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new Error(`${name} is not JSON: ${getMessage(error)}`, { cause: error });
  }
  if (isPriceList(content)) {
    const prices = readPriceList(content);
    const vendors = [...prices].map(([provider, models]): [string, Facts] => [
      provider,
      new Map([...models].map(([model, price]) => [model, flattenPrice(price)])),
    ]);
    return { complete: true, vendors: new Map(vendors), prices };
  }
  const own = ownFile.safeParse(content);
  if (own.success) {
    const facts = new Map(own.data.models.map((model) => [model.upstream, flattenModel(model)]));
    const prices = own.data.models.flatMap(({ upstream, price }): [string, Price][] =>
      price ? [[upstream, price]] : [],
    );
    const name = vendor ?? own.data.vendor;
    return { complete: true, vendors: new Map([[name, facts]]), prices: new Map([[name, new Map(prices)]]) };
  }
  if (isLiteLlm(content)) return { complete: false, vendors: readLiteLlm(content) };
  // A vendor's part is named by its file.
  const isOne = oneVendor.safeParse(content).success;
  const all = allVendors.safeParse(isOne ? { [basename(name, '.json')]: content } : content);
  if (!all.success)
    throw new Error(
      `${name} is no price list or catalogue file of ours, of models.dev or of LiteLLM; ` +
        '"prices schema" prints the form of ours',
    );
  const vendors = Object.entries(all.data).map(([each, { models: listed }]): [string, Facts] => [
    (isOne ? vendor : undefined) ?? otherNames[each] ?? each,
    readFacts(listed),
  ]);
  return { complete: false, vendors: new Map(vendors) };
}
