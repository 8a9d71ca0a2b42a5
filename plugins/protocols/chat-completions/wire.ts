/**
 * The request body as clients send it: every documented field with its type and range. Unknown fields, values
 * and types pass, at every depth, since many providers speak this protocol. `null` means unset, as with
 * OpenAI.
 */
import { z } from 'zod';
import { cacheBreakpoint } from '../../shared/openai/cache-breakpoint.ts';
import { schemaFields, settingFields } from '../../shared/openai/settings.ts';
import { buildOpenUnion } from '../../shared/wire-kit/open-values.ts';
import {
  base64Data,
  fileData,
  mediaUrl,
  allowNumber,
  allowInteger,
  tokenLimit,
  modelId,
} from '../../shared/wire-kit/wire-check.ts';

const anyObject = z.looseObject({});

const textPart = z.looseObject({
  type: z.literal('text'),
  text: z.string(),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const imagePart = z.looseObject({
  type: z.literal('image_url'),
  /** Mistral also accepts a bare URL. */
  image_url: z.union(
    [mediaUrl, z.looseObject({ url: mediaUrl, detail: z.string().nullish() })],
    'an object with the "url" of an image',
  ),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const audioPart = z.looseObject({
  type: z.literal('input_audio'),
  /** Mistral also accepts bare data, or a URL. */
  input_audio: z.union(
    [fileData, z.looseObject({ data: base64Data, format: z.string() })],
    'an object with the "data" and the "format" of audio',
  ),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const filePart = z.looseObject({
  type: z.literal('file'),
  file: z.looseObject({
    file_data: fileData.nullish(),
    file_id: z.string().min(1).nullish(),
    filename: z.string().nullish(),
  }),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });

/** Mistral's models write their reasoning like this, and accept it back. */
const thinkingPart = z.looseObject({
  type: z.literal('thinking'),
  thinking: z.array(z.looseObject({ type: z.string(), text: z.string().nullish() })),
});

/** OpenRouter and vLLM accept videos, Mistral accepts documents. */
const videoPart = z.looseObject({
  type: z.literal('video_url'),
  video_url: z.union([mediaUrl, z.looseObject({ url: mediaUrl })], 'an object with the "url" of a video'),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const documentPart = z.looseObject({
  type: z.literal('document_url'),
  document_url: mediaUrl,
  document_name: z.string().nullish(),
  prompt_cache_breakpoint: cacheBreakpoint,
});

const part = buildOpenUnion(
  textPart,
  imagePart,
  audioPart,
  filePart,
  refusalPart,
  thinkingPart,
  videoPart,
  documentPart,
);
export const isKnownPart = part.isKnown;
const parts = z.array(part.any);
const content = z.union([z.string(), parts], 'a string, or an array of content parts');
/** The content of an assistant message. */
const answer = z.union(
  [z.string(), parts],
  'a string, or an array of text and refusal parts; it may be null beside tool calls or reasoning',
);

const calledFunction = z.looseObject({ name: z.string(), arguments: z.string('a string holding JSON') });
const functionCall = { id: z.string(), function: calledFunction, extra_content: anyObject.nullish() };
const toolCall = buildOpenUnion(
  z.looseObject({ type: z.literal('function'), ...functionCall }),
  z.looseObject({
    id: z.string(),
    type: z.literal('custom'),
    custom: z.looseObject({ name: z.string(), input: z.string() }),
    extra_content: anyObject.nullish(),
  }),
  /** Mistral does not require a type. */
  z.looseObject({ type: z.undefined().optional(), ...functionCall }),
);
export const isKnownCall = toolCall.isKnown;

const name = z.string().nullish();
const systemMessage = z.looseObject({ role: z.enum(['system', 'developer']), content, name });
const userMessage = z.looseObject({ role: z.literal('user'), content, name });
const assistantMessage = z.looseObject({
  role: z.literal('assistant'),
  content: answer.nullish(),
  name,
  refusal: z.string().nullish(),
  /** vLLM sends an empty list if there are no calls, and clients send it back. */
  tool_calls: z.array(toolCall.any).nullish(),
  function_call: calledFunction.nullish(),
  audio: z.looseObject({ id: z.string() }).nullish(),
  /** DeepSeek and vLLM use `reasoning_content`, OpenRouter the other two. */
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  reasoning_details: z.array(z.looseObject({ type: z.string() })).nullish(),
  /** OpenRouter's field for generated images. */
  images: z.array(imagePart).nullish(),
});
const toolMessage = z.looseObject({
  role: z.literal('tool'),
  content,
  tool_call_id: z.string('the id of the tool call this answers'),
  name,
});
const functionMessage = z.looseObject({
  role: z.literal('function'),
  content: z.string().nullable(),
  name: z.string(),
});

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];
const knownMessage = z.discriminatedUnion('role', [
  systemMessage,
  userMessage,
  assistantMessage,
  toolMessage,
  functionMessage,
]);
const otherMessage = z.looseObject({
  role: z.string().refine((role) => !roles.includes(role), { abort: true, message: 'another role' }),
});
export const message = z.union([knownMessage, otherMessage]);

export type AnyMessage = z.output<typeof message>;
export type Message = z.output<typeof knownMessage>;
export type AssistantMessage = z.output<typeof assistantMessage>;
export type Content = z.output<typeof content>;
export type AnyPart = z.output<typeof part.any>;
export type Part = z.output<typeof part.known>;
export type ToolCall = z.output<typeof toolCall.known>;

export function isKnownMessage(value: AnyMessage): value is Message {
  return roles.includes(value.role);
}

const functionShape = z.looseObject({
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: anyObject.nullish(),
  strict: z.boolean().nullish(),
});
/** Other types are hosted tools, such as OpenRouter's `openrouter:web_search` or Groq's `browser_search`. */
const tool = buildOpenUnion(
  z.looseObject({ type: z.literal('function'), function: functionShape }),
  /** Mistral accepts tools without a type. */
  z.looseObject({ type: z.undefined().optional(), function: functionShape }),
  z.looseObject({
    type: z.literal('custom'),
    custom: z.looseObject({
      name: z.string().min(1),
      description: z.string().nullish(),
      format: anyObject.nullish(),
    }),
  }),
);
export const isOwnTool = tool.isKnown;

const named = z.looseObject({ name: z.string() });
const functionReference = z.looseObject({ type: z.literal('function'), function: named });
const customReference = z.looseObject({ type: z.literal('custom'), custom: named });
const reference = buildOpenUnion(functionReference, customReference);
const choice = buildOpenUnion(
  functionReference,
  customReference,
  z.looseObject({
    type: z.literal('allowed_tools'),
    allowed_tools: z.looseObject({ mode: z.string(), tools: z.array(reference.any) }),
  }),
);
const toolChoice = z.union(
  [z.string(), choice.known, choice.other],
  '"none", "auto", "required", or an object that names a tool',
);

const responseFormat = buildOpenUnion(
  z.looseObject({ type: z.literal('text') }),
  /** Together and others accept a schema here. */
  z.looseObject({ type: z.literal('json_object'), schema: anyObject.nullish() }),
  z.looseObject({
    type: z.literal('json_schema'),
    json_schema: z.looseObject(schemaFields),
  }),
);
export const isKnownFormat = responseFormat.isKnown;
export type KnownFormat = z.output<typeof responseFormat.known>;

/** OpenAI accepts 4, DeepSeek 16, vLLM any number. The gateway watches the reply for the others. */
const mostStops = 1000;
const stopText = `a string, or an array of at most ${mostStops} strings`;

/** OpenRouter's setting for reasoning, which many clients use. */
const reasoning = z.looseObject({
  effort: z.string().nullish(),
  max_tokens: z.int().nullish(),
  exclude: z.boolean().nullish(),
  enabled: z.boolean().nullish(),
});

export const request = z.looseObject({
  model: modelId,
  messages: z.array(message).min(1),
  /** Most providers except OpenAI accept it. vLLM accepts -1 for all tokens. */
  top_k: z
    .number('a number of tokens')
    .refine((count) => count === -1 || count >= 0, 'a number of tokens')
    .nullish(),
  frequency_penalty: allowNumber(-2, 2).nullish(),
  presence_penalty: allowNumber(-2, 2).nullish(),
  n: allowInteger(1, 128).nullish(),
  max_tokens: tokenLimit.nullish(),
  max_completion_tokens: tokenLimit.nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(mostStops, stopText)], stopText).nullish(),
  stream_options: z
    .looseObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
  tools: z.array(tool.any).nullish(),
  tool_choice: toolChoice.nullish(),
  functions: z.array(functionShape).min(1).nullish(),
  function_call: z
    .union([z.string(), named], '"none", "auto", or an object with the name of a function')
    .nullish(),
  response_format: responseFormat.any.nullish(),
  logprobs: z.boolean().nullish(),
  seed: z.number('a whole number').refine(Number.isInteger, 'a whole number').nullish(),
  logit_bias: z.record(z.string(), allowNumber(-100, 100)).nullish(),
  reasoning_effort: z.string().nullish(),
  reasoning: reasoning.nullish(),
  verbosity: z.string().nullish(),
  modalities: z.array(z.string()).min(1).nullish(),
  audio: z
    .looseObject({
      voice: z.union(
        [z.string(), z.looseObject({ id: z.string() })],
        'the name of a voice, or an object with its id',
      ),
      format: z.string(),
    })
    .nullish(),
  prediction: z.looseObject({ type: z.string() }).nullish(),
  prompt_cache_options: z.looseObject({ mode: z.string().nullish(), ttl: z.string().nullish() }).nullish(),
  web_search_options: z
    .looseObject({ search_context_size: z.string().nullish(), user_location: anyObject.nullish() })
    .nullish(),
  ...settingFields,
  moderation: anyObject.nullish(),
});

export type Request = z.output<typeof request>;
export type Tool = z.output<typeof tool.any>;
