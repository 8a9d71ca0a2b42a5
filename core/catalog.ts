/**
 * What is known about models: prices, limits, modalities, and the flags encoders fit a request by. A vendor's
 * facts stand in one data file, dated, with decimal strings for money; a model that has neither a price nor
 * `free: true` is refused when the file is read, so nothing is ever sold at a guessed price.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { GatewayError } from './errors.ts';
import { freePrice, priceSchema, type Price } from './money.ts';
import type { Provider } from './provider.ts';

const modality = z.enum(['text', 'image', 'audio', 'video', 'pdf', 'file']);

/** By each value a caller may ask for, the one that is sent: the same where the model knows it, else the nearest. What is not listed is refused. */
const valueTable = z
  .record(z.string(), z.string())
  .refine((values) => Object.keys(values).length > 0, 'names no value');

/** What any other size of a picture has to keep to, in pixels. */
const sizeRules = z.strictObject({
  /** Width and height are multiples of it. */
  multiple: z.int().positive(),
  longestEdge: z.int().positive(),
  leastPixels: z.int().positive(),
  mostPixels: z.int().positive(),
  /** How many times as long as the shorter edge the longer one may be. */
  mostRatio: z.number().min(1),
});

const imageSchema = z.strictObject({
  /** The most output tokens one picture of a listed size counts as, by its quality; the dearest holds where none of these is asked for. */
  tokens: z
    .record(z.string(), z.int().positive())
    .refine((tokens) => Object.keys(tokens).length > 0, 'names no quality'),
  sizes: valueTable,
  /** Where the model makes other sizes than those listed. */
  sizeRules: sizeRules.optional(),
  qualities: valueTable,
  formats: valueTable,
  backgrounds: valueTable,
});

/** What a model can be asked for, beyond plain text: encoders fit a request to these. */
const capabilitiesSchema = z.strictObject({
  tools: z.boolean().default(true),
  structuredOutput: z.boolean().default(true),
  /** Whether its vendor keeps to JSON without a schema, where it does not keep to schemas; every model that has schemas has it. */
  jsonMode: z.enum(['never', 'without-tools', 'always']).optional(),
  /** False where the vendor answers 400 to temperature, top_p and their like. */
  sampling: z.boolean().default(true),
  /** How the wire of chat-completions spells the output limit for this model. */
  outputLimitField: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
  /**
   * Whether its wire of chat-completions knows the later additions: the developer role, custom tools, cache marks
   * and keys, verbosity, service tiers, metadata. Most vendors refuse a field they do not know.
   */
  chatExtras: z.boolean().default(false),
  /** Whether its wire of chat-completions refuses tools while the model reasons; another wire of its vendor takes them. */
  chatTools: z.enum(['always', 'unless-reasoning']).default('always'),
  /** How ids of tool calls have to look on its wire of chat-completions: Mistral's models take nine letters and digits only. */
  callIds: z.enum(['any', 'nine']).default('any'),
  /** Fields that its wire of chat-completions calls by another name, and those it refuses (null): a seed is Mistral's `random_seed`, and it knows no `user`. */
  chatFields: z.record(z.string(), z.string().nullable()).default({}),
  /**
   * Whether its wire of chat-completions takes Mistral's short forms: an address or data in place of the object that holds
   * it, a tool without its type, content without parts, and "any" for a tool that has to be called.
   */
  shortForms: z.boolean().default(false),
  /**
   * Whether its wire of chat-completions has DeepSeek's thinking mode: a field of its own switches it off, and a call is
   * refused that does not bring back what the model thought before it called tools.
   */
  thinkingMode: z.boolean().default(false),
  /** Whether OpenAI's marks for what to cache are taken; other models find that by themselves, and refuse the marks. */
  cacheMarks: z.boolean().default(false),
  /** How replies are named on its wire of responses: xAI's by ids without the prefix that clients are promised. */
  responseIds: z.enum(['prefixed', 'bare']).default('prefixed'),
  /** What its vendor runs for it as a hosted tool. */
  hosted: z.array(z.enum(['web-search', 'code-execution'])).default([]),
  /** How its vendor bills searches of the web: each of them, or once for a call that searched (Gemini 2.5). */
  searchesBilled: z.enum(['each', 'once']).default('each'),
  /** Whether its wire of messages takes system text in mid-conversation. */
  midSystem: z.boolean().default(false),
  /** Whether its wire of messages lets the model go on with an answer that was begun. */
  prefill: z.boolean().default(true),
  reasoning: z
    .strictObject({
      style: z.enum(['none', 'toggle', 'effort', 'budget', 'adaptive', 'level']),
      efforts: z.array(z.string()).optional(),
      budget: z.strictObject({ min: z.int().optional(), max: z.int().optional() }).optional(),
      canDisable: z.boolean().optional(),
      /** The effort of a call that states none. */
      default: z.string().optional(),
    })
    .default({ style: 'none' }),
  /** Where the model makes pictures. */
  image: imageSchema.optional(),
  /** Whether its vendor fetches an image of a prompt by its address; others take the bytes alone. */
  imageUrls: z.boolean().default(true),
  /** The most tokens one image of a prompt can count as; a reservation has to hold whatever the vendor makes of it. */
  imageTokens: z.int().positive().default(4000),
});

