/**
 * What is known about models: prices, limits, modalities and capability flags. Facts are in one dated data
 * file per vendor, with money as decimal strings. A model that has neither a price nor `free: true` is
 * refused when the file is read, so nothing is sold at a guessed price.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { GatewayError } from './errors.ts';
import { checkFlags, mergeFlags, rememberFile, wireSchema, type ProtocolFlags } from './host/wire-flags.ts';
import { freePrice, priceSchema, type Price } from './money.ts';
import type { Provider } from './provider.ts';

const modality = z.enum(['text', 'image', 'audio', 'video', 'pdf', 'file']);

/** Maps a client's value to the one we send: itself, or the nearest supported one. Others are refused. */
const valueTable = z
  .record(z.string(), z.string())
  .refine((values) => Object.keys(values).length > 0, 'names no value');

/** Rules for picture sizes that are not listed, in pixels. */
const sizeRules = z.strictObject({
  /** Width and height are multiples of it. */
  multiple: z.int().positive(),
  longestEdge: z.int().positive(),
  leastPixels: z.int().positive(),
  mostPixels: z.int().positive(),
  /** Maximum ratio of the longer edge to the shorter one. */
  mostRatio: z.number().min(1),
});

const imageSchema = z.strictObject({
  /** Maximum output tokens of one picture by size and quality; the most expensive is the default. */
  tokens: z
    .record(z.string(), z.int().positive())
    .refine((tokens) => Object.keys(tokens).length > 0, 'names no quality'),
  sizes: valueTable,
  /** Set if the model makes sizes that are not listed. */
  sizeRules: sizeRules.optional(),
  qualities: valueTable,
  formats: valueTable,
  backgrounds: valueTable,
});

/** What a model can be asked for beyond plain text. Encoders fit requests to these flags. */
const capabilitiesSchema = z.strictObject({
  tools: z.boolean().default(true),
  structuredOutput: z.boolean().default(true),
  /**
   * Whether the vendor supports JSON mode without a schema. Every model with structured output supports it.
   */
  jsonMode: z.enum(['never', 'without-tools', 'always']).optional(),
  /** False if the vendor answers 400 to temperature, top_p and similar fields. */
  sampling: z.boolean().default(true),
  /** Hosted tools that the vendor runs for the model. */
  hosted: z.array(z.enum(['web-search', 'code-execution'])).default([]),
  /** How the vendor bills web searches: each one, or once per call that searched (Gemini 2.5). */
  searchesBilled: z.enum(['each', 'once']).default('each'),
  reasoning: z
    .strictObject({
      style: z.enum(['none', 'toggle', 'effort', 'budget', 'adaptive', 'level']),
      efforts: z.array(z.string()).optional(),
      budget: z.strictObject({ min: z.int().optional(), max: z.int().optional() }).optional(),
      canDisable: z.boolean().optional(),
      /** Effort of a call that states none. */
      default: z.string().optional(),
    })
    .default({ style: 'none' }),
  /** Set if the model makes pictures. */
  image: imageSchema.optional(),
  /** Whether the vendor fetches an image by URL. Other vendors accept bytes only. */
  imageUrls: z.boolean().default(true),
  /** Maximum tokens of one input image. A reservation uses it. */
  imageTokens: z.int().positive().default(4000),
  /**
   * Flags that only one protocol understands, by the protocol's name. The protocol's own schema checks them.
   */
  wire: wireSchema,
});

export type Capabilities = z.output<typeof capabilitiesSchema>;

