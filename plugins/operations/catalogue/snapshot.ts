/**
 * Reads facts about models from a file: a catalogue file like ours, a vendor's part of models.dev, or its
 * whole `api.json`. From each form come the prices, as decimal strings under our names, and the limits of
 * each model.
 */
import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { formatUsd, parseUsd, readCatalogue, type Model } from '../../../core/index.ts';

/** The figures of one model by their names: `input`, `cacheRead`, `input above 200000`, `contextLength`. */
export type Figures = Readonly<Record<string, string>>;

/** The figures of each model, by the vendor's own name for the model. */
export type Facts = ReadonlyMap<string, Figures>;

/** A sum in USD, as text or as the number JSON makes of it. */
const sum = z
  .union([
    z.string().regex(/^\d+(\.\d{1,9})?$/),
    z
      .number()
      .nonnegative()
      .transform((value) => value.toFixed(9)),
  ])
  .transform((text) => formatUsd(parseUsd(text)));

const rate = sum.optional();
const rates = {
  input: rate,
  output: rate,
  cache_read: rate,
  cache_write: rate,
  reasoning: rate,
  input_audio: rate,
  output_audio: rate,
};

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
type ListedRates = Pick<NonNullable<ListedModel['cost']>, keyof typeof rates>;

const models = z.union([
  z.array(listedModel),
  z.record(z.string(), listedModel).transform((byId) => Object.values(byId)),
]);
const ownFile = z.looseObject({ vendor: z.string(), asOf: z.string() });
const oneVendor = z.looseObject({ models });
const allVendors = z.record(z.string(), oneVendor);

/** Vendors that have another name at models.dev. */
const otherNames: Readonly<Record<string, string>> = { togetherai: 'together' };

const names = [
  ['input', 'input'],
  ['output', 'output'],
  ['cache_read', 'cacheRead'],
  ['cache_write', 'cacheWrite5m'],
  ['reasoning', 'reasoning'],
  ['input_audio', 'inputAudio'],
  ['output_audio', 'outputAudio'],
] as const;

const inMode = (name: string): string => ` served ${name}`;

function ratesOf(listed: ListedRates, suffix = ''): Figures {
  return Object.fromEntries(
    names.flatMap(([theirs, ours]) =>
      listed[theirs] === undefined ? [] : [[ours + suffix, listed[theirs]]],
    ),
  );
}

function listedFigures({ cost = {}, limit = {}, experimental }: ListedModel): Figures {
  const tiers = cost.tiers?.map((tier) => ratesOf(tier, ` above ${tier.tier.size}`)) ?? [];
  const long =
    cost.context_over_200k && tiers.length === 0 ? ratesOf(cost.context_over_200k, ' above 200000') : {};
  const fast = ratesOf(experimental?.modes?.fast?.cost ?? {}, inMode('fast'));
  const limits = {
    ...(limit.context ? { contextLength: String(limit.context) } : {}),
    ...(limit.output ? { outputLimit: String(limit.output) } : {}),
  };
  return Object.assign({}, ratesOf(cost), ...tiers, long, fast, limits);
}

function priceFigures(rates: object, suffix = ''): [string, string][] {
  return Object.entries(rates).flatMap(([name, rate]) =>
    typeof rate === 'bigint' ? [[name + suffix, formatUsd(rate)]] : [],
  );
}

/** A model in our own catalogue form. */
export function figuresOf({ price, contextLength, outputLimit }: Model): Figures {
  const { tiers = [], modes = {}, ...plain } = price ?? {};
  return Object.fromEntries([
    ...priceFigures(plain),
    ...Object.entries(modes).flatMap(([name, mode]) => priceFigures(mode, inMode(name))),
    ...tiers.flatMap(({ above, ...tier }) => priceFigures(tier, ` above ${above}`)),
    ['contextLength', String(contextLength)],
    ['outputLimit', String(outputLimit)],
  ]);
}

function pricedModels(listed: readonly ListedModel[]): Facts {
  return new Map(
    listed.flatMap((model) =>
      model.cost?.input !== undefined && model.cost.output !== undefined
        ? [[model.id, listedFigures(model)]]
        : [],
    ),
  );
}

export interface Snapshot {
  /** Whether it holds everything about a model, so that what it lacks is gone. */
  readonly complete: boolean;
  /** The facts of each vendor of the file. */
  readonly vendors: ReadonlyMap<string, Facts>;
}

/** `vendor` names the vendor if the file does not. Throws if the file has none of the forms. */
export function readSnapshot(file: string, vendor?: string): Snapshot {
  const path = resolve(file);
  const content: unknown = JSON.parse(readFileSync(path, 'utf8'));
  if (ownFile.safeParse(content).success) {
    const listed = readCatalogue(pathToFileURL(path));
    const facts = new Map(listed.map((model) => [model.upstream, figuresOf(model)]));
    return { complete: true, vendors: new Map([[vendor ?? ownFile.parse(content).vendor, facts]]) };
  }
  const one = oneVendor.safeParse(content);
  if (one.success) {
    const name = basename(path, '.json');
    return {
      complete: false,
      vendors: new Map([[vendor ?? otherNames[name] ?? name, pricedModels(one.data.models)]]),
    };
  }
  const all = allVendors.safeParse(content);
  if (!all.success)
    throw new Error(
      `${path} is neither a catalogue file of ours nor one of models.dev: ${z.prettifyError(one.error)}`,
    );
  return {
    complete: false,
    vendors: new Map(
      Object.entries(all.data).map(([name, { models: listed }]) => [
        otherNames[name] ?? name,
        pricedModels(listed),
      ]),
    ),
  };
}
