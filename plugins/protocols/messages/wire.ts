/**
 * The request body as clients send it: every documented field with its type and range. Unknown fields, values
 * and types pass at every depth, because clients use the vendor's betas.
 */
import { z } from 'zod';
import { buildOpenUnion, excludeTypes } from '../../shared/wire-kit/open-values.ts';
import { providerObject } from '../../shared/wire-kit/provider-object.ts';
import { splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { allowNumber, base64Data, modelId } from '../../shared/wire-kit/wire-check.ts';

const anyObject = z.looseObject({});
const cacheControl = z.looseObject({ type: z.string(), ttl: z.string().nullish() }).nullish();

const text = z.looseObject({ type: z.literal('text'), text: z.string(), cache_control: cacheControl });

const urlSource = z.looseObject({ type: z.literal('url'), url: z.string().min(1) });
const fileSource = z.looseObject({ type: z.literal('file'), file_id: z.string().min(1) });
const base64Source = z.looseObject({
  type: z.literal('base64'),
  media_type: z.string(),
  data: base64Data,
});
const imageSource = buildOpenUnion(base64Source, urlSource, fileSource);
const image = z.looseObject({
  type: z.literal('image'),
  source: imageSource.any,
  cache_control: cacheControl,
});
const knownTypes = splitNames(`
  text image document search_result thinking redacted_thinking tool_use tool_result
`);
/** Blocks of the vendor's own tools and betas. */
const otherBlock = excludeTypes(knownTypes);

const documentContent = z.union(
  [z.string(), z.array(z.union([z.discriminatedUnion('type', [text, image]), otherBlock]))],
  'a string, or an array of blocks',
);
const documentSource = buildOpenUnion(
  base64Source,
  z.looseObject({ type: z.literal('text'), media_type: z.string(), data: z.string() }),
  z.looseObject({ type: z.literal('content'), content: documentContent }),
  urlSource,
  fileSource,
);
const document = z.looseObject({
  type: z.literal('document'),
  source: documentSource.any,
  title: z.string().nullish(),
  context: z.string().nullish(),
  cache_control: cacheControl,
});
const searchResult = z.looseObject({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: z.array(text),
  cache_control: cacheControl,
});

const thinking = z.looseObject({
  type: z.literal('thinking'),
  thinking: z.string(),
  signature: z.string().nullish(),
});
const redactedThinking = z.looseObject({ type: z.literal('redacted_thinking'), data: z.string() });
const toolUse = z.looseObject({
  type: z.literal('tool_use'),
  id: z.string().min(1),
  name: z.string().min(1),
  input: anyObject,
  cache_control: cacheControl,
});

const toolReference = z.looseObject({
  type: z.literal('tool_reference'),
  tool_name: z.string(),
  cache_control: cacheControl,
});
const resultContent = z.union([
  z.discriminatedUnion('type', [text, image, document, searchResult]),
  otherBlock,
]);
const toolResult = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: z
    .string('the id of the tool_use block that it belongs to')
    .min(1, 'the id of the tool_use block that it belongs to'),
  content: z.union([z.string(), z.array(resultContent)], 'a string, or an array of blocks').nullish(),
  is_error: z.boolean().nullish(),
  cache_control: cacheControl,
});

const knownBlock = z.discriminatedUnion('type', [
  text,
  image,
  document,
  searchResult,
  thinking,
  redactedThinking,
  toolUse,
  toolResult,
]);

export const contentKinds = 'a string, or an array of content blocks';
const content = z.union([z.string(), z.array(z.union([knownBlock, otherBlock]))], contentKinds);
/** Only a system message that sets the effort from then on needs no content. */
const message = z.looseObject({ role: z.string('the role of the author'), content: content.optional() });

const functionTool = z.looseObject({
  type: z.literal('custom').nullish(),
  name: z.string().min(1),
  description: z.string().nullish(),
  input_schema: z.looseObject({ type: z.literal('object') }),
  strict: z.boolean().nullish(),
  cache_control: cacheControl,
});
/** Tools of a versioned type: the vendor defines them, and runs most of them. */
const vendorType = z
  .string()
  .refine((type) => type !== 'custom', { abort: true, message: 'a type of the vendor' });
const vendorTool = z.looseObject({
  type: vendorType,
  name: z.string().nullish(),
  cache_control: cacheControl,
});

