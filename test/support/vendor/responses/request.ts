/**
 * The shape of a responses request, as strict as the vendor is. Rules about more than one field are in
 * `rules.ts` and `conversation.ts`.
 */
import { z } from 'zod';
import { effort, inputItem, textFormat } from './items.ts';
import { functionName, schema, tool, type Tool } from './tools.ts';

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
      effort: effort.nullish(),
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
  user: z.string().max(64).nullish(),
});

export const compactSchema = requestSchema.pick({
  model: true,
  input: true,
  instructions: true,
  previous_response_id: true,
  prompt_cache_key: true,
  prompt_cache_options: true,
  service_tier: true,
});

export type ResponsesRequest = z.output<typeof requestSchema>;
export type CountRequest = z.output<typeof countSchema>;

/** The tools of a request: its own, then those its items bring. */
export function listTools({ tools, input }: CountRequest): Tool[] {
  const items = Array.isArray(input) ? input : [];
  return [...(tools ?? []), ...items.flatMap((item) => (item.type === 'additional_tools' ? item.tools : []))];
}
