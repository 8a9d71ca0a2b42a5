/**
 * The request body of chat-completions as clients send it: every documented field with its type and range.
 * Unknown fields pass, here and at every depth, and so do unknown words and things of unknown types: many vendors speak
 * this wire. `null` counts as unset, as the vendor has it.
 */
import { z } from 'zod';
import { otherThan } from '../../shared/wire-kit/open-values.ts';
import { providerObject } from '../../shared/wire-kit/provider-object.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { between, orPlain, wholeBetween } from '../../shared/wire-kit/wire-check.ts';

const tokenLimit = z
  .int('a whole number of tokens, at least 1')
  .positive('a whole number of tokens, at least 1');
const anyObject = z.looseObject({});

const cacheBreakpoint = z.looseObject({ mode: z.string().nullish(), ttl: z.string().nullish() }).nullish();
const textPart = z.looseObject({
  type: z.literal('text'),
  text: z.string(),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const imagePart = z.looseObject({
  type: z.literal('image_url'),
  /** Mistral takes the bare address as well. */
  image_url: z.union(
    [z.string().min(1), z.looseObject({ url: z.string().min(1), detail: z.string().nullish() })],
    'an object with the "url" of an image',
  ),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const audioPart = z.looseObject({
  type: z.literal('input_audio'),
  /** Mistral takes the bare data, or an address. */
  input_audio: z.union(
    [z.string().min(1), z.looseObject({ data: z.string().min(1), format: z.string() })],
    'an object with the "data" and the "format" of a sound',
  ),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const filePart = z.looseObject({
  type: z.literal('file'),
  file: z.looseObject({
    file_data: z.string().min(1).nullish(),
    file_id: z.string().min(1).nullish(),
    filename: z.string().nullish(),
  }),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });

/** How Mistral's models write their thoughts, and are given them again. */
const thinkingPart = z.looseObject({
  type: z.literal('thinking'),
  thinking: z.array(z.looseObject({ type: z.string(), text: z.string().nullish() })),
});

/** OpenRouter's and vLLM's films, and Mistral's documents. */
const videoPart = z.looseObject({
  type: z.literal('video_url'),
  video_url: z.union(
    [z.string().min(1), z.looseObject({ url: z.string().min(1) })],
    'an object with the "url" of a film',
  ),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const documentPart = z.looseObject({
  type: z.literal('document_url'),
  document_url: z.string().min(1),
  document_name: z.string().nullish(),
  prompt_cache_breakpoint: cacheBreakpoint,
});

const knownPart = z.discriminatedUnion('type', [
  textPart,
  imagePart,
  audioPart,
  filePart,
  refusalPart,
  thinkingPart,
  videoPart,
  documentPart,
]);
const partTypes = new Set([
  'text',
  'image_url',
  'input_audio',
  'file',
  'refusal',
  'thinking',
  'video_url',
  'document_url',
]);
const content = z.union(
  [z.string(), z.array(z.union([knownPart, otherThan(partTypes)]))],
  'a string, or an array of content parts',
);
/** Of an assistant. */
const answer = z.union(
  [z.string(), z.array(z.union([knownPart, otherThan(partTypes)]))],
  'a string, or an array of text and refusal parts; it may be null where there are tool calls',
);

const calledFunction = z.looseObject({ name: z.string(), arguments: z.string('a string holding JSON') });
const functionCall = { id: z.string(), function: calledFunction, extra_content: anyObject.nullish() };
const knownCall = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('function'), ...functionCall }),
  z.looseObject({
    id: z.string(),
    type: z.literal('custom'),
    custom: z.looseObject({ name: z.string(), input: z.string() }),
    extra_content: anyObject.nullish(),
  }),
  /** Mistral needs no type. */
  z.looseObject({ type: z.undefined().optional(), ...functionCall }),
]);
const ownTypes = new Set(['function', 'custom']);
const toolCall = z.union([knownCall, otherThan(ownTypes)]);

const name = z.string().nullish();
const systemMessage = z.looseObject({ role: z.enum(['system', 'developer']), content, name });
const userMessage = z.looseObject({ role: z.literal('user'), content, name });
const assistantMessage = z.looseObject({
  role: z.literal('assistant'),
  content: answer.nullish(),
  name,
  refusal: z.string().nullish(),
  /** vLLM answers with an empty list where it calls nothing, and clients send back what they were given. */
  tool_calls: z.array(toolCall).nullish(),
  function_call: calledFunction.nullish(),
  audio: z.looseObject({ id: z.string() }).nullish(),
  /** DeepSeek and vLLM, then OpenRouter's two. */
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  reasoning_details: z.array(z.looseObject({ type: z.string() })).nullish(),
  /** OpenRouter's field for pictures that a model made. */
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
const message = z.union([knownMessage, otherMessage]);

/** Whether a call is of a function and has nothing beside it. */
function isPlainCall(call: unknown): boolean {
  if (!isObject(call) || typeof call.id !== 'string' || call.type !== 'function') return false;
  const { function: called } = call;
  return (
    Object.keys(call).length === 3 &&
    isObject(called) &&
    typeof called.name === 'string' &&
    typeof called.arguments === 'string' &&
    Object.keys(called).length === 2
  );
}

/** Whether a message is a text and nothing else, be it a tool's, or plain calls with a text or none. */
function isPlainMessage(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { role, content, tool_calls: calls } = value;
  const fields = Object.keys(value).length;
  if (role === 'assistant' && fields === 3)
    return (
      (typeof content === 'string' || content === null) &&
      Array.isArray(calls) &&
      calls.length > 0 &&
      calls.every(isPlainCall)
    );
  if (typeof content !== 'string') return false;
  if (role === 'tool') return fields === 3 && typeof value.tool_call_id === 'string';
  return (
    fields === 2 && (role === 'user' || role === 'assistant' || role === 'system' || role === 'developer')
  );
}

const functionShape = z.looseObject({
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: anyObject.nullish(),
  strict: z.boolean().nullish(),
});
const ownTool = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('function'), function: functionShape }),
  /** Mistral needs no type. */
  z.looseObject({ type: z.undefined().optional(), function: functionShape }),
  z.looseObject({
    type: z.literal('custom'),
    custom: z.looseObject({
      name: z.string().min(1),
      description: z.string().nullish(),
      format: anyObject.nullish(),
    }),
  }),
]);
/** Tools a vendor runs itself: OpenRouter's `openrouter:web_search`, Groq's `browser_search`, Moonshot's `builtin_function`. */
const hostedTool = otherThan(ownTypes);

const named = z.looseObject({ name: z.string() });
const toolReference = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('function'), function: named }),
  z.looseObject({ type: z.literal('custom'), custom: named }),
]);
const namedChoice = z.discriminatedUnion('type', [
  ...toolReference.options,
  z.looseObject({
    type: z.literal('allowed_tools'),
    allowed_tools: z.looseObject({
      mode: z.string(),
      tools: z.array(z.union([toolReference, otherThan(ownTypes)])),
    }),
  }),
]);
const choiceTypes = new Set([...ownTypes, 'allowed_tools']);
const toolChoice = z.union(
  [z.string(), namedChoice, otherThan(choiceTypes)],
  '"none", "auto", "required", or an object that names a tool',
);

const knownFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  /** Together's and others' may hold a schema. */
  z.looseObject({ type: z.literal('json_object'), schema: anyObject.nullish() }),
  z.looseObject({
    type: z.literal('json_schema'),
    json_schema: z.looseObject({
      name: z.string().min(1).max(64),
      description: z.string().nullish(),
      schema: anyObject.nullish(),
      strict: z.boolean().nullish(),
    }),
  }),
]);

const formatTypes = new Set(['text', 'json_object', 'json_schema']);
const responseFormat = z.union([knownFormat, otherThan(formatTypes)]);

const pairs = 'an object of at most 16 pairs, with names of at most 64 characters';
const modelId = 'a model id of the form <provider>/<model_name>';
/** OpenAI takes four of them, DeepSeek sixteen, and servers of one's own any number: a reply is watched for those that its vendor does not. */
const mostStops = 1000;
const stopText = `a string, or an array of at most ${mostStops} strings`;

/** OpenRouter's way to ask for reasoning, which many clients use. */
const reasoning = z.looseObject({
  effort: z.string().nullish(),
  max_tokens: z.int().nullish(),
  exclude: z.boolean().nullish(),
  enabled: z.boolean().nullish(),
});

export const requestWire = z.looseObject({
  model: z.string(modelId).regex(/^[^/]+\/.+$/s, modelId),
  messages: z.array(orPlain(message, isPlainMessage)).min(1),
  temperature: between(0, 2).nullish(),
  top_p: between(0, 1).nullish(),
  /** Most vendors but OpenAI take it; vLLM's word for as many as there are is -1. */
  top_k: z
    .number('a number of tokens')
    .refine((count) => count === -1 || count >= 0, 'a number of tokens')
    .nullish(),
  frequency_penalty: between(-2, 2).nullish(),
  presence_penalty: between(-2, 2).nullish(),
  n: wholeBetween(1, 128).nullish(),
  max_tokens: tokenLimit.nullish(),
  max_completion_tokens: tokenLimit.nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(mostStops, stopText)], stopText).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z
    .looseObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
  tools: z.array(z.union([ownTool, hostedTool])).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  functions: z.array(functionShape).min(1).nullish(),
  function_call: z
    .union([z.string(), named], '"none", "auto", or an object with the name of a function')
    .nullish(),
  response_format: responseFormat.nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: wholeBetween(0, 20).nullish(),
  seed: z.number('a whole number').refine(Number.isInteger, 'a whole number').nullish(),
  logit_bias: z.record(z.string(), between(-100, 100)).nullish(),
  metadata: z
    .record(z.string().max(64), z.string().max(512), pairs)
    .refine((all) => Object.keys(all).length <= 16, pairs)
    .nullish(),
  user: z.string().nullish(),
  safety_identifier: z.string().nullish(),
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
  service_tier: z.string().nullish(),
  store: z.boolean().nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_options: z.looseObject({ mode: z.string().nullish(), ttl: z.string().nullish() }).nullish(),
  prompt_cache_retention: z.string().nullish(),
  moderation: anyObject.nullish(),
  web_search_options: z
    .looseObject({ search_context_size: z.string().nullish(), user_location: anyObject.nullish() })
    .nullish(),
  provider: providerObject.nullish(),
});

