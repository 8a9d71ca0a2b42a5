/**
 * The shape of a messages request, as strict as the vendor is: an unknown field is refused at every depth.
 * Rules about more than one field are in `rules.ts` and `conversation.ts`.
 */
import { z } from 'zod';

const toolId = z
  .string()
  .regex(/^[a-zA-Z0-9_-]+$/)
  .max(64);
const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/);
const cacheControl = z
  .strictObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() })
  .nullish();
const cached = { cache_control: cacheControl };
const base64 = z.base64().min(1);
const webUrl = z.string().regex(/^https:\/\/\S+$/);

const citation = z.looseObject({ type: z.string(), cited_text: z.string() });
const text = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  citations: z.array(citation).nullish(),
  ...cached,
});
const image = z.strictObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: base64,
    }),
    z.strictObject({ type: z.literal('url'), url: webUrl }),
    z.strictObject({ type: z.literal('file'), file_id: z.string() }),
  ]),
  ...cached,
});
const document = z.strictObject({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('base64'), media_type: z.literal('application/pdf'), data: base64 }),
    z.strictObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: z.string() }),
    z.strictObject({ type: z.literal('url'), url: webUrl }),
    z.strictObject({
      type: z.literal('content'),
      content: z.union([z.string(), z.array(z.discriminatedUnion('type', [text, image])).min(1)]),
    }),
    z.strictObject({ type: z.literal('file'), file_id: z.string() }),
  ]),
  title: z.string().max(500).nullish(),
  context: z.string().nullish(),
  citations: z.strictObject({ enabled: z.boolean() }).nullish(),
  ...cached,
});
const searchResult = z.strictObject({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: z.array(text).min(1),
  citations: z.strictObject({ enabled: z.boolean() }).optional(),
  ...cached,
});
const thinking = z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() });
const redacted = z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() });
const input = z.record(z.string(), z.unknown());
const caller = z.looseObject({ type: z.string() }).nullish();
const toolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: toolId,
  name: toolName,
  input,
  caller,
  ...cached,
});
const resultPart = z.discriminatedUnion('type', [
  text,
  image,
  document,
  searchResult,
  z.strictObject({ type: z.literal('tool_reference'), tool_name: z.string() }),
]);
const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: toolId,
  content: z.union([z.string(), z.array(resultPart)]).optional(),
  is_error: z.boolean().optional(),
  ...cached,
});
const serverToolUse = z.strictObject({
  type: z.literal('server_tool_use'),
  id: z.string().regex(/^srvtoolu_[a-zA-Z0-9_]+$/),
  name: z.string(),
  input,
  caller,
  ...cached,
});
const serverResult = <Type extends string>(type: Type) =>
  z.strictObject({
    type: z.literal(type),
    tool_use_id: z.string().regex(/^srvtoolu_[a-zA-Z0-9_]+$/),
    content: z.unknown(),
    caller,
    ...cached,
  });

const userBlock = z.discriminatedUnion('type', [text, image, document, searchResult, toolResult]);
const assistantBlock = z.discriminatedUnion('type', [
  text,
  thinking,
  redacted,
  toolUse,
  serverToolUse,
  serverResult('web_search_tool_result'),
  serverResult('web_fetch_tool_result'),
  serverResult('code_execution_tool_result'),
  serverResult('bash_code_execution_tool_result'),
]);

const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), content: z.union([z.string(), z.array(userBlock)]) }),
  z.strictObject({ role: z.literal('assistant'), content: z.union([z.string(), z.array(assistantBlock)]) }),
  z.strictObject({ role: z.literal('system'), content: z.union([z.string(), z.array(text)]) }),
]);

const customTool = z.strictObject({
  type: z.literal('custom').nullish(),
  name: toolName,
  description: z.string().optional(),
  input_schema: z.looseObject({
    type: z.literal('object'),
    properties: z.record(z.string().regex(/^[a-zA-Z0-9_.-]{1,64}$/), z.unknown()).nullish(),
    required: z.array(z.string()).nullish(),
  }),
  strict: z.boolean().optional(),
  input_examples: z.array(input).optional(),
  defer_loading: z.boolean().optional(),
  eager_input_streaming: z.boolean().nullish(),
  allowed_callers: z.array(z.string()).optional(),
  ...cached,
});
const domains = z.array(z.string()).nullish();
const serverTool = (type: RegExp, name: string, fields: Readonly<Record<string, z.ZodType>> = {}) =>
  z.strictObject({
    type: z.string().regex(type),
    name: z.literal(name),
    max_uses: z.int().positive().nullish(),
    defer_loading: z.boolean().optional(),
    ...cached,
    ...fields,
  });
