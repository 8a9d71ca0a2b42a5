/**
 * The request every protocol meets in. Order is sacred, unset differs from an explicit default, and tool
 * arguments and schemas stay as they came: what a decoder reads, the encoder of the same protocol can restore.
 * What has no canonical name rides in `vendor`, under the protocol that knows it.
 */
import { z } from 'zod';
import { opaqueSchema, vendorBagSchema } from './events.ts';

/**
 * How the protocol that read a thing had it written, where it knows several spellings of the same (a string, or
 * parts with one text): words of that protocol's own, by its name. Losing them changes no meaning.
 */
const formSchema = z.record(z.string(), z.array(z.string()));
const bag = { vendor: vendorBagSchema.optional(), form: formSchema.optional() };
/** A mark after which the prompt may be cached, for the time to live stated or the vendor's default. */
const cacheSchema = z.strictObject({ ttl: z.enum(['5m', '30m', '1h']).optional() });
/** Where the client wrote it, as a path in its own words (`messages[0].content[1]`): losses are told by it. */
const origin = { at: z.string().optional() };
const side = { cache: cacheSchema.optional(), ...bag, ...origin };

const mediaSourceSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('base64'), data: z.string() }),
  z.strictObject({ type: z.literal('url'), url: z.string() }),
  /** A file kept by a vendor: only that vendor can read it. */
  z.strictObject({ type: z.literal('file'), vendor: z.string(), id: z.string() }),
  z.strictObject({ type: z.literal('text'), text: z.string() }),
]);

/** Some vendors seal every kind of part their model made, so that it can be given back. */
const sealed = { opaque: z.array(opaqueSchema).optional() };

const textBlock = z.strictObject({ type: z.literal('text'), text: z.string(), ...sealed, ...side });
const mediaBlock = z.strictObject({
  type: z.literal('media'),
  kind: z.enum(['image', 'audio', 'video', 'document']),
  source: mediaSourceSchema,
  mediaType: z.string().optional(),
  filename: z.string().optional(),
  title: z.string().optional(),
  /** What its client says of a document beside what it holds. */
  context: z.string().optional(),
  detail: z.string().optional(),
  /** A picture that tells by its transparent parts where another is to be changed. */
  mask: z.literal(true).optional(),
  ...sealed,
  ...side,
});
const refusalBlock = z.strictObject({ type: z.literal('refusal'), text: z.string(), ...side });
const reasoningBlock = z.strictObject({
  type: z.literal('reasoning'),
  text: z.string(),
  /** True where the text is a summary of the reasoning and not the reasoning itself. */
  summary: z.boolean().optional(),
  ...sealed,
  ...side,
});
const toolCallBlock = z.strictObject({
  type: z.literal('tool-call'),
  id: z.string(),
  name: z.string(),
  /** JSON text as it came (free text for a custom tool): never parsed and written anew on its way. */
  arguments: z.string(),
  custom: z.boolean().optional(),
  namespace: z.string().optional(),
  ...sealed,
  ...side,
});
const toolResultBlock = z.strictObject({
  type: z.literal('tool-result'),
  callId: z.string(),
  name: z.string().optional(),
  content: z.array(z.union([textBlock, mediaBlock])),
  isError: z.boolean().optional(),
  custom: z.boolean().optional(),
  ...side,
});
/** An item only its own protocol understands (a hosted tool's call, executed code): kept whole, in order. */
const foreignBlock = z.strictObject({
  type: z.literal('foreign'),
  protocol: z.string(),
  value: z.unknown(),
  ...side,
});

const blockSchema = z.discriminatedUnion('type', [
  textBlock,
  mediaBlock,
  refusalBlock,
  reasoningBlock,
  toolCallBlock,
  toolResultBlock,
  foreignBlock,
]);
export type Block = z.infer<typeof blockSchema>;

const turnSchema = z.strictObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  blocks: z.array(blockSchema),
  name: z.string().optional(),
  id: z.string().optional(),
  ...bag,
  ...origin,
});
export type Turn = z.infer<typeof turnSchema>;

const functionTool = z.strictObject({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().optional(),
  /** JSON Schema of the arguments, as it came. */
  schema: z.unknown().optional(),
  strict: z.boolean().nullable().optional(),
  namespace: z.string().optional(),
  ...side,
});
const customTool = z.strictObject({
  type: z.literal('custom'),
  name: z.string(),
  description: z.string().optional(),
  format: z.unknown().optional(),
  namespace: z.string().optional(),
  ...side,
});
/** A tool the vendor runs itself; `kind` where several vendors have one alike. */
const hostedTool = z.strictObject({
  type: z.literal('hosted'),
  protocol: z.string(),
  kind: z.enum(['web-search', 'code-execution', 'other']),
  value: z.unknown(),
  ...side,
});

const toolSchema = z.discriminatedUnion('type', [functionTool, customTool, hostedTool]);
export type Tool = z.infer<typeof toolSchema>;

const toolChoiceSchema = z.strictObject({
  mode: z.enum(['auto', 'none', 'required', 'one', 'subset']),
  /** The tools meant by `one` and `subset`. */
  names: z.array(z.string()).optional(),
  /** Of a `subset`: whether one of them must be called. */
  required: z.boolean().optional(),
  ...bag,
});

/** How a picture is wanted, each in the words of the images protocol. */
const imageSchema = z.strictObject({
  size: z.string().optional(),
  quality: z.string().optional(),
  format: z.string().optional(),
  compression: z.int().optional(),
  background: z.string().optional(),
  /** How many unfinished pictures a stream is to show. */
  partials: z.int().optional(),
  moderation: z.string().optional(),
  /** How closely a picture that is edited is to be kept to. */
  fidelity: z.string().optional(),
});
export type ImageSettings = z.infer<typeof imageSchema>;

export const requestSchema = z.strictObject({
  model: z.string(),
  stream: z.boolean(),
  turns: z.array(turnSchema),
  tools: z.array(toolSchema).optional(),
  toolChoice: toolChoiceSchema.optional(),
  parallelToolCalls: z.boolean().optional(),
  /** Tokens of output at most for each candidate, reasoning included. */
  outputLimit: z.int().optional(),
  candidates: z.int().optional(),
  temperature: z.number().optional(),
  topP: z.number().optional(),
  topK: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  presencePenalty: z.number().optional(),
  /** A number, or its digits where it is too large for a double. */
  seed: z.union([z.number(), z.string()]).optional(),
  stop: z.array(z.string()).optional(),
  logprobs: z.strictObject({ top: z.int().optional() }).optional(),
  format: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text') }),
      z.strictObject({ type: z.literal('json') }),
      z.strictObject({
        type: z.literal('schema'),
        name: z.string().optional(),
        description: z.string().optional(),
        schema: z.unknown(),
        strict: z.boolean().nullable().optional(),
        ...bag,
      }),
    ])
    .optional(),
  verbosity: z.string().optional(),
  reasoning: z
    .strictObject({
      effort: z.string().optional(),
      budget: z.int().optional(),
      /** Whether and how the reasoning is to be shown. */
      display: z.enum(['none', 'summary', 'full']).optional(),
    })
    .optional(),
  modalities: z.array(z.string()).optional(),
  image: imageSchema.optional(),
  user: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  serviceTier: z.string().optional(),
  cacheKey: z.string().optional(),
  /** How the client called canonical fields, where its protocol has several names for the same: losses are told by them. */
  names: z.record(z.string(), z.string()).optional(),
  ...bag,
});

export type CanonicalRequest = z.infer<typeof requestSchema>;
