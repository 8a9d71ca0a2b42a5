/**
 * What is known about one model: price, limits, modalities and capability flags. A model that has neither a
 * price nor `free: true` is refused, so nothing is sold at a guessed price.
 */
import { z } from 'zod';
import type { Price } from './price-terms.ts';
import { priceSchema, toRegionalPrice } from './price.ts';

/**
 * Flags about a model that only one protocol understands, in `capabilities.wire[protocol]`. Core hands them
 * on; the protocol says which there are, checks them and reads them.
 */
const wireSchema = z.record(z.string(), z.record(z.string(), z.unknown())).default({});

const modality = z.enum(['text', 'image', 'audio', 'video', 'pdf', 'file']);

/** Whether a conversation can have it as output. What else a model makes is a word of other protocols. */
export function isModality(output: string): boolean {
  return modality.safeParse(output).success;
}

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
  /** Whether the vendor has a JSON mode without a schema, as every model with structured output has. */
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
      /** Whether the vendor limits the answer alone, so that reasoning comes on top of the output limit. */
      outsideLimit: z.boolean().optional(),
    })
    .default({ style: 'none' }),
  /** Set if the model makes pictures. */
  image: imageSchema.optional(),
  /** Whether the vendor fetches an image by URL. Other vendors accept bytes only. */
  imageUrls: z.boolean().default(true),
  /** Maximum tokens of one input image. A reservation uses it. */
  imageTokens: z.int().positive().default(4000),
  /** Flags that only one protocol understands, by its name. The protocol's own schema checks them. */
  wire: wireSchema,
});

export interface Capabilities extends z.output<typeof capabilitiesSchema> {}

const shape = {
  /** `<owner>/<name>`; the name may contain slashes. */
  id: z.string().regex(/^[\w.-]+\/[\w./:@+-]+$/, 'must be <owner>/<name>'),
  upstream: z.string().min(1),
  name: z.string().min(1),
  description: z.string(),
  created: z.iso.date(),
  /** Tokens of input and output together. */
  contextLength: z.int().positive(),
  /** Maximum output tokens of one candidate. */
  outputLimit: z.int().positive(),
  input: z.array(modality).min(1),
  output: z
    .array(z.union([modality, z.string().regex(/^[a-z]{3,20}s$/, 'is a word such as embeddings')]))
    .min(1),
  canonicalSlug: z.string().optional(),
  tokenizer: z.string().default('Other'),
  instructType: z.string().nullable().default(null),
  moderated: z.boolean().default(false),
  supportedParameters: z.array(z.string()).default([]),
  /** Protocols that serve this model, if they are fewer than the vendor speaks. */
  protocols: z.array(z.string()).min(1).optional(),
  expires: z.iso.date().nullable().default(null),
  /** Model to use after that day. */
  successor: z.string().optional(),
  /** Which facts have no second source of this month, and why. Only the check of prices reads it. */
  unconfirmed: z.string().min(1).optional(),
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

export interface Model extends z.output<typeof modelSchema> {}
export interface ModelFacts extends z.input<typeof modelSchema> {}

/** What can be said of a known model. */
export const changesSchema = z
  .strictObject({ ...shape, capabilities: capabilitiesSchema })
  .omit({ id: true })
  .partial();

/** The catalogue file that a model's flags come from. */
const sourceOfFlags = new WeakMap<Capabilities['wire'], string>();

/** Checks facts from the file `source`, which later errors name. Throws a ZodError that names the field. */
export function checkModel(facts: unknown, source?: string): Model {
  const model = modelSchema.parse(facts);
  if (source !== undefined) sourceOfFlags.set(model.capabilities.wire, source);
  return model;
}

/** By a protocol's name, the schema of its flags in `capabilities.wire`. */
export type ProtocolFlags = ReadonlyMap<string, z.ZodType>;

/**
 * Makes a function that returns the flags in `capabilities.wire[protocol]`, with the schema's defaults. It
 * checks each model's flags once. Throws a ZodError if they are wrong.
 */
export function createFlagReader<Flags>(
  protocol: string,
  schema: z.ZodType<Flags>,
): (capabilities: Capabilities) => Flags {
  const known = new WeakMap<Capabilities, Flags>();
  return (capabilities) => {
    let flags = known.get(capabilities);
    if (flags === undefined) {
      flags = schema.parse(capabilities.wire[protocol] ?? {});
      known.set(capabilities, flags);
    }
    return flags;
  };
}

/**
 * Checks a model's flags with the schemas of the installed protocols. Throws an Error that names the file,
 * the model and the flag. Skips protocols that are not installed, if the provider speaks them.
 */
export function checkFlags(
  provider: { readonly name: string; readonly endpoints: Readonly<Record<string, unknown>> },
  { id, capabilities }: Model,
  protocols: ProtocolFlags,
): void {
  const { wire } = capabilities;
  for (const [protocol, flags] of Object.entries(wire)) {
    const schema = protocols.get(protocol);
    const isUnknown = !schema && !Object.hasOwn(provider.endpoints, protocol);
    const checked = schema?.safeParse(flags);
    const fault = isUnknown ? 'there is no such protocol' : checked?.error && joinIssues(checked.error);
    if (fault === undefined) continue;
    const source = sourceOfFlags.get(wire) ?? `provider "${provider.name}"`;
    throw new Error(`${source}: model "${id}": capabilities.wire["${protocol}"]: ${fault}`);
  }
}

export function joinIssues({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => [...path, message].join(': ')).join('; ');
}

const worldwide = new WeakMap<Price, Price>();

/** The worldwide price that `toRegional` made a regional one of. Undefined for all other prices. */
export function findWorldwidePrice(price: Price): Price | undefined {
  return worldwide.get(price);
}

/** The model at the prices of calls that stay in one region. */
export function toRegional(model: Model): Model {
  if (!model.price) return model;
  const price = toRegionalPrice(model.price);
  if (price !== model.price) worldwide.set(price, model.price);
  return { ...model, price };
}