export type Capabilities = z.output<typeof capabilitiesSchema>;

const shape = {
  /** `<owner>/<name>`; the name may hold slashes. */
  id: z.string().regex(/^[\w.-]+\/[\w./:@+-]+$/, 'must be <owner>/<name>'),
  /** What the vendor itself calls the model. */
  upstream: z.string().min(1),
  name: z.string().min(1),
  description: z.string(),
  /** ISO date of the model's release. */
  created: z.iso.date(),
  /** Tokens of input and output together. */
  contextLength: z.int().positive(),
  /** Tokens of output at most for one candidate. */
  outputLimit: z.int().positive(),
  input: z.array(modality).min(1),
  output: z.array(modality).min(1),
  canonicalSlug: z.string().optional(),
  tokenizer: z.string().default('Other'),
  instructType: z.string().nullable().default(null),
  moderated: z.boolean().default(false),
  supportedParameters: z.array(z.string()).default([]),
  /** The protocols its vendor serves it by, where these are fewer than the vendor speaks. */
  protocols: z.array(z.string()).min(1).optional(),
  /** The last day it is served. */
  expires: z.iso.date().nullable().default(null),
  /** The model to go on with once that day has passed. */
  successor: z.string().optional(),
  /** Other ids it answers to, beside its canonical slug. */
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
  /** The day the facts were true, and where they are from. */
  asOf: z.iso.date(),
  source: z.string(),
  /** Flags that hold for every model of the file that does not say otherwise. */
  defaults: z.strictObject({ capabilities: z.record(z.string(), z.unknown()).default({}) }).prefault({}),
  models: z.array(
    z.looseObject({ id: z.string(), capabilities: z.record(z.string(), z.unknown()).default({}) }),
  ),
});

/** Checks facts about models that come from anywhere but a catalogue file. Throws a ZodError that names model and field. */
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

/** Reads and checks a catalogue file. Throws an Error that names the file, the model and the field at fault. */
export function readCatalogue(file: URL): Model[] {
  const parsed = fileSchema.safeParse(readJson(file));
  if (!parsed.success) throw new Error(`${file.pathname}: ${z.prettifyError(parsed.error)}`);
  const { defaults, models } = parsed.data;
  return models.map((facts) => {
    const model = modelSchema.safeParse({
      ...facts,
      capabilities: { ...defaults.capabilities, ...facts.capabilities },
    });
    if (!model.success)
      throw new Error(`${file.pathname}: model "${facts.id}": ${z.prettifyError(model.error)}`);
    return model.data;
  });
}

/** One provider's readiness to serve one model. */
export interface Offer {
  readonly provider: Provider;
  readonly model: Model;
  readonly price: Price;
}

/** All calls share these facts: whoever sets one would set it for all of them. */
function freeze(facts: object): void {
  if (Object.isFrozen(facts)) return;
  Object.freeze(facts);
  for (const fact of Object.values(facts)) if (typeof fact === 'object' && fact !== null) freeze(fact);
}

const day = 24 * 60 * 60 * 1000;

/** The first moment a model is no longer served. */
function endOf({ expires }: Model): number {
  return expires === null ? Infinity : Date.parse(expires) + day;
}

/** All offers of all providers, found by model id. Discovered models replace what their provider offered before. */
export class Catalog {
  readonly #byProvider = new Map<string, Offer[]>();
  #byModel = new Map<string, Offer[]>();
  /** The ids that models go by beside their own. */
  #aliases = new Map<string, string>();
  /** Models whose last day has passed. */
  #gone = new Map<string, Model>();
  readonly #listings = new Set<() => Promise<void>>();
  #nextEnd = Infinity;
  #version = 0;

  /** Sets what a provider offers, with one of its keys where it has several. Throws where it names one model twice. */
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
      freeze(model);
    }
    this.#byProvider.set(
      `${provider.name} ${provider.credential ?? 1}`,
      models.map((model) => ({ provider, model, price: model.price ?? freePrice })),
    );
    this.#sort();
  }

  /** Keeps a provider's place in the order of the configuration: `look` asks the vendor for its models and offers them, later. */
  expect(provider: Provider, look: () => Promise<void>): void {
    this.offer(provider, []);
    this.#listings.add(look);
  }

  /** Asks all vendors that list their models themselves, for whoever looks before a gateway is opened. */
  async lookAtListings(): Promise<void> {
    await Promise.all([...this.#listings].map((look) => look()));
  }

  /** Grows with each change, so that what was made from the catalogue can be known as old. */
  get version(): number {
    if (Date.now() >= this.#nextEnd) this.#sort();
    return this.#version;
  }

  /** Who serves a model, in the order of the configuration; empty for an unknown one, and one whose day has passed. */
  find(id: string): readonly Offer[] {
    if (Date.now() >= this.#nextEnd) this.#sort();
    return this.#byModel.get(id) ?? this.#byModel.get(this.#aliases.get(id) ?? '') ?? [];
  }

  /** Each model once, as its first provider describes it. */
  models(): Model[] {
    if (Date.now() >= this.#nextEnd) this.#sort();
    return [...this.#byModel.values()].flatMap(([first]) => (first ? [first.model] : []));
  }

  /** The error that tells why there is no such model, and which to go on with where that is known. */
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
