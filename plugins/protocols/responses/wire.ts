/**
 * The request body as clients send it: every documented field with its type and range
 * (https://platform.openai.com/docs/api-reference/responses/create). Unknown fields pass at every depth, and
 * so do unknown values, items, parts and tools. `null` means unset.
 */
import { z } from 'zod';
import { cacheBreakpoint } from '../../shared/openai/cache-breakpoint.ts';
import { schemaFields, settingFields } from '../../shared/openai/settings.ts';
import { isBase64 } from '../../shared/wire-kit/media.ts';
import { buildOpenUnion } from '../../shared/wire-kit/open-values.ts';
import {
  allowInteger,
  base64Data,
  fileData,
  mediaUrl,
  modelId,
  tokenLimit,
} from '../../shared/wire-kit/wire-check.ts';

const anyObject = z.looseObject({});
const text = z.string().nullish();

const inputText = z.looseObject({
  type: z.literal('input_text'),
  text: z.string(),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const outputText = z.looseObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(anyObject).nullish(),
  logprobs: z.array(z.unknown()).nullish(),
});
const refusal = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });
const inputImage = z.looseObject({
  type: z.literal('input_image'),
  image_url: mediaUrl.nullish(),
  file_id: z.string().min(1).nullish(),
  detail: text,
  prompt_cache_breakpoint: cacheBreakpoint,
});
const inputFile = z.looseObject({
  type: z.literal('input_file'),
  file_data: fileData.nullish(),
  file_url: z.string().min(1).nullish(),
  file_id: z.string().min(1).nullish(),
  filename: text,
  prompt_cache_breakpoint: cacheBreakpoint,
});
const inputAudio = z.looseObject({
  type: z.literal('input_audio'),
  input_audio: z.looseObject({ data: base64Data, format: z.string() }),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const part = buildOpenUnion(inputText, outputText, refusal, inputImage, inputFile, inputAudio);
export const isKnownPart = part.isKnown;
const content = z.union([z.string(), z.array(part.any)], 'a string, or an array of content parts');

const id = { id: text, status: text };
const callId = z.string('the id of a tool call').min(1, 'the id of a tool call');

const roles = ['user', 'assistant', 'system', 'developer'] as const;
export const knownRoles: ReadonlySet<unknown> = new Set(roles);

export const anyItem = z.looseObject({
  type: text,
  role: z.unknown().optional(),
  id: z.unknown().optional(),
});
export const message = z.looseObject({
  ...id,
  type: z.literal('message').nullish(),
  role: z.enum(roles),
  content,
});
export const functionCall = z.looseObject({
  ...id,
  type: z.literal('function_call'),
  call_id: callId,
  name: z.string().min(1),
  namespace: text,
  arguments: z.string('a string holding JSON'),
});
export const customCall = z.looseObject({
  ...id,
  type: z.literal('custom_tool_call'),
  call_id: callId,
  name: z.string().min(1),
  namespace: text,
  input: z.string(),
});
export const callOutput = z.looseObject({
  ...id,
  type: z.enum(['function_call_output', 'custom_tool_call_output']),
  call_id: callId,
  output: content,
});
export const reasoning = z.looseObject({
  ...id,
  type: z.literal('reasoning'),
  summary: z.array(z.looseObject({ type: text, text: z.string() })).nullish(),
  content: z.array(z.looseObject({ type: text, text: z.string() })).nullish(),
  encrypted_content: text,
});
export const compaction = z.looseObject({ encrypted_content: z.string() });
/** What a client's computer shows after a call of it. */
export const screenshot = z.looseObject({ output: z.looseObject({ image_url: mediaUrl.nullish() }) });
export const imageCall = z.looseObject({
  ...id,
  type: z.literal('image_generation_call'),
  result: z.string().refine(isBase64, 'base64 data').nullish(),
  output_format: text,
});

const definition = { name: z.string().min(1), description: text };
const functionTool = z.looseObject({
  type: z.literal('function'),
  ...definition,
  parameters: anyObject.nullish(),
  strict: z.boolean().nullish(),
});
const customTool = z.looseObject({ type: z.literal('custom'), ...definition, format: anyObject.nullish() });
const namespaceTool = z.looseObject({
  type: z.literal('namespace'),
  ...definition,
  tools: z.array(z.discriminatedUnion('type', [functionTool, customTool])),
});
export const anyTool = z.looseObject({ type: z.string('the type of a tool') });
export const moreTools = z.looseObject({ tools: z.array(anyTool) });
export const ownTool = z.discriminatedUnion('type', [functionTool, customTool, namespaceTool]);

const toolChoice = z.union(
  [z.string(), z.looseObject({ type: z.string() })],
  '"none", "auto", "required", or an object that names a tool',
);

const textFormat = buildOpenUnion(
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    ...schemaFields,
    schema: anyObject,
  }),
);
export const isKnownFormat = textFormat.isKnown;

const input = z.union([z.string(), z.array(z.unknown())], 'a string, or an array of input items').nullish();
export const ownInput = z.looseObject({ input });

export const request = z.looseObject({
  model: modelId,
  input,
  instructions: text,
  max_output_tokens: tokenLimit.nullish(),
  max_tool_calls: allowInteger(1, Number.MAX_SAFE_INTEGER).nullish(),
  stream_options: z.looseObject({ include_obfuscation: z.boolean().nullish() }).nullish(),
  tools: z.array(anyTool).nullish(),
  tool_choice: toolChoice.nullish(),
  reasoning: z.looseObject({ effort: text, summary: text }).nullish(),
  text: z.looseObject({ format: textFormat.any.nullish(), verbosity: text }).nullish(),
  include: z.array(z.string()).nullish(),
  truncation: text,
  prompt_cache_options: anyObject.nullish(),
  background: z.boolean().nullish(),
  previous_response_id: text,
  conversation: z
    .union([z.string(), z.looseObject({ id: z.string() })], 'an id, or an object with it')
    .nullish(),
  ...settingFields,
});

/** What an item changes of the settings, from there on. */
export const update = z.looseObject({ reasoning: request.shape.reasoning, text: request.shape.text });

export type Request = z.output<typeof request>;
export type Update = z.output<typeof update>;
export type Message = z.output<typeof message>;
export type FunctionCall = z.output<typeof functionCall>;
export type CustomCall = z.output<typeof customCall>;
export type CallOutput = z.output<typeof callOutput>;
export type Reasoning = z.output<typeof reasoning>;
export type ImageCall = z.output<typeof imageCall>;
export type Content = z.output<typeof content>;
export type AnyPart = z.output<typeof part.any>;
export type Part = z.output<typeof part.known>;
export type OwnTool = z.output<typeof ownTool>;
export type FlatTool = Exclude<OwnTool, { type: 'namespace' }>;
export type KnownFormat = z.output<typeof textFormat.known>;