const location = z
  .strictObject({
    type: z.literal('approximate'),
    city: z.string().nullish(),
    region: z.string().nullish(),
    country: z.string().nullish(),
    timezone: z.string().nullish(),
  })
  .nullish();
const filters = { allowed_domains: domains, blocked_domains: domains };
const tool = z.union([
  customTool,
  serverTool(/^web_search_\d{8}$/, 'web_search', { ...filters, user_location: location }),
  serverTool(/^web_fetch_\d{8}$/, 'web_fetch', {
    ...filters,
    citations: z.strictObject({ enabled: z.boolean() }).nullish(),
    max_content_tokens: z.int().nullish(),
  }),
  serverTool(/^code_execution_\d{8}$/, 'code_execution'),
  serverTool(/^bash_\d{8}$/, 'bash'),
  serverTool(/^text_editor_\d{8}$/, 'str_replace_based_edit_tool', { max_characters: z.int().nullish() }),
  serverTool(/^memory_\d{8}$/, 'memory'),
  serverTool(/^tool_search_tool_regex(_\d{8})?$/, 'tool_search_tool_regex'),
  serverTool(/^tool_search_tool_bm25(_\d{8})?$/, 'tool_search_tool_bm25'),
]);

const parallel = { disable_parallel_tool_use: z.boolean().optional() };
const toolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('auto'), ...parallel }),
  z.strictObject({ type: z.literal('any'), ...parallel }),
  z.strictObject({ type: z.literal('tool'), name: z.string(), ...parallel }),
  z.strictObject({ type: z.literal('none') }),
]);
const display = z.enum(['summarized', 'omitted', 'updates']).nullish();
const thinkingConfig = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1024), display }),
  z.strictObject({ type: z.literal('adaptive'), display }),
  z.strictObject({ type: z.literal('between_tools') }),
  z.strictObject({ type: z.literal('disabled') }),
]);
const outputConfig = z.strictObject({
  effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  format: z
    .strictObject({ type: z.literal('json_schema'), schema: z.record(z.string(), z.unknown()) })
    .nullish(),
});

/** What a request for an answer and one for a count have in common. */
const shared = {
  model: z.string().min(1),
  messages: z.array(message).min(1),
  system: z.union([z.string(), z.array(text)]).optional(),
  tools: z.array(tool).optional(),
  tool_choice: toolChoice.optional(),
  thinking: thinkingConfig.optional(),
  output_config: outputConfig.optional(),
  cache_control: cacheControl,
};

/** Fields that exist for those who name a beta, by how its name begins. */
export const betaFields: Readonly<Record<string, readonly string[]>> = {
  'context-management': ['context_management'],
  'mcp-client': ['mcp_servers'],
  'structured-outputs': ['output_format'],
  'code-execution': ['container'],
  skills: ['container'],
  'fast-mode': ['speed'],
};

export const countSchema = z.strictObject(shared);
export const requestSchema = z.strictObject({
  ...shared,
  max_tokens: z.int().min(0),
  metadata: z.strictObject({ user_id: z.string().max(256).nullish() }).optional(),
  stop_sequences: z.array(z.string()).optional(),
  stream: z.boolean().optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.int().min(0).optional(),
  service_tier: z.enum(['auto', 'standard_only']).optional(),
  speed: z.enum(['standard', 'fast']).nullish(),
  inference_geo: z.string().nullish(),
  container: z.string().nullish(),
  diagnostics: z.strictObject({ previous_message_id: z.string().nullish() }).nullish(),
});

export type MessagesRequest = z.output<typeof requestSchema>;
export type CountRequest = z.output<typeof countSchema>;
export type Message = CountRequest['messages'][number];
export type Block = Exclude<Message['content'], string>[number];
export type Tool = z.output<typeof tool>;