const shape = {
  /** `<owner>/<name>`; the name may contain slashes. */
  id: z.string().regex(/^[\w.-]+\/[\w./:@+-]+$/, 'must be <owner>/<name>'),
  /** The vendor's own name of the model. */
  upstream: z.string().min(1),
  name: z.string().min(1),
  description: z.string(),
  /** ISO date of release. */
  created: z.iso.date(),
  /** Tokens of input and output together. */
  contextLength: z.int().positive(),
  /** Maximum output tokens of one candidate. */
  outputLimit: z.int().positive(),
  input: z.array(modality).min(1),
  output: z.array(modality).min(1),
  canonicalSlug: z.string().optional(),
  tokenizer: z.string().default('Other'),
  instructType: z.string().nullable().default(null),
  moderated: z.boolean().default(false),
  supportedParameters: z.array(z.string()).default([]),
  /** Protocols that serve this model, if they are fewer than the vendor speaks. */
  protocols: z.array(z.string()).min(1).optional(),
  /** Last day of service. */
  expires: z.iso.date().nullable().default(null),
  /** Model to use after that day. */
  successor: z.string().optional(),
  /** Other ids for the model, besides its canonical slug. */
  aliases: z.array(z.string()).default([]),
  price: priceSchema.optional(),
  free: z.literal(true).optional(),
};

const modelSchema = z
  .strictObject({ ...shape, capabilities: capabilitiesSchema.prefault({}) })
  .refine((model) => (model.price === undefined) !== (model.free === undefined), {
    message: 'needs a price, or free: true, and not both',
    path: ['price'],
  });

export type Model = z.output<typeof modelSchema>;
export type ModelFacts = z.input<typeof modelSchema>;

const fileSchema = z.strictObject({
  vendor: z.string(),
  /** The day the facts were checked, and their source. */
  asOf: z.iso.date(),
  source: z.string(),
  /** Defaults for the models of the file. */
  defaults: z.strictObject({ capabilities: z.record(z.string(), z.unknown()).default({}) }).prefault({}),
  models: z.array(
    z.looseObject({ id: z.string(), capabilities: z.record(z.string(), z.unknown()).default({}) }),
  ),
});

/** Checks facts that come from elsewhere than a catalogue file. Throws a ZodError naming model and field. */
export function checkModel(facts: unknown): Model {
  return modelSchema.parse(facts);
}

