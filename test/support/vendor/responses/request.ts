/**
 * The shape of a responses request, as strict as the vendor is. Rules about more than one field are in
 * `rules.ts` and `conversation.ts`.
 */
import { z } from 'zod';
import { inputItem } from './items.ts';

const functionName = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/);
const schema = z.record(z.string(), z.unknown());
const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('grammar'), definition: z.string(), syntax: z.enum(['lark', 'regex']) }),
]);
const functionTool = z.strictObject({
  type: z.literal('function'),
  name: functionName,
  description: z.string().nullish(),
  parameters: schema.nullish(),
  output_schema: schema.nullish(),
  strict: z.boolean().nullish(),
  defer_loading: z.boolean().optional(),
  allowed_callers: z.array(z.string()).nullish(),
});
const customTool = z.strictObject({
  type: z.literal('custom'),
  name: functionName,
  description: z.string().optional(),
  format: format.optional(),
  defer_loading: z.boolean().optional(),
  allowed_callers: z.array(z.string()).nullish(),
});
const location = z.strictObject({
  type: z.literal('approximate').optional(),
  city: z.string().nullish(),
  region: z.string().nullish(),
  country: z.string().nullish(),
  timezone: z.string().nullish(),
});
const searchTool = z.strictObject({
  type: z.enum([
    'web_search',
    'web_search_2025_08_26',
    'web_search_preview',
    'web_search_preview_2025_03_11',
  ]),
  search_context_size: z.enum(['low', 'medium', 'high']).nullish(),
  user_location: location.nullish(),
  filters: z.strictObject({ allowed_domains: z.array(z.string()).nullish() }).nullish(),
  external_web_access: z.boolean().optional(),
});
const imageTool = z.strictObject({
  type: z.literal('image_generation'),
  model: z.string().optional(),
  action: z.enum(['auto', 'generate', 'edit']).optional(),
  background: z.enum(['transparent', 'opaque', 'auto']).optional(),
  input_fidelity: z.enum(['high', 'low']).nullish(),
  input_image_mask: z.looseObject({}).optional(),
  moderation: z.enum(['auto', 'low']).optional(),
  output_compression: z.int().min(0).max(100).optional(),
  output_format: z.enum(['png', 'jpeg', 'webp']).optional(),
  partial_images: z.int().min(0).max(3).optional(),
  quality: z.enum(['low', 'medium', 'high', 'auto']).optional(),
  size: z.string().optional(),
});
const hosted = [
  z.strictObject({
    type: z.literal('code_interpreter'),
    container: z.union([z.string(), z.looseObject({ type: z.literal('auto') })]),
  }),
  z.strictObject({ type: z.literal('local_shell') }),
  z.looseObject({ type: z.literal('file_search'), vector_store_ids: z.array(z.string()) }),
  z.looseObject({ type: z.literal('mcp'), server_label: z.string() }),
  z.looseObject({
    type: z.enum(['shell', 'apply_patch', 'tool_search', 'computer', 'programmatic_tool_calling']),
  }),
];
const flatTool = z.discriminatedUnion('type', [functionTool, customTool]);
const tool = z.discriminatedUnion('type', [
  functionTool,
  customTool,
  searchTool,
  imageTool,
  ...hosted,
  z.strictObject({
    type: z.literal('namespace'),
    name: functionName,
    description: z.string().optional(),
    tools: z.array(flatTool).min(1),
  }),
]);

const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.strictObject({ type: z.literal('function'), name: functionName }),
  z.strictObject({ type: z.literal('custom'), name: functionName }),
  z.strictObject({
    type: z.literal('allowed_tools'),
    mode: z.enum(['auto', 'required']),
    tools: z.array(schema).min(1),
  }),
  z.strictObject({
    type: z.enum([
      'web_search',
      'web_search_preview',
      'image_generation',
      'code_interpreter',
      'file_search',
      'apply_patch',
      'shell',
    ]),
  }),
]);
const textFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
    description: z.string().nullish(),
    schema,
    strict: z.boolean().nullish(),
  }),
]);

const counted = {
  model: z.string().min(1),
  input: z.union([z.string(), z.array(inputItem)]).nullish(),
  instructions: z.string().nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.union([z.string(), z.strictObject({ id: z.string() })]).nullish(),
  reasoning: z
    .strictObject({
      effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
      summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
      generate_summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
      context: z.enum(['auto', 'current_turn', 'all_turns']).nullish(),
      mode: z.enum(['standard', 'pro']).nullish(),
    })
    .nullish(),
  text: z
    .strictObject({ format: textFormat.optional(), verbosity: z.enum(['low', 'medium', 'high']).nullish() })
    .optional(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
};

export const countSchema = z.strictObject(counted);
export const requestSchema = z.strictObject({
  ...counted,
  background: z.boolean().nullish(),
  // The vendor's own agent describes itself with it.
  client_metadata: z.record(z.string(), z.unknown()).nullish(),
  context_management: z.array(z.looseObject({ type: z.string() })).nullish(),
  include: z
    .array(
      z.enum([
        'reasoning.encrypted_content',
        'message.output_text.logprobs',
        'web_search_call.action.sources',
        'web_search_call.results',
        'file_search_call.results',
        'code_interpreter_call.outputs',
        'computer_call_output.output.image_url',
        'message.input_image.image_url',
      ]),
    )
    .nullish(),
  max_output_tokens: z.int().min(16).nullish(),
  max_tool_calls: z.int().min(1).nullish(),
  metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
  moderation: z.looseObject({ model: z.string() }).nullish(),
  prompt: z.looseObject({ id: z.string() }).nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_options: z
    .strictObject({ mode: z.enum(['implicit', 'explicit']).optional(), ttl: z.literal('30m').optional() })
    .nullish(),
  prompt_cache_retention: z.enum(['in_memory', 'in-memory', '24h']).nullish(),
  safety_identifier: z.string().max(64).nullish(),
  service_tier: z.enum(['auto', 'default', 'flex', 'scale', 'priority']).nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_obfuscation: z.boolean().optional() }).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  user: z.string().nullish(),
});

export type ResponsesRequest = z.output<typeof requestSchema>;
export type CountRequest = z.output<typeof countSchema>;
export type Tool = z.output<typeof tool>;
export type FlatTool = z.output<typeof flatTool>;

/** Every function and custom tool, those of namespaces included. */
export function flattenTools(tools: readonly Tool[]): FlatTool[] {
  return tools.flatMap((one): FlatTool[] => {
    if (one.type === 'namespace' && 'tools' in one)
      return Array.isArray(one.tools) ? one.tools.filter(isFlat) : [];
    return isFlat(one) ? [one] : [];
  });
}

function isFlat(one: unknown): one is FlatTool {
  return flatTool.safeParse(one).success;
}