export type WireRequest = z.output<typeof requestWire>;
export type WireAnyMessage = WireRequest['messages'][number];
export type WireMessage = z.output<typeof knownMessage>;
export type WireAssistantMessage = z.output<typeof assistantMessage>;
export type WireContent = z.output<typeof content>;
export type WireAnyPart = Exclude<WireContent, string>[number];
export type WirePart = z.output<typeof knownPart>;
export type WireAnyCall = z.output<typeof toolCall>;
export type WireToolCall = z.output<typeof knownCall>;
export type WireOwnTool = z.output<typeof ownTool>;
export type WireTool = WireOwnTool | z.output<typeof hostedTool>;
export type WireToolReference = z.output<typeof toolReference>;
type WireChoice = NonNullable<WireRequest['tool_choice']>;
export type WireNamedChoice = z.output<typeof namedChoice>;
type WireAnyFormat = NonNullable<WireRequest['response_format']>;
export type WireFormat = z.output<typeof knownFormat>;

export function isKnownMessage(value: WireAnyMessage): value is WireMessage {
  return roles.includes(value.role);
}

export function isKnownPart(value: WireAnyPart): value is WirePart {
  return partTypes.has(value.type);
}

export function isKnownCall(value: WireAnyCall): value is WireToolCall {
  return value.type === undefined || ownTypes.has(value.type);
}

export function isOwnTool(tool: WireTool): tool is WireOwnTool {
  return tool.type === undefined || ownTypes.has(tool.type);
}

/** Whether a choice names tools in a way that is known here. */
export function isNamedChoice(choice: WireChoice): choice is WireNamedChoice {
  if (typeof choice === 'string') return false;
  if (choice.type !== 'allowed_tools') return ownTypes.has(choice.type);
  return isKnownSubset(choice.allowed_tools);
}

function isKnownSubset(allowed: unknown): boolean {
  if (!isObject(allowed) || (allowed.mode !== 'auto' && allowed.mode !== 'required')) return false;
  const { tools } = allowed;
  return (
    Array.isArray(tools) &&
    tools.every((each) => isObject(each) && typeof each.type === 'string' && ownTypes.has(each.type))
  );
}

export function isKnownFormat(format: WireAnyFormat): format is WireFormat {
  return formatTypes.has(format.type);
}
