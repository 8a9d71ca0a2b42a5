/**
 * What is known about models: prices, limits, modalities, and the flags encoders fit a request by. A vendor's
 * facts stand in one data file, dated, with decimal strings for money; a model that has neither a price nor
 * `free: true` is refused when the file is read, so nothing is ever sold at a guessed price.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { freePrice, priceSchema, type Price } from './money.ts';
import type { Provider } from './provider.ts';

const modality = z.enum(['text', 'image', 'audio', 'video', 'pdf', 'file']);

/** What a model can be asked for, beyond plain text: encoders fit a request to these. */
const capabilitiesSchema = z.strictObject({
  tools: z.boolean().default(true),
  structuredOutput: z.boolean().default(true),
  /** False where the vendor answers 400 to temperature, top_p and their like. */
  sampling: z.boolean().default(true),
  /** How the wire of chat-completions spells the output limit for this model. */
  outputLimitField: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
  /**
   * Whether its wire of chat-completions knows the later additions: the developer role, custom tools, cache marks
   * and keys, verbosity, service tiers, metadata. Most vendors refuse a field they do not know.
   */
  chatExtras: z.boolean().default(false),
  /** Whether its wire of messages takes system text in mid-conversation. */
  midSystem: z.boolean().default(false),
  reasoning: z
    .strictObject({
      style: z.enum(['none', 'toggle', 'effort', 'budget', 'adaptive', 'level']),
      efforts: z.array(z.string()).optional(),
      budget: z.strictObject({ min: z.int().optional(), max: z.int().optional() }).optional(),
      canDisable: z.boolean().optional(),
    })
    .default({ style: 'none' }),
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
  expires: z.iso.date().nullable().default(null),
  price: priceSchema.optional(),
  free: z.literal(true).optional(),
};

const modelSchema = z
  .strictObject({ ...shape, capabilities: capabilitiesSchema.prefault({}) })
  .refine((model) => (model.price === undefined) !== (model.free === undefined), { message: 'needs a price, or free: true, and not both', path: ['price'] });

export type Model = z.output<typeof modelSchema>;
export type ModelFacts = z.input<typeof modelSchema>;

const fileSchema = z.strictObject({
  vendor: z.string(),
  /** The day the facts were true, and where they are from. */
  asOf: z.iso.date(),
  source: z.string(),
  /** Flags that hold for every model of the file that does not say otherwise. */
  defaults: z.strictObject({ capabilities: z.record(z.string(), z.unknown()).default({}) }).prefault({}),
  models: z.array(z.looseObject({ id: z.string(), capabilities: z.record(z.string(), z.unknown()).default({}) })),
});

/** Checks facts about models that come from anywhere but a catalogue file. Throws a ZodError that names model and field. */
export function checkModel(facts: unknown): Model {
  return modelSchema.parse(facts);
}

/** Reads and checks a catalogue file. Throws an Error that names the file, the model and the field at fault. */
export function readCatalogue(file: URL): Model[] {
  const parsed = fileSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (!parsed.success) throw new Error(`${file.pathname}: ${z.prettifyError(parsed.error)}`);
  const { defaults, models } = parsed.data;
  return models.map((facts) => {
    const model = modelSchema.safeParse({ ...facts, capabilities: { ...defaults.capabilities, ...facts.capabilities } });
    if (!model.success) throw new Error(`${file.pathname}: model "${facts.id}": ${z.prettifyError(model.error)}`);
    return model.data;
  });
}

/** One provider's readiness to serve one model. */
export interface Offer {
  readonly provider: Provider;
  readonly model: Model;
  readonly price: Price;
}

/** All offers of all providers, found by model id. Discovered models replace what their provider offered before. */
export class Catalog {
  readonly #byProvider = new Map<string, Offer[]>();
  #byModel = new Map<string, Offer[]>();
  /** Grows with each change, so that what was rendered from the catalogue can be known as old. */
  version = 0;

  /** Sets what a provider offers. Throws where it names one model twice. */
  offer(provider: Provider, models: readonly Model[]): void {
    const ids = new Set<string>();
    for (const { id } of models) {
      if (ids.has(id)) throw new Error(`provider "${provider.name}" lists the model "${id}" twice`);
      ids.add(id);
    }
    this.#byProvider.set(provider.name, models.map((model) => ({ provider, model, price: model.price ?? freePrice })));
    this.#byModel = Map.groupBy([...this.#byProvider.values()].flat(), ({ model }) => model.id);
    this.version += 1;
  }

  /** Who serves a model, in the order of the configuration; empty for an unknown one. */
  find(id: string): readonly Offer[] {
    return this.#byModel.get(id) ?? [];
  }

  /** Each model once, as its first provider describes it. */
  models(): Model[] {
    return [...this.#byModel.values()].flatMap(([first]) => first ? [first.model] : []);
  }
}
