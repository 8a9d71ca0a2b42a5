/** Turns each message into one canonical turn, with its blocks in reading order. */
import type { Block, Turn, TextBlock } from '../../../core/index.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { pickUnread, nestFields, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { decodeContent, decodeGeneratedImage, decodeResultContent } from './decode-parts.ts';
import { readForeignMarks } from './foreign-marks.ts';
import { readReasoning } from './reasoning.ts';
import { readSignatures } from './signatures.ts';
import * as Wire from './wire-messages.ts';

/** What earlier messages tell about the calls. A result names only the call's id, or its function. */
interface EarlierCalls {
  /** Tool names by call id. */
  readonly names: Map<string, string>;
  /** Ids by function name. A `function_call` has no id, so one is generated for the latest of each name. */
  readonly generatedIds: Map<string, string>;
}

/** `marked`: whether there are cache marks under Anthropic's name. */
export function decodeMessages(messages: readonly Wire.AnyMessage[]): { turns: Turn[]; marked: boolean } {
  const calls: EarlierCalls = { names: new Map(), generatedIds: new Map() };
  let marked = false;
  const turns = messages.map((message, index) => {
    const at = `messages[${index}]`;
    if (!Wire.isKnownMessage(message)) return keepMessage(message, at);
    if (message.role === 'assistant') noteCalls(message, index, calls);
    const turn = { ...decodeMessage(message, index, calls), at };
    marked = readForeignMarks(turn) || marked;
    return turn;
  });
  return { turns, marked };
}

function noteCalls(message: Wire.AssistantMessage, index: number, calls: EarlierCalls): void {
  for (const call of message.tool_calls?.filter(Wire.isKnownCall) ?? [])
    calls.names.set(call.id, call.type === 'custom' ? call.custom.name : call.function.name);
  if (message.function_call) calls.generatedIds.set(message.function_call.name, `call_${index}`);
}

function keepMessage(message: Fields, at: string): Turn {
  return {
    role: 'user',
    blocks: [buildForeignBlock(protocolName, message, `${at}.role`, 'needed')],
    at,
  };
}

const contentFields = ['role', 'content', 'name'];

function decodeMessage(message: Wire.Message, index: number, calls: EarlierCalls): Turn {
  const at = `messages[${index}]`;
  if (message.role === 'assistant') return decodeAssistant(message, index);
  if (message.role === 'tool') return decodeToolResult(message, at, calls);
  if (message.role === 'function') {
    const { content, name } = message;
    const callId = calls.generatedIds.get(name) ?? `call_${name}`;
    const text: TextBlock[] = content === null ? [] : [{ type: 'text', text: content, at: `${at}.content` }];
    const result = { type: 'tool-result', callId, name, content: text, at } as const;
    return { role: 'tool', blocks: [result], ...bag.keep(pickUnread(message, contentFields)) };
  }
  return {
    role: message.role,
    blocks: decodeContent(message.content, `${at}.content`, true),
    name: message.name ?? undefined,
    ...bag.keep(pickUnread(message, contentFields)),
  };
}

const resultFields = [...contentFields, 'tool_call_id'];

function decodeToolResult(
  message: Extract<Wire.Message, { role: 'tool' }>,
  at: string,
  { names }: EarlierCalls,
): Turn {
  const { tool_call_id: callId } = message;
  const name = message.name ?? undefined;
  const parts = decodeResultContent(message.content, `${at}.content`);
  // Some clients repeat the tool's name here. As a participant's name, it would be reported as lost.
  const isToolName = name !== undefined && name === names.get(callId);
  const result = { type: 'tool-result', callId, content: parts, at } as const;
  return {
    role: 'tool',
    blocks: [isToolName ? { ...result, name } : result],
    ...(isToolName ? {} : { name }),
    ...bag.keep(pickUnread(message, resultFields)),
  };
}

const assistantFields = [...contentFields, 'tool_calls', 'function_call', 'refusal', 'images'];

function decodeAssistant(message: Wire.AssistantMessage, index: number): Turn {
  const at = `messages[${index}]`;
  const reasoning = readReasoning(message, at);
  const content = decodeContent(message.content ?? [], `${at}.content`, false);
  const blocks: Block[] = [...reasoning.blocks, ...content];
  const sealed = blocks.findLast((block) => block.type === 'text');
  if (sealed && reasoning.text?.length) sealed.opaque = [...reasoning.text];
  for (const [position, image] of message.images?.entries() ?? [])
    blocks.push({ ...decodeGeneratedImage(image), at: `${at}.images[${position}]` });
  if (typeof message.refusal === 'string')
    blocks.push({ type: 'refusal', text: message.refusal, at: `${at}.refusal` });
  for (const [position, call] of message.tool_calls?.entries() ?? []) {
    const place = `${at}.tool_calls[${position}]`;
    blocks.push(Wire.isKnownCall(call) ? { ...decodeCall(call), at: place } : keepCall(call, place));
  }
  if (message.function_call)
    blocks.push(decodeFunctionCall(message.function_call, `call_${index}`, `${at}.function_call`));
  const known = [...assistantFields, ...reasoning.read];
  return {
    role: 'assistant',
    blocks,
    name: message.name ?? undefined,
    ...bag.keep(pickUnread(message, known)),
  };
}

function keepCall(call: Fields, at: string): Block {
  return buildForeignBlock(protocolName, call, at, 'needed');
}

function decodeFunctionCall(
  call: NonNullable<Wire.AssistantMessage['function_call']>,
  id: string,
  at: string,
): Block {
  const { name, arguments: text } = call;
  const sides = bag.keep(pickUnread(call, ['name', 'arguments']));
  return { type: 'tool-call', id, name, arguments: text, at, ...sides };
}

function decodeCall(call: Wire.ToolCall): Block {
  const { opaque, rest: extra } = readSignatures(call.extra_content);
  const type = call.type ?? 'function';
  const inner = call.type === 'custom' ? call.custom : call.function;
  const inside = pickUnread(inner, ['name', call.type === 'custom' ? 'input' : 'arguments']);
  const outside = pickUnread(call, ['id', 'type', type, 'extra_content']);
  const sides = bag.keep({ ...outside, ...nestFields(type, inside), ...nestFields('extra_content', extra) });
  const sealed = opaque.length > 0 ? { opaque } : {};
  const facts =
    call.type === 'custom'
      ? { name: call.custom.name, arguments: call.custom.input, custom: true }
      : { name: call.function.name, arguments: call.function.arguments };
  return { type: 'tool-call', id: call.id, ...facts, ...sealed, ...sides };
}
