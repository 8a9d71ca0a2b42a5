/**
 * The request body as clients send it: every documented field with its type and range. Unknown fields, values
 * and types pass, at every depth, since many providers speak this protocol. `null` means unset, as with
 * OpenAI.
 */
import { z } from 'zod';
import { typeOtherThan } from '../../shared/wire-kit/open-values.ts';
import { metadataPairs } from '../../shared/wire-kit/openai-fields.ts';
import { providerObject } from '../../shared/wire-kit/provider-object.ts';
import { quicken } from '../../shared/wire-kit/quick-check.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { numberBetween, wholeBetween, modelId, tokenLimit } from '../../shared/wire-kit/wire-check.ts';
import { message, ownTypes } from './wire-messages.ts';

const anyObject = z.looseObject({});

const functionShape = z.looseObject({
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: anyObject.nullish(),
  strict: z.boolean().nullish(),
});
const ownTool = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('function'), function: functionShape }),
  /** Mistral takes tools without a type. */
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
/** Hosted tools, such as OpenRouter's `openrouter:web_search` or Groq's `browser_search`. */
const hostedTool = typeOtherThan(ownTypes);

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
      tools: z.array(z.union([toolReference, typeOtherThan(ownTypes)])),
    }),
  }),
]);
const choiceTypes = new Set([...ownTypes, 'allowed_tools']);
const toolChoice = z.union(
  [z.string(), namedChoice, typeOtherThan(choiceTypes)],
  '"none", "auto", "required", or an object that names a tool',
);

const knownFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  /** Together and others take a schema here. */
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
const responseFormat = z.union([knownFormat, typeOtherThan(formatTypes)]);

/** OpenAI takes 4, DeepSeek 16, vLLM any number. The gateway watches for those that are not taken. */
const mostStops = 1000;
const stopText = `a string, or an array of at most ${mostStops} strings`;

/** OpenRouter's setting for reasoning, which many clients use. */
const reasoning = z.looseObject({
  effort: z.string().nullish(),
  max_tokens: z.int().nullish(),
  exclude: z.boolean().nullish(),
  enabled: z.boolean().nullish(),
});

export const requestWire = quicken(
  z.looseObject({
    model: modelId,
    messages: z.array(quicken(message)).min(1),
    temperature: numberBetween(0, 2).nullish(),
    top_p: numberBetween(0, 1).nullish(),
    /** Most providers except OpenAI take it. vLLM takes -1 for all tokens. */
    top_k: z
      .number('a number of tokens')
      .refine((count) => count === -1 || count >= 0, 'a number of tokens')
      .nullish(),
    frequency_penalty: numberBetween(-2, 2).nullish(),
    presence_penalty: numberBetween(-2, 2).nullish(),
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
    logit_bias: z.record(z.string(), numberBetween(-100, 100)).nullish(),
    metadata: metadataPairs.nullish(),
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
  }),
);

export type WireRequest = z.output<typeof requestWire>;
export type WireOwnTool = z.output<typeof ownTool>;
export type WireTool = WireOwnTool | z.output<typeof hostedTool>;
export type WireToolReference = z.output<typeof toolReference>;
type WireChoice = NonNullable<WireRequest['tool_choice']>;
export type WireNamedChoice = z.output<typeof namedChoice>;
type WireAnyFormat = NonNullable<WireRequest['response_format']>;

export function isOwnTool(tool: WireTool): tool is WireOwnTool {
  return tool.type === undefined || ownTypes.has(tool.type);
}

/** Whether a choice names tools in a documented way. */
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

export function isKnownFormat(format: WireAnyFormat): format is z.output<typeof knownFormat> {
  return formatTypes.has(format.type);
}
