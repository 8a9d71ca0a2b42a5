/**
 * The input items of a responses request and their parts: strict at every depth, ids of the right family
 * included.
 */
import { z } from 'zod';
import { isObject } from '../../json.ts';
import { functionName, schema, tool } from './tools.ts';

export const effort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
export const textFormat = z.discriminatedUnion('type', [
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

const idOf = (prefix: string) =>
  z
    .string()
    .max(64)
    .regex(new RegExp(`^${prefix}_[A-Za-z0-9_-]+$`))
    .nullish();
const callId = z.string().min(1).max(64);
const status = z.enum(['in_progress', 'completed', 'incomplete']).nullish();

const breakpoint = z
  .strictObject({ mode: z.literal('explicit'), ttl: z.enum(['30m', '12h']).optional() })
  .nullish();
const buildDataPattern = (kind: string) => `data:${kind};base64,[A-Za-z0-9+/]+={0,2}`;
const imageUrl = z
  .string()
  .regex(new RegExp(`^(https?://\\S+|${buildDataPattern('image/(png|jpe?g|gif|webp)')})$`));
const fileData = z.string().regex(new RegExp(`^${buildDataPattern('[\\w.+-]+/[\\w.+-]+')}$`));

const inputText = z.strictObject({
  type: z.literal('input_text'),
  text: z.string(),
  prompt_cache_breakpoint: breakpoint,
});
const inputImage = z.strictObject({
  type: z.literal('input_image'),
  image_url: imageUrl.nullish(),
  file_id: z.string().nullish(),
  detail: z.enum(['low', 'high', 'auto', 'original']).nullish(),
  prompt_cache_breakpoint: breakpoint,
});
const inputFile = z.strictObject({
  type: z.literal('input_file'),
  file_data: fileData.nullish(),
  file_url: z
    .string()
    .regex(/^https?:\/\/\S+$/)
    .nullish(),
  file_id: z.string().nullish(),
  filename: z.string().nullish(),
  detail: z.enum(['low', 'high', 'auto']).nullish(),
  prompt_cache_breakpoint: breakpoint,
});
const inputAudio = z.strictObject({
  type: z.literal('input_audio'),
  input_audio: z.strictObject({ data: z.base64(), format: z.enum(['wav', 'mp3']) }),
});
const inputPart = z.discriminatedUnion('type', [inputText, inputImage, inputFile, inputAudio]);

const annotation = z.looseObject({
  type: z.enum(['url_citation', 'file_citation', 'container_file_citation', 'file_path']),
});
const outputText = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(annotation).optional(),
  logprobs: z.array(z.unknown()).nullish(),
});
const refusal = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });
const outputPart = z.discriminatedUnion('type', [outputText, refusal]);

const messageFacts = { type: z.literal('message').optional(), status };
const asker = <Role extends string>(role: Role) =>
  z.strictObject({
    ...messageFacts,
    role: z.literal(role),
    id: idOf('msg'),
    content: z.union([z.string(), z.array(inputPart)]),
  });
const spoken = z.discriminatedUnion('role', [
  asker('user'),
  asker('system'),
  asker('developer'),
  z.strictObject({
    ...messageFacts,
    role: z.literal('assistant'),
    id: idOf('msg'),
    content: z.union([z.string(), z.array(outputPart)]),
    phase: z.enum(['commentary', 'final_answer']).nullish(),
  }),
]);

const toolOutput = z.union([
  z.string(),
  z.array(z.discriminatedUnion('type', [inputText, inputImage, inputFile])),
]);
const summary = z.strictObject({ type: z.literal('summary_text'), text: z.string() });
const reasoningText = z.strictObject({ type: z.literal('reasoning_text'), text: z.string() });
const caller = z.looseObject({ type: z.string() }).nullish();

const other = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('function_call'),
    id: idOf('fc'),
    call_id: callId,
    name: functionName,
    arguments: z.string(),
    namespace: z.string().nullish(),
    caller,
    status,
  }),
  z.strictObject({
    type: z.literal('function_call_output'),
    id: idOf('fco?'),
    call_id: callId,
    output: toolOutput,
    caller,
    status,
  }),
  z.strictObject({
    type: z.literal('reasoning'),
    id: idOf('rs'),
    summary: z.array(summary),
    content: z.array(reasoningText).nullish(),
    encrypted_content: z.string().nullish(),
    status,
  }),
  z.strictObject({
    type: z.literal('custom_tool_call'),
    id: idOf('ctc'),
    call_id: callId,
    name: functionName,
    input: z.string(),
    namespace: z.string().nullish(),
    caller,
    status,
  }),
  z.strictObject({
    type: z.literal('custom_tool_call_output'),
    id: idOf('ctco?'),
    call_id: callId,
    output: toolOutput,
    caller,
    status,
  }),
  z.strictObject({
    type: z.literal('web_search_call'),
    id: idOf('ws'),
    status: z.string(),
    action: z.looseObject({ type: z.string() }).nullish(),
  }),
  z.strictObject({
    type: z.literal('image_generation_call'),
    id: idOf('ig'),
    status: z.string(),
    result: z.string().nullish(),
    action: z.string().nullish(),
    background: z.string().nullish(),
    output_format: z.string().nullish(),
    quality: z.string().nullish(),
    revised_prompt: z.string().nullish(),
    size: z.string().nullish(),
  }),
  z.strictObject({
    type: z.literal('code_interpreter_call'),
    id: idOf('ci'),
    status: z.string(),
    container_id: z.string(),
    code: z.string().nullable(),
    outputs: z.array(z.unknown()).nullish(),
  }),
  z.strictObject({
    type: z.literal('local_shell_call'),
    id: idOf('lsh'),
    call_id: callId,
    action: z.looseObject({ type: z.literal('exec') }),
    status,
  }),
  // Its `id` is the call's.
  z.strictObject({ type: z.literal('local_shell_call_output'), id: callId, output: z.string(), status }),
  z.strictObject({
    type: z.literal('additional_tools'),
    id: idOf('at'),
    role: z.literal('developer'),
    tools: z.array(tool),
  }),
  z.strictObject({
    type: z.literal('configuration_update'),
    id: z.string().nullish(),
    reasoning: z.strictObject({ effort: effort.nullish() }).optional(),
    text: z.strictObject({ format: textFormat }).optional(),
  }),
  z.strictObject({ type: z.literal('compaction'), id: idOf('cmp'), encrypted_content: z.string() }),
  z.strictObject({ type: z.literal('compaction_trigger'), id: z.string().nullish() }),
  z.strictObject({ type: z.literal('item_reference'), id: z.string() }),
]);

/** Codex notes this in its items if the provider's name is "OpenAI". */
const noteField = 'internal_chat_message_metadata_passthrough';

function removeNote(item: unknown): unknown {
  if (!isObject(item) || !isObject(item[noteField])) return item;
  const { [noteField]: _note, ...rest } = item;
  return rest;
}

/** Without a `type` it is a message; with one, what that says. */
export const inputItem = z.preprocess(removeNote, z.discriminatedUnion('type', [spoken, other]));
export type InputItem = z.output<typeof inputItem>;
