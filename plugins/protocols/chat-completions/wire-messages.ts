/**
 * The messages of a request: their content parts and tool calls. Types that providers add pass unchecked.
 */
import { z } from 'zod';
import { cacheBreakpoint } from '../../shared/wire-kit/cache-breakpoint.ts';
import { buildOpenUnion } from '../../shared/wire-kit/open-values.ts';
import { base64Data, fileData, mediaUrl } from '../../shared/wire-kit/wire-check.ts';

const anyObject = z.looseObject({});

const textPart = z.looseObject({
  type: z.literal('text'),
  text: z.string(),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const imagePart = z.looseObject({
  type: z.literal('image_url'),
  /** Mistral also accepts a bare URL. */
  image_url: z.union(
    [mediaUrl, z.looseObject({ url: mediaUrl, detail: z.string().nullish() })],
    'an object with the "url" of an image',
  ),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const audioPart = z.looseObject({
  type: z.literal('input_audio'),
  /** Mistral also accepts bare data, or a URL. */
  input_audio: z.union(
    [fileData, z.looseObject({ data: base64Data, format: z.string() })],
    'an object with the "data" and the "format" of audio',
  ),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const filePart = z.looseObject({
  type: z.literal('file'),
  file: z.looseObject({
    file_data: fileData.nullish(),
    file_id: z.string().min(1).nullish(),
    filename: z.string().nullish(),
  }),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });

/** Mistral's models write their reasoning like this, and accept it back. */
const thinkingPart = z.looseObject({
  type: z.literal('thinking'),
  thinking: z.array(z.looseObject({ type: z.string(), text: z.string().nullish() })),
});

/** OpenRouter and vLLM accept videos, Mistral accepts documents. */
const videoPart = z.looseObject({
  type: z.literal('video_url'),
  video_url: z.union([mediaUrl, z.looseObject({ url: mediaUrl })], 'an object with the "url" of a video'),
  prompt_cache_breakpoint: cacheBreakpoint,
});
const documentPart = z.looseObject({
  type: z.literal('document_url'),
  document_url: mediaUrl,
  document_name: z.string().nullish(),
  prompt_cache_breakpoint: cacheBreakpoint,
});

const part = buildOpenUnion(
  textPart,
  imagePart,
  audioPart,
  filePart,
  refusalPart,
  thinkingPart,
  videoPart,
  documentPart,
);
export const isKnownPart = part.isKnown;
const parts = z.array(part.any);
const content = z.union([z.string(), parts], 'a string, or an array of content parts');
/** The content of an assistant message. */
const answer = z.union(
  [z.string(), parts],
  'a string, or an array of text and refusal parts; it may be null beside tool calls or reasoning',
);

const calledFunction = z.looseObject({ name: z.string(), arguments: z.string('a string holding JSON') });
const functionCall = { id: z.string(), function: calledFunction, extra_content: anyObject.nullish() };
const toolCall = buildOpenUnion(
  z.looseObject({ type: z.literal('function'), ...functionCall }),
  z.looseObject({
    id: z.string(),
    type: z.literal('custom'),
    custom: z.looseObject({ name: z.string(), input: z.string() }),
    extra_content: anyObject.nullish(),
  }),
  /** Mistral does not require a type. */
  z.looseObject({ type: z.undefined().optional(), ...functionCall }),
);
export const isKnownCall = toolCall.isKnown;

const name = z.string().nullish();
const systemMessage = z.looseObject({ role: z.enum(['system', 'developer']), content, name });
const userMessage = z.looseObject({ role: z.literal('user'), content, name });
const assistantMessage = z.looseObject({
  role: z.literal('assistant'),
  content: answer.nullish(),
  name,
  refusal: z.string().nullish(),
  /** vLLM sends an empty list if there are no calls, and clients send it back. */
  tool_calls: z.array(toolCall.any).nullish(),
  function_call: calledFunction.nullish(),
  audio: z.looseObject({ id: z.string() }).nullish(),
  /** DeepSeek and vLLM use `reasoning_content`, OpenRouter the other two. */
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  reasoning_details: z.array(z.looseObject({ type: z.string() })).nullish(),
  /** OpenRouter's field for generated images. */
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
export const message = z.union([knownMessage, otherMessage]);

export type AnyMessage = z.output<typeof message>;
export type Message = z.output<typeof knownMessage>;
export type AssistantMessage = z.output<typeof assistantMessage>;
export type Content = z.output<typeof content>;
export type AnyPart = z.output<typeof part.any>;
export type Part = z.output<typeof part.known>;
export type ToolCall = z.output<typeof toolCall.known>;

export function isKnownMessage(value: AnyMessage): value is Message {
  return roles.includes(value.role);
}
