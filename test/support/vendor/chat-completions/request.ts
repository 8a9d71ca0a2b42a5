/**
 * The shape of a chat-completions request, as strict as the vendor itself is: an unknown field is an error at
 * every depth, which catches a field meant for a gateway alone when it leaks. Rules about more than one field
 * are in `rules.ts` and `conversation.ts`.
 */
import { z } from 'zod';

const functionName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
/** Ids of calls are the vendor's own and short; a gateway that hides state in them is refused here. */
const callId = z.string().min(1).max(64);
const participant = z
  .string()
  .regex(/^[^\s<|\\/>]{1,64}$/)
  .optional();
const breakpoint = z
  .strictObject({ mode: z.literal('explicit'), ttl: z.enum(['30m', '12h']).optional() })
  .optional();
const imageUrl = z
  .string()
  .regex(/^(https?:\/\/\S+|data:image\/(png|jpe?g|gif|webp);base64,[A-Za-z0-9+/]+={0,2})$/);
const dataUrl = z.string().regex(/^data:[\w.+-]+\/[\w.+-]+;base64,[A-Za-z0-9+/]+={0,2}$/);

const textPart = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  prompt_cache_breakpoint: breakpoint,
});
const refusalPart = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });
const userPart = z.discriminatedUnion('type', [
  textPart,
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({
      url: imageUrl,
      detail: z.enum(['auto', 'low', 'high', 'original']).optional(),
    }),
    prompt_cache_breakpoint: breakpoint,
  }),
  z.strictObject({
    type: z.literal('input_audio'),
    input_audio: z.strictObject({ data: z.base64().min(1), format: z.enum(['wav', 'mp3']) }),
    prompt_cache_breakpoint: breakpoint,
  }),
  z.strictObject({
    type: z.literal('file'),
    file: z.strictObject({
      file_data: dataUrl.optional(),
      file_id: z.string().optional(),
      filename: z.string().optional(),
    }),
    prompt_cache_breakpoint: breakpoint,
  }),
]);

const textContent = z.union([z.string(), z.array(textPart).min(1)]);

const toolCall = z.discriminatedUnion('type', [
  z.strictObject({
    id: callId,
    type: z.literal('function'),
    function: z.strictObject({ name: functionName, arguments: z.string() }),
  }),
  z.strictObject({
    id: callId,
    type: z.literal('custom'),
    custom: z.strictObject({ name: functionName, input: z.string() }),
  }),
]);

const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('developer'), content: textContent, name: participant }),
  z.strictObject({ role: z.literal('system'), content: textContent, name: participant }),
  z.strictObject({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(userPart).min(1)]),
    name: participant,
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z
      .union([z.string(), z.array(z.discriminatedUnion('type', [textPart, refusalPart])).min(1)])
      .nullish(),
    refusal: z.string().nullish(),
    name: participant,
    audio: z.strictObject({ id: z.string() }).nullish(),
    tool_calls: z.array(toolCall).min(1).max(128).optional(),
    function_call: z.strictObject({ name: functionName, arguments: z.string() }).nullish(),
    // What the vendor's own SDKs send when a reply is played back as it came.
    annotations: z.array(z.looseObject({ type: z.string() })).nullish(),
    parsed: z.null().optional(),
  }),
  z.strictObject({ role: z.literal('tool'), content: textContent, tool_call_id: callId }),
  z.strictObject({ role: z.literal('function'), content: z.string().nullable(), name: functionName }),
]);

const jsonSchema = z.record(z.string(), z.unknown());
const functionFacts = {
  name: functionName,
  description: z.string().optional(),
  parameters: jsonSchema.optional(),
};
const tool = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('function'),
    function: z.strictObject({ ...functionFacts, strict: z.boolean().nullish() }),
  }),
  z.strictObject({
    type: z.literal('custom'),
    custom: z.strictObject({
      name: functionName,
      description: z.string().optional(),
      format: z
        .discriminatedUnion('type', [
          z.strictObject({ type: z.literal('text') }),
          z.strictObject({
            type: z.literal('grammar'),
            grammar: z.strictObject({ definition: z.string(), syntax: z.enum(['lark', 'regex']) }),
          }),
        ])
        .optional(),
    }),
  }),
]);

const named = z.strictObject({ name: functionName });
const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('function'), function: named }),
    z.strictObject({ type: z.literal('custom'), custom: named }),
    z.strictObject({
      type: z.literal('allowed_tools'),
      allowed_tools: z.strictObject({
        mode: z.enum(['auto', 'required']),
        tools: z.array(z.record(z.string(), z.unknown())).min(1),
      }),
    }),
  ]),
]);

const responseFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: functionName,
      description: z.string().optional(),
      schema: jsonSchema.optional(),
      strict: z.boolean().nullish(),
    }),
  }),
]);

const moderationMode = z.strictObject({ mode: z.enum(['score', 'block']) }).nullish();
const penalty = z.number().min(-2).max(2).nullish();

export const requestSchema = z.strictObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  audio: z
    .strictObject({ format: z.enum(['wav', 'aac', 'mp3', 'flac', 'opus', 'pcm16']), voice: z.string() })
    .nullish(),
  frequency_penalty: penalty,
  function_call: z.union([z.enum(['none', 'auto']), named]).optional(),
  functions: z.array(z.strictObject(functionFacts)).min(1).max(128).optional(),
  logit_bias: z.record(z.string().regex(/^\d+$/), z.number().min(-100).max(100)).nullish(),
  logprobs: z.boolean().nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  max_tokens: z.int().min(1).nullish(),
  metadata: z
    .record(z.string().max(64), z.string().max(512))
    .refine((pairs) => Object.keys(pairs).length <= 16)
    .nullish(),
  modalities: z
    .array(z.enum(['text', 'audio']))
    .min(1)
    .nullish(),
  moderation: z
    .strictObject({
      model: z.string(),
      policy: z.strictObject({ input: moderationMode, output: moderationMode }).nullish(),
    })
    .nullish(),
  n: z.int().min(1).max(128).nullish(),
  parallel_tool_calls: z.boolean().optional(),
  prediction: z.strictObject({ type: z.literal('content'), content: textContent }).nullish(),
  presence_penalty: penalty,
  prompt_cache_key: z.string().nullish(),
  prompt_cache_options: z
    .strictObject({ mode: z.enum(['implicit', 'explicit']).optional(), ttl: z.literal('30m').optional() })
    .optional(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).nullish(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  response_format: responseFormat.optional(),
  safety_identifier: z.string().max(64).nullish(),
  // The real one takes 64 bits, which no double holds.
  seed: z.number().refine(Number.isInteger).nullish(),
  service_tier: z.enum(['auto', 'default', 'flex', 'scale', 'priority', 'fast']).nullish(),
  stop: z.union([z.string(), z.array(z.string()).min(1).max(4)]).nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().optional(), include_obfuscation: z.boolean().optional() })
    .nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  tool_choice: toolChoice.optional(),
  tools: z.array(tool).min(1).max(128).optional(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  user: z.string().max(64).optional(),
  verbosity: z.enum(['low', 'medium', 'high']).nullish(),
  web_search_options: z
    .strictObject({
      search_context_size: z.enum(['low', 'medium', 'high']).optional(),
      user_location: z.record(z.string(), z.unknown()).nullish(),
    })
    .optional(),
});

/** Whether a field says anything: null is the vendor's word for leaving it out. */
export function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== undefined && value !== null;
}

export type ChatRequest = z.output<typeof requestSchema>;
export type Message = ChatRequest['messages'][number];