const switchOff = z.boolean().nullish();
const toolChoice = buildOpenUnion(
  z.looseObject({ type: z.literal('auto'), disable_parallel_tool_use: switchOff }),
  z.looseObject({ type: z.literal('any'), disable_parallel_tool_use: switchOff }),
  z.looseObject({ type: z.literal('tool'), name: z.string().min(1), disable_parallel_tool_use: switchOff }),
  z.looseObject({ type: z.literal('none') }),
);
export const isKnownChoice = toolChoice.isKnown;

const budget = 'a whole number of tokens, at least 1024';
const display = z.string().nullish();
/** Other types are in use too, such as `between_tools`. */
const thinkingConfig = buildOpenUnion(
  z.looseObject({ type: z.literal('enabled'), budget_tokens: z.int(budget).min(1024, budget), display }),
  z.looseObject({ type: z.literal('adaptive'), display }),
  z.looseObject({ type: z.literal('disabled') }),
);
export const isKnownThinking = thinkingConfig.isKnown;

/** The name of `output_config.format` in its beta. */
export const olderFormat = 'output_format';
const outputFormat = buildOpenUnion(z.looseObject({ type: z.literal('json_schema'), schema: anyObject }));
export const isSchemaFormat = outputFormat.isKnown;

const limit = 'a whole number of tokens';

const fields = {
  model: modelId,
  messages: z.array(message).min(1),
  system: z
    .union([z.string(), z.array(buildOpenUnion(text).any)], 'a string, or an array of text blocks')
    .nullish(),
  stream: z.boolean().nullish(),
  temperature: allowNumber(0, 1).nullish(),
  top_p: allowNumber(0, 1).nullish(),
  top_k: z.int('a whole number, 0 or more').nonnegative('a whole number, 0 or more').nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  tools: z.array(z.union([functionTool, vendorTool])).nullish(),
  tool_choice: toolChoice.any.nullish(),
  thinking: thinkingConfig.any.nullish(),
  output_config: z
    .looseObject({ effort: z.string().nullish(), format: outputFormat.any.nullish() })
    .nullish(),
  [olderFormat]: outputFormat.any.nullish(),
  metadata: z.looseObject({ user_id: z.string().nullish() }).nullish(),
  service_tier: z.string().nullish(),
  cache_control: cacheControl,
  provider: providerObject.nullish(),
};

/** A limit of 0 is allowed: the provider then fills its cache without an answer. */
const tokenLimit = z.int(limit).nonnegative(limit);
export const request = z.looseObject({ ...fields, max_tokens: tokenLimit });
/** A count generates nothing, and needs no limit. */
export const count = z.looseObject({ ...fields, max_tokens: tokenLimit.nullish() });

export type Request = z.output<typeof count>;
export type Message = Request['messages'][number];
export type Content = NonNullable<Message['content']>;
export type Block = Exclude<Content, string>[number];
export type KnownBlock = z.output<typeof knownBlock>;
type Media = z.output<typeof image> | z.output<typeof document>;
export type KnownMedia =
  | (z.output<typeof image> & { source: z.output<typeof imageSource.known> })
  | (z.output<typeof document> & { source: z.output<typeof documentSource.known> });
export type ResultContent = z.output<typeof resultContent>;
type ToolReference = z.output<typeof toolReference>;
export type Thinking = z.output<typeof thinking> | z.output<typeof redactedThinking>;
export type Tool = NonNullable<Request['tools']>[number];
type FunctionTool = z.output<typeof functionTool>;

/** The blocks of content that is more than a text. */
export function listBlocks(content: Content | undefined): Exclude<Content, string> {
  return typeof content === 'object' ? content : [];
}

export function isKnownBlock(block: Block | ResultContent): block is KnownBlock {
  return knownTypes.has(block.type);
}

/** Whether a part of a tool's result names a tool that a tool search found. */
export function isToolReference(part: ResultContent): part is ToolReference {
  return part.type === 'tool_reference' && toolReference.safeParse(part).success;
}

export function isFunctionTool(tool: Tool): tool is FunctionTool {
  return tool.type === undefined || tool.type === null || tool.type === 'custom';
}

export function isKnownMedia(block: Media): block is KnownMedia {
  return (block.type === 'image' ? imageSource : documentSource).isKnown(block.source);
}

const vendorBlock =
  /^(server_tool_use|container_upload|compaction|tool_reference|browser_state|mcp_tool_use|\w+_tool_result)$/;

/** Whether blocks of this type are state of the vendor's own tools. */
export function isVendorState(type: string): boolean {
  return vendorBlock.test(type);
}
