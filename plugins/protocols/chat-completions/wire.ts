/**
 * The request body as clients send it: every documented field with its type and range. Unknown fields, values
 * and types pass, at every depth, since many providers speak this protocol. `null` means unset, as with
 * OpenAI.
 */
import { z } from 'zod';
import { buildOpenUnion } from '../../shared/wire-kit/open-values.ts';
import { metadataPairs } from '../../shared/wire-kit/openai-fields.ts';
import { providerObject } from '../../shared/wire-kit/provider-object.ts';
import { allowNumber, allowInteger, modelId, tokenLimit } from '../../shared/wire-kit/wire-check.ts';
import { message } from './wire-messages.ts';

const anyObject = z.looseObject({});

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
export const isReference = reference.isKnown;
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
    json_schema: z.looseObject({
      name: z.string().min(1).max(64),
      description: z.string().nullish(),
      schema: anyObject.nullish(),
      strict: z.boolean().nullish(),
    }),
  }),
);
export const isKnownFormat = responseFormat.isKnown;

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
  temperature: allowNumber(0, 2).nullish(),
  top_p: allowNumber(0, 1).nullish(),
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
  stream: z.boolean().nullish(),
  stream_options: z
    .looseObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
  tools: z.array(tool.any).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  functions: z.array(functionShape).min(1).nullish(),
  function_call: z
    .union([z.string(), named], '"none", "auto", or an object with the name of a function')
    .nullish(),
  response_format: responseFormat.any.nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: allowInteger(0, 20).nullish(),
  seed: z.number('a whole number').refine(Number.isInteger, 'a whole number').nullish(),
  logit_bias: z.record(z.string(), allowNumber(-100, 100)).nullish(),
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
});

export type Request = z.output<typeof request>;
export type Tool = z.output<typeof tool.any>;
export type Reference = z.output<typeof reference.any>;
export type NamedChoice = z.output<typeof choice.known>;

/** Whether a choice names tools in a documented way. */
export function isNamedChoice(wanted: NonNullable<Request['tool_choice']>): wanted is NamedChoice {
  if (!choice.isKnown(wanted)) return false;
  if (wanted.type !== 'allowed_tools') return true;
  const { mode, tools } = wanted.allowed_tools;
  return (mode === 'auto' || mode === 'required') && tools.every(isReference);
}