function readJson(file: URL): unknown {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${file.pathname}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** Reads and checks a catalogue file. Throws an Error that names the file, the model and the field. */
export function readCatalogue(file: URL): Model[] {
  const parsed = fileSchema.safeParse(readJson(file));
  if (!parsed.success) throw new Error(`${file.pathname}: ${z.prettifyError(parsed.error)}`);
  const { defaults, models } = parsed.data;
  return models.map((facts) => {
    const model = modelSchema.safeParse({
      ...facts,
      capabilities: mergeFlags(defaults.capabilities, facts.capabilities),
    });
    if (!model.success)
      throw new Error(`${file.pathname}: model "${facts.id}": ${z.prettifyError(model.error)}`);
    rememberFile(model.data, file);
    return model.data;
  });
}

/** One provider that serves one model. */
export interface Offer {
  readonly provider: Provider;
  readonly model: Model;
  readonly price: Price;
}

/** All calls share these facts, so a plugin must not change them. */
function freeze(facts: object): void {
  if (Object.isFrozen(facts)) return;
  Object.freeze(facts);
  for (const fact of Object.values(facts)) if (typeof fact === 'object' && fact !== null) freeze(fact);
}

const day = 24 * 60 * 60 * 1000;

/** The first moment after the last day of service. */
function endOf({ expires }: Model): number {
  return expires === null ? Infinity : Date.parse(expires) + day;
}

/** All offers of all providers, by model id. Discovered models replace what their provider offered before. */
export class Catalog {
  readonly #byProvider = new Map<string, Offer[]>();
  #byModel = new Map<string, Offer[]>();
  /** Alternative ids of models. */
  #aliases = new Map<string, string>();
  /** Models after their last day. */
  #gone = new Map<string, Model>();
  readonly #listings = new Set<() => Promise<void>>();
  #nextEnd = Infinity;
  #version = 0;
  /** Unknown until all plugins are applied. */
  #protocols: ProtocolFlags | undefined;

  /** Checks the protocols' flags of all models, and from now on those of each model that is offered. */
  checkFlags(protocols: ProtocolFlags): void {
    this.#protocols = protocols;
    for (const offers of this.#byProvider.values())
      for (const { provider, model } of offers) checkFlags(provider, model, protocols);
  }

  /** Sets what a provider offers, for one of its keys if it has several. Throws if it names a model twice. */
  offer(provider: Provider, models: readonly Model[]): void {
    const ids = new Set<string>();
    for (const model of models) {
      const { id } = model;
      if (ids.has(id)) throw new Error(`provider "${provider.name}" lists the model "${id}" twice`);
      if (!Array.isArray(model.aliases))
        throw new TypeError(
          `provider "${provider.name}" offers the model "${id}" unchecked: pass checkModel(…) of it, or what readCatalogue answers`,
        );
      ids.add(id);
      if (this.#protocols) checkFlags(provider, model, this.#protocols);
      freeze(model);
    }
    this.#byProvider.set(
      `${provider.name} ${provider.credential ?? 1}`,
      models.map((model) => ({ provider, model, price: model.price ?? freePrice })),
    );
    this.#sort();
  }

  /**
   * Keeps a provider's place in the order of the configuration. `look` asks the vendor for its models later.
   */
  expect(provider: Provider, look: () => Promise<void>): void {
    this.offer(provider, []);
    this.#listings.add(look);
  }

  /** Asks all vendors that list their own models, before the gateway is open. */
  async lookAtListings(): Promise<void> {
    await Promise.all([...this.#listings].map((look) => look()));
  }

  /** Grows with each change, so that caches built from the catalogue can tell that they are old. */
  get version(): number {
    if (Date.now() >= this.#nextEnd) this.#sort();
    return this.#version;
  }

  /** Offers of a model in the order of the configuration. Empty if it is unknown or retired. */
  find(id: string): readonly Offer[] {
    if (Date.now() >= this.#nextEnd) this.#sort();
    return this.#byModel.get(id) ?? this.#byModel.get(this.#aliases.get(id) ?? '') ?? [];
  }

  /** Each model once, as its first provider describes it. */
  models(): Model[] {
    if (Date.now() >= this.#nextEnd) this.#sort();
    return [...this.#byModel.values()].flatMap(([first]) => (first ? [first.model] : []));
  }

  /** The error for a missing model. It names the replacement of a retired one. */
  missing(id: string, param = 'model'): GatewayError {
    const name = id.slice(0, 200);
    const gone = this.#gone.get(id);
    if (!gone)
      return new GatewayError(
        'model_not_found',
        `The model "${name}" does not exist, or no provider that serves it is switched on.`,
        { param },
      );
    const advice = gone.successor ? ` Use "${gone.successor}" instead.` : '';
    return new GatewayError(
      'model_not_found',
      `The model "${name}" was withdrawn after ${gone.expires}.${advice}`,
      { param },
    );
  }

  #sort(): void {
    const now = Date.now();
    const [gone, served] = divide([...this.#byProvider.values()].flat(), ({ model }) => endOf(model) <= now);
    this.#byModel = Map.groupBy(served, ({ model }) => model.id);
    this.#gone = new Map(gone.map(({ model }) => [model.id, model]));
    this.#aliases = new Map(
      served.flatMap(({ model: { id, canonicalSlug, aliases } }) =>
        [canonicalSlug ?? id, ...aliases].map((alias) => [alias, id]),
      ),
    );
    this.#nextEnd = served.reduce((next, { model }) => Math.min(next, endOf(model)), Infinity);
    this.#version += 1;
  }
}

function divide<Each>(all: readonly Each[], test: (each: Each) => boolean): [yes: Each[], no: Each[]] {
  return [all.filter((each) => test(each)), all.filter((each) => !test(each))];
}
