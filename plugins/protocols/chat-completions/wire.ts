/**
 * The request body of chat-completions as clients send it: every documented field with its type and range.
 * Unknown fields pass, here and at every depth, and `null` counts as unset, as the vendor has it.
 */
import { z } from 'zod';
import { providerObject } from '../../shared/provider-object.ts';
import { isObject } from '../../shared/vendor-bag.ts';
import { between, orPlain, wholeBetween } from '../../shared/wire-check.ts';

const tokenLimit = z.int('a whole number of tokens, at least 1').positive('a whole number of tokens, at least 1');
const anyObject = z.looseObject({});

const cacheBreakpoint = z.looseObject({ mode: z.literal('explicit'), ttl: z.string().nullish() }).nullish();
const textPart = z.looseObject({ type: z.literal('text'), text: z.string(), prompt_cache_breakpoint: cacheBreakpoint });
const imagePart = z.looseObject({
  type: z.literal('image_url'),
  image_url: z.looseObject({ url: z.string().min(1), detail: z.enum(['auto', 'low', 'high', 'original']).nullish() }),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const audioPart = z.looseObject({
  type: z.literal('input_audio'),
  input_audio: z.looseObject({ data: z.string().min(1), format: z.enum(['wav', 'mp3']) }),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const filePart = z.looseObject({
  type: z.literal('file'),
  file: z.looseObject({ file_data: z.string().min(1).nullish(), file_id: z.string().min(1).nullish(), filename: z.string().nullish() }),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });

/** How Mistral's models write their thoughts, and are given them again. */
const thinkingPart = z.looseObject({ type: z.literal('thinking'), thinking: z.array(z.looseObject({ type: z.string(), text: z.string().nullish() })) });

const textParts = z.array(z.discriminatedUnion('type', [textPart])).min(1);
const textContent = z.union([z.string(), textParts], 'a string, or an array of text parts');
const userContent = z.union(
  [z.string(), z.array(z.discriminatedUnion('type', [textPart, imagePart, audioPart, filePart])).min(1)],
  'a string, or an array of content parts',
);
/** OpenAI takes text alone here; clients made for OpenRouter show pictures too. */
const toolContent = z.union([z.string(), z.array(z.discriminatedUnion('type', [textPart, imagePart])).min(1)], 'a string, or an array of text and image parts');
const assistantContent = z.union(
  [z.string(), z.array(z.discriminatedUnion('type', [textPart, refusalPart, thinkingPart])).min(1)],
  'a string, or an array of text and refusal parts; it may be null where there are tool calls',
);

const calledFunction = z.looseObject({ name: z.string(), arguments: z.string('a string holding JSON') });
const toolCall = z.discriminatedUnion('type', [
  z.looseObject({ id: z.string(), type: z.literal('function'), function: calledFunction, extra_content: anyObject.nullish() }),
  z.looseObject({ id: z.string(), type: z.literal('custom'), custom: z.looseObject({ name: z.string(), input: z.string() }), extra_content: anyObject.nullish() }),
]);

const name = z.string().nullish();
const systemMessage = z.looseObject({ role: z.enum(['system', 'developer']), content: textContent, name });
const userMessage = z.looseObject({ role: z.literal('user'), content: userContent, name });
const assistantMessage = z.looseObject({
  role: z.literal('assistant'),
  content: assistantContent.nullish(),
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
const toolMessage = z.looseObject({ role: z.literal('tool'), content: toolContent, tool_call_id: z.string('the id of the tool call this answers'), name });
const functionMessage = z.looseObject({ role: z.literal('function'), content: z.string().nullable(), name: z.string() });

const message = z.discriminatedUnion('role', [systemMessage, userMessage, assistantMessage, toolMessage, functionMessage]);

/** Whether a call is of a function and has nothing beside it. */
function isPlainCall(call: unknown): boolean {
  if (!isObject(call) || typeof call['id'] !== 'string' || call['type'] !== 'function') return false;
  const { function: called } = call;
  return Object.keys(call).length === 3 && isObject(called) && typeof called['name'] === 'string' && typeof called['arguments'] === 'string' && Object.keys(called).length === 2;
}

/** Whether a message is a text and nothing else, be it a tool's, or plain calls with a text or none. */
function isPlainMessage(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { role, content, tool_calls: calls } = value;
  const fields = Object.keys(value).length;
  if (role === 'assistant' && fields === 3) return (typeof content === 'string' || content === null) && Array.isArray(calls) && calls.length > 0 && calls.every(isPlainCall);
  if (typeof content !== 'string') return false;
  if (role === 'tool') return fields === 3 && typeof value['tool_call_id'] === 'string';
  return fields === 2 && (role === 'user' || role === 'assistant' || role === 'system' || role === 'developer');
}

const functionShape = z.looseObject({
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: anyObject.nullish(),
  strict: z.boolean().nullish(),
});
const ownTool = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('function'), function: functionShape }),
  z.looseObject({ type: z.literal('custom'), custom: z.looseObject({ name: z.string().min(1), description: z.string().nullish(), format: anyObject.nullish() }) }),
]);
/** Tools a vendor runs itself: OpenRouter's `openrouter:web_search`, Groq's `browser_search`, Moonshot's `builtin_function`. */
const hostedTool = z.looseObject({ type: z.string().regex(/^[a-z]+[:_][\w:.-]+$/, { abort: true }) });

const named = z.looseObject({ name: z.string() });
const toolReference = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('function'), function: named }),
  z.looseObject({ type: z.literal('custom'), custom: named }),
]);
const toolChoice = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    z.discriminatedUnion('type', [
      ...toolReference.options,
      z.looseObject({ type: z.literal('allowed_tools'), allowed_tools: z.looseObject({ mode: z.enum(['auto', 'required']), tools: z.array(toolReference) }) }),
    ]),
  ],
  '"none", "auto", "required", or an object that names a tool',
);

const responseFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  /** Together's and others' may hold a schema. */
  z.looseObject({ type: z.literal('json_object'), schema: anyObject.nullish() }),
  z.looseObject({
    type: z.literal('json_schema'),
    json_schema: z.looseObject({ name: z.string().min(1).max(64), description: z.string().nullish(), schema: anyObject.nullish(), strict: z.boolean().nullish() }),
  }),
]);

const pairs = 'an object of at most 16 pairs, with names of at most 64 characters';
const modelId = 'a model id of the form <provider>/<model_name>';
const stopText = 'a string, or an array of at most 4 strings';

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
  top_k: z.number('a number of tokens').refine((count) => count === -1 || count >= 0, 'a number of tokens').nullish(),
  frequency_penalty: between(-2, 2).nullish(),
  presence_penalty: between(-2, 2).nullish(),
  n: wholeBetween(1, 128).nullish(),
  max_tokens: tokenLimit.nullish(),
  max_completion_tokens: tokenLimit.nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4, stopText)], stopText).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() }).nullish(),
  tools: z.array(z.union([ownTool, hostedTool])).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  functions: z.array(functionShape).min(1).nullish(),
  function_call: z.union([z.enum(['none', 'auto']), named], '"none", "auto", or an object with the name of a function').nullish(),
  response_format: responseFormat.nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: wholeBetween(0, 20).nullish(),
  seed: z.number('a whole number').refine(Number.isInteger, 'a whole number').nullish(),
  logit_bias: z.record(z.string(), between(-100, 100)).nullish(),
  metadata: z.record(z.string().max(64), z.string().max(512), pairs).refine((all) => Object.keys(all).length <= 16, pairs).nullish(),
  user: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  reasoning_effort: z.string().nullish(),
  reasoning: reasoning.nullish(),
  verbosity: z.enum(['low', 'medium', 'high']).nullish(),
  modalities: z.array(z.enum(['text', 'audio', 'image'])).min(1).nullish(),
  audio: z
    .looseObject({
      voice: z.union([z.string(), z.looseObject({ id: z.string() })], 'the name of a voice, or an object with its id'),
      format: z.enum(['wav', 'aac', 'mp3', 'flac', 'opus', 'pcm16']),
    })
    .nullish(),
  prediction: z.looseObject({ type: z.literal('content'), content: textContent }).nullish(),
  service_tier: z.string().nullish(),
  store: z.boolean().nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_options: z.looseObject({ mode: z.enum(['implicit', 'explicit']).nullish(), ttl: z.string().nullish() }).nullish(),
  prompt_cache_retention: z.string().nullish(),
  moderation: anyObject.nullish(),
  web_search_options: z.looseObject({ search_context_size: z.enum(['low', 'medium', 'high']).nullish(), user_location: anyObject.nullish() }).nullish(),
  provider: providerObject.nullish(),
});

export type WireRequest = z.output<typeof requestWire>;
export type WireMessage = WireRequest['messages'][number];
export type WireAssistantMessage = z.output<typeof assistantMessage>;
export type WireContent = z.output<typeof userContent> | z.output<typeof assistantContent>;
export type WirePart = Exclude<WireContent, string>[number];
export type WireToolCall = z.output<typeof toolCall>;
export type WireOwnTool = z.output<typeof ownTool>;
export type WireTool = WireOwnTool | z.output<typeof hostedTool>;
export type WireToolReference = z.output<typeof toolReference>;
