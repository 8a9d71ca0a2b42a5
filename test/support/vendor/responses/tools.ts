/** The tools of a responses request, as strict as the vendor is; an item of its input may hold some, too. */
import { z } from 'zod';

export const functionName = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/);
export const schema = z.record(z.string(), z.unknown());
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
  indexed_web_access: z.boolean().optional(),
  search_content_types: z.array(z.enum(['text', 'image'])).optional(),
  image_settings: z
    .strictObject({ max_results: z.int().optional(), caption: z.boolean().optional() })
    .optional(),
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
export const tool = z.discriminatedUnion('type', [
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

/** The namespace of each tool that is in one. */
export function mapNamespaces(tools: readonly Tool[]): Map<string, string> {
  return new Map(
    tools.flatMap((one) =>
      one.type === 'namespace' && 'name' in one
        ? flattenTools([one]).map(({ name }) => [name, String(one.name)] as const)
        : [],
    ),
  );
}
