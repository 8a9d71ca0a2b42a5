/**
 * Checks the items of `input` and the tools one by one, each against the schema of its type. An item without
 * a type is a message. An item of an unknown type passes unchecked: only the provider can validate it.
 */
import { GatewayError } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import * as Wire from './wire.ts';

/** A request body whose items and tools have been checked one by one. */
export interface ReadRequest {
  readonly wire: Wire.Request;
  readonly items: readonly ReadItem[];
  readonly tools: readonly ReadTool[] | undefined;
}

export type ReadItem =
  | { readonly kind: 'message'; readonly item: Wire.Message }
  | { readonly kind: 'function-call'; readonly item: Wire.FunctionCall }
  | { readonly kind: 'custom-call'; readonly item: Wire.CustomCall }
  | { readonly kind: 'call-output'; readonly item: Wire.CallOutput }
  | { readonly kind: 'reasoning'; readonly item: Wire.Reasoning }
  | { readonly kind: 'image-call'; readonly item: Wire.ImageCall }
  /** Tools that the client offers in the middle of a conversation, as Codex does. */
  | { readonly kind: 'more-tools'; readonly item: Fields; readonly tools: readonly ReadTool[] }
  /** `unknownRole`: a message of an unknown role. Without it, another provider's answer is worthless. */
  | { readonly kind: 'other'; readonly item: Fields; readonly unknownRole?: true };

/** Whether an assistant message must have the id and status of its response. */
export type AssistantItems = 'strict' | 'lenient';

export function readItems(input: Wire.Request['input'], assistantItems: AssistantItems): ReadItem[] {
  if (!Array.isArray(input)) return [];
  return input.map((value, index) => readItem(value, `input[${index}]`, assistantItems));
}

function readItem(value: unknown, at: string, assistantItems: AssistantItems): ReadItem {
  const given = checkWire(Wire.anyItem, value, at);
  switch (given.type ?? (given.role === undefined && given.id !== undefined ? 'item_reference' : 'message')) {
    case 'message':
      if (typeof given.role === 'string' && !Wire.knownRoles.has(given.role))
        return { kind: 'other', item: given, unknownRole: true };
      return { kind: 'message', item: readMessage(value, at, assistantItems) };
    case 'function_call':
      return { kind: 'function-call', item: checkWire(Wire.functionCall, value, at) };
    case 'custom_tool_call':
      return { kind: 'custom-call', item: checkWire(Wire.customCall, value, at) };
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const item = checkWire(Wire.callOutput, value, at);
      checkFiles(item.output, `${at}.output`);
      return { kind: 'call-output', item };
    }
    case 'reasoning':
      return readReasoning(value, at);
    case 'image_generation_call': {
      const item = checkWire(Wire.imageCall, value, at);
      return item.result ? { kind: 'image-call', item } : { kind: 'other', item };
    }
    case 'computer_call_output':
      checkWire(Wire.screenshot, value, at);
      return { kind: 'other', item: given };
    case 'additional_tools': {
      const { tools } = checkWire(Wire.moreTools, value, at);
      return { kind: 'more-tools', item: given, tools: tools.map(createToolReader(`${at}.tools`)) };
    }
    case 'item_reference':
      throw buildReferenceError(at, 'send the item itself');
    default:
      return { kind: 'other', item: given };
  }
}

/**
 * Builds the error for a reference to an earlier response. The AI SDK makes one in the second turn of every
 * conversation, unless it is set up otherwise.
 */
export function buildReferenceError(field: string, instead: string): GatewayError {
  return new GatewayError(
    'unsupported_parameter',
    `"${field}" refers to a stored response, and the gateway stores none: ${instead}. In an SDK, set ` +
      '"store: false", or use the chat completions model: .chat(model) in the AI SDK.',
    { param: field },
  );
}

/** Reasoning with parts of an unknown type passes as an unknown item. */
function readReasoning(value: unknown, at: string): ReadItem {
  const item = checkWire(Wire.reasoning, value, at);
  const isKnown = holdsOnly(item.summary, 'summary_text') && holdsOnly(item.content, 'reasoning_text');
  return isKnown ? { kind: 'reasoning', item } : { kind: 'other', item };
}

function holdsOnly(parts: Wire.Reasoning['summary'], known: string): boolean {
  return parts?.every(({ type = known }) => type === known) ?? true;
}

function readMessage(value: unknown, at: string, assistantItems: AssistantItems): Wire.Message {
  const message = checkWire(Wire.message, value, at);
  checkFiles(message.content, `${at}.content`);
  const [missing] = assistantItems === 'strict' ? listMissing(message) : [];
  if (missing) {
    const send = missing === 'id' ? 'the id from the response that held the message' : '"completed"';
    throw buildFieldError(`${at}.${missing}`, 'is missing', `${send}, or leave out "type"`);
  }
  return message;
}

/** The required fields that an assistant message lacks. Without `type`, or with plain text, none is. */
function listMissing({ role, type, content, id, status }: Wire.Message): ('id' | 'status')[] {
  if (role !== 'assistant' || type !== 'message' || typeof content === 'string') return [];
  return [...(id ? [] : ['id' as const]), ...(status ? [] : ['status' as const])];
}

/** Paths of the required fields that lenient reading fills in. */
export function listDefaulted(items: readonly ReadItem[]): string[] {
  return items.flatMap((read, index) =>
    read.kind === 'message' ? listMissing(read.item).map((field) => `input[${index}].${field}`) : [],
  );
}

/** An image or a file needs one of several fields. */
function checkFiles(content: Wire.Content, at: string): void {
  if (typeof content === 'string') return;
  for (const [index, part] of content.entries()) {
    if (!Wire.isKnownPart(part)) continue;
    if (part.type === 'input_image' && !part.image_url && !part.file_id)
      throw buildFieldError(`${at}[${index}].image_url`, 'is missing', 'the URL of an image');
    if (part.type === 'input_file' && !part.file_data && !part.file_url && !part.file_id) {
      throw buildFieldError(
        `${at}[${index}].file_data`,
        'is missing',
        'the content of a file as "file_data", its address as "file_url" or its id as "file_id"',
      );
    }
  }
}

export type ReadTool = { readonly at: string } & (
  | { readonly kind: 'own'; readonly tool: Wire.OwnTool }
  | { readonly kind: 'hosted'; readonly tool: Fields }
);

const flatKinds = new Set(['function', 'custom']);

/** Whether the client runs the tool itself. A namespace that holds hosted tools is passed to the provider. */
function isOwn(tool: Fields): boolean {
  const { type, tools } = tool;
  if (type !== 'namespace' || !Array.isArray(tools))
    return type === 'namespace' || (typeof type === 'string' && flatKinds.has(type));
  return tools.every((each) => !isObject(each) || typeof each.type !== 'string' || flatKinds.has(each.type));
}

/** Returns all tools that a request offers: those of `tools`, then those of its items. */
export function readTools(tools: Wire.Request['tools'], items: readonly ReadItem[]): ReadTool[] | undefined {
  const more = items.flatMap((read) => (read.kind === 'more-tools' ? read.tools : []));
  return tools || more.length > 0 ? [...(tools ?? []).map(createToolReader('tools')), ...more] : undefined;
}

function createToolReader(list: string): (tool: Fields, index: number) => ReadTool {
  return (tool, index) => {
    const at = `${list}[${index}]`;
    return isOwn(tool)
      ? { kind: 'own', tool: checkWire(Wire.ownTool, tool, at), at }
      : { kind: 'hosted', tool, at };
  };
}
