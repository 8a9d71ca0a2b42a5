/**
 * The canonical request, to which and from which every protocol translates. Order is kept, and unset differs
 * from an explicit default. Tool arguments and schemas are unchanged. What has no canonical name goes into
 * `vendor`, by protocol. What a client wrote is restored from its own body (`crossing/restore.ts`).
 */
import { z } from 'zod';
import { opaqueSchema, vendorBagSchema } from './events.ts';

const bag = { vendor: vendorBagSchema.optional() };
/** A mark up to which the prompt may be cached, for the stated time or the provider's default. */
const cacheSchema = z.strictObject({ ttl: z.enum(['5m', '30m', '1h', '12h']).optional() });
/** The path in the client's request (`messages[0].content[1]`): losses name it, changes are made there. */
const origin = { at: z.string().optional() };
const side = { cache: cacheSchema.optional(), ...bag, ...origin };

const mediaSourceSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('base64'), data: z.string() }),
  z.strictObject({ type: z.literal('url'), url: z.string() }),
  /** A file stored by a provider; only that provider can read it. */
  z.strictObject({ type: z.literal('file'), vendor: z.string(), id: z.string() }),
  z.strictObject({ type: z.literal('text'), text: z.string() }),
]);

/** Some providers sign every kind of part that their model produced. */
const sealed = { opaque: z.array(opaqueSchema).optional() };

const textBlock = z.strictObject({ type: z.literal('text'), text: z.string(), ...sealed, ...side });
const mediaBlock = z.strictObject({
  type: z.literal('media'),
  kind: z.enum(['image', 'audio', 'video', 'document']),
  source: mediaSourceSchema,
  mediaType: z.string().optional(),
  filename: z.string().optional(),
  title: z.string().optional(),
  /** What the client says about a document, apart from its content. */
  context: z.string().optional(),
  detail: z.string().optional(),
  /** A picture whose transparent parts mark where another is to be edited. */
  mask: z.literal(true).optional(),
  ...sealed,
  ...side,
});
const refusalBlock = z.strictObject({ type: z.literal('refusal'), text: z.string(), ...side });
const reasoningBlock = z.strictObject({
  type: z.literal('reasoning'),
  text: z.string(),
  /** True if the text is a summary of the reasoning. */
  summary: z.boolean().optional(),
  ...sealed,
  ...side,
});
const toolCallBlock = z.strictObject({
  type: z.literal('tool-call'),
  id: z.string(),
  name: z.string(),
  /** The JSON text of the arguments, or free text for a custom tool, never parsed and serialized again. */
  arguments: z.string(),
  custom: z.boolean().optional(),
  namespace: z.string().optional(),
  ...sealed,
  ...side,
});
/** An item of one protocol alone (a hosted tool call, executed code), kept whole and in order. */
const foreignBlock = z.strictObject({
  type: z.literal('foreign'),
  protocol: z.string(),
  value: z.record(z.string(), z.unknown()),
  /** Whether an answer of a provider that does not know it is worthless. */
  needed: z.literal(true).optional(),
  /** Whether the request says the same in another form too. */
  repeated: z.literal(true).optional(),
  ...side,
});
const toolResultBlock = z.strictObject({
  type: z.literal('tool-result'),
  callId: z.string(),
  name: z.string().optional(),
  content: z.array(z.union([textBlock, mediaBlock, foreignBlock])),
  isError: z.boolean().optional(),
  custom: z.boolean().optional(),
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
type Shape<Type> = Extract<z.infer<typeof blockSchema>, { type: Type }>;
// Interfaces have names, which editors and errors show in place of all members.
export interface TextBlock extends Shape<'text'> {}
export interface MediaBlock extends Shape<'media'> {}
export interface RefusalBlock extends Shape<'refusal'> {}
export interface ReasoningBlock extends Shape<'reasoning'> {}
export interface ToolCall extends Shape<'tool-call'> {}
export interface ToolResult extends Shape<'tool-result'> {}
export interface ForeignBlock extends Shape<'foreign'> {}
type ContentBlock = TextBlock | MediaBlock | RefusalBlock | ReasoningBlock | ForeignBlock;
export type Block = ContentBlock | ToolCall | ToolResult;
export type BlockOf<Type extends Block['type']> = Extract<Block, { type: Type }>;

const turnSchema = z.strictObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  blocks: z.array(blockSchema),
  name: z.string().optional(),
  id: z.string().optional(),
  ...bag,
  ...origin,
});
export interface Turn extends z.infer<typeof turnSchema> {
  blocks: Block[];
}

const functionTool = z.strictObject({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().optional(),
  /** The JSON Schema of the arguments, unchanged. */
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
/** A tool that the provider runs; `kind` names those that several providers have. */
const hostedTool = z.strictObject({
  type: z.literal('hosted'),
  protocol: z.string(),
  kind: z.enum(['web-search', 'code-execution', 'other']),
  value: z.record(z.string(), z.unknown()),
  ...side,
});

const toolSchema = z.discriminatedUnion('type', [functionTool, customTool, hostedTool]);
export type Tool = z.infer<typeof toolSchema>;
export type HostedTool = Extract<Tool, { type: 'hosted' }>;
/** A tool that the client runs. */
export type OwnTool = Exclude<Tool, { type: 'hosted' }>;

const toolChoiceSchema = z.strictObject({
  mode: z.enum(['auto', 'none', 'required', 'one', 'subset']),
  /** The tools of `one` and `subset`. */
  names: z.array(z.string()).optional(),
  /** Of a `subset`: whether one of them must be called. */
  required: z.boolean().optional(),
  ...bag,
});

/** The settings of a picture, with the values of the images protocol. */
const imageSchema = z.strictObject({
  size: z.string().optional(),
  quality: z.string().optional(),
  format: z.string().optional(),
  compression: z.int().optional(),
  background: z.string().optional(),
  partials: z.int().optional(),
  moderation: z.string().optional(),
  /** How closely an edited picture must match its input. */
  fidelity: z.string().optional(),
});
export interface ImageSettings extends z.infer<typeof imageSchema> {}

export const requestSchema = z.strictObject({
  model: z.string(),
  stream: z.boolean(),
  /** Empty if the call is no conversation. */
  turns: z.array(turnSchema),
  /** What a call that is no conversation asks, in the form of the plugins for calls of its kind. */
  task: z.unknown().optional(),
  tools: z.array(toolSchema).optional(),
  toolChoice: toolChoiceSchema.optional(),
  parallelToolCalls: z.boolean().optional(),
  /** Output tokens of each candidate at most, reasoning included. */
  outputLimit: z.int().optional(),
  candidates: z.int().optional(),
  temperature: z.number().optional(),
  topP: z.number().optional(),
  topK: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  presencePenalty: z.number().optional(),
  /** A number, or its digits if it exceeds a double. */
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
      /** Whether and how to show the reasoning. */
      display: z.enum(['none', 'summary', 'full']).optional(),
    })
    .optional(),
  modalities: z.array(z.string()).optional(),
  image: imageSchema.optional(),
  user: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  serviceTier: z.string().optional(),
  cacheKey: z.string().optional(),
  /** The client's names of canonical fields, if its protocol has several for one. Losses use them. */
  names: z.record(z.string(), z.string()).optional(),
  ...bag,
});

export interface CanonicalRequest extends z.infer<typeof requestSchema> {
  turns: Turn[];
}
export type ToolChoice = NonNullable<CanonicalRequest['toolChoice']>;
export type Format = NonNullable<CanonicalRequest['format']>;
export type Reasoning = NonNullable<CanonicalRequest['reasoning']>;
