/**
 * Decodes input items to canonical turns. One step of the assistant (reasoning, text, tool calls) is several
 * items here but one canonical turn, because other protocols require the tool results after the entire turn.
 */
import type { Block, Opaque, ToolResult, Turn } from '../../../core/index.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { readText } from '../../shared/wire-kit/values.ts';
import { pickUnread, nestFields, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { decodeContent } from './decode-parts.ts';
import type { ReadItem } from './read-items.ts';
import { readSealed, findSealer, type Sealed } from './sealed.ts';
import type { ToolNames } from './tool-names.ts';
import type * as Wire from './wire.ts';

type WireCall = Wire.FunctionCall | Wire.CustomCall;

interface Reading {
  readonly names: ToolNames;
  /** The vendor of sealed state that has no envelope. */
  readonly sealer: string;
  readonly sealed: ReadonlyMap<WireCall, readonly Opaque[]>;
  /** Ids of calls that only this protocol has, such as `tool_search_call`. */
  readonly foreignCalls: ReadonlySet<string>;
}

/** Finds calls that are dropped together with their outputs: providers refuse an output without its call. */
function findForeignCallIds(items: readonly ReadItem[]): ReadonlySet<string> {
  const foreign = new Set<string>();
  for (const { kind, item } of items) {
    if (kind === 'other' && typeof item.call_id === 'string') foreign.add(item.call_id);
  }
  for (const { kind, item } of items) {
    if (kind === 'function-call' || kind === 'custom-call') foreign.delete(item.call_id);
  }
  return foreign;
}

export function decodeItems(items: readonly ReadItem[], names: ToolNames, model: string): Turn[] {
  const sealer = findSealer(model);
  const reading: Reading = {
    names,
    sealer,
    sealed: assignCallState(items, sealer),
    foreignCalls: findForeignCallIds(items),
  };
  const turns: Turn[] = [];
  for (const [index, read] of items.entries()) {
    const last = turns.at(-1);
    if (attachState(read, last, sealer)) continue;
    const turn = decodeItem(read, `input[${index}]`, reading);
    if (!turn) continue;
    if (!continuesTurn(last, turn, read))
      turns.push({ ...turn, blocks: [...takeReasoningBefore(turn, last), ...turn.blocks] });
    else for (const block of turn.blocks) last.blocks.push(block);
  }
  return turns;
}

/**
 * Whether an item belongs to the turn before it. A second message starts a new turn, unless it follows tool
 * calls: a new turn would separate them from their results.
 */
function continuesTurn(last: Turn | undefined, { role, blocks }: Turn, { kind }: ReadItem): last is Turn {
  if (last?.role !== 'assistant' || role !== 'assistant' || last.blocks.length === 0 || blocks.length === 0)
    return false;
  const hasBlock = (type: Block['type']): boolean => last.blocks.some((block) => block.type === type);
  return kind !== 'message' || hasBlock('tool-call') || !(hasBlock('text') || hasBlock('refusal'));
}

/** Takes the reasoning off the end of the previous turn: it belongs to the message that follows. */
function takeReasoningBefore({ role, blocks }: Turn, last: Turn | undefined): Block[] {
  if (role !== 'assistant' || last?.role !== 'assistant' || blocks.length === 0) return [];
  return last.blocks.splice(last.blocks.findLastIndex(({ type }) => type !== 'reasoning') + 1);
}

function readItemSeal(read: ReadItem, sealer: string): Sealed | undefined {
  return read.kind === 'reasoning' && read.item.encrypted_content
    ? readSealed(read.item.encrypted_content, sealer)
    : undefined;
}

/** If the item holds the sealed state of the text or image before it, attaches it there and returns true. */
function attachState(read: ReadItem, last: Turn | undefined, sealer: string): boolean {
  const sealed = readItemSeal(read, sealer);
  if (sealed?.owner !== 'block') return false;
  const block = last?.role === 'assistant' ? last.blocks.at(-1) : undefined;
  if (block?.type !== 'text' && block?.type !== 'media') return false;
  (block.opaque ??= []).push(sealed.opaque);
  return true;
}

/**
 * Assigns sealed state to tool calls by id. Calls may share an id: state goes to the next call with its id,
 * or to the last one if none follows.
 */
function assignCallState(items: readonly ReadItem[], sealer: string): Map<WireCall, readonly Opaque[]> {
  const owned = new Map<WireCall, readonly Opaque[]>();
  const last = new Map<string, WireCall>();
  const waiting = new Map<string, Opaque[]>();
  for (const read of items) {
    if (read.kind === 'function-call' || read.kind === 'custom-call') {
      const { call_id: id } = read.item;
      owned.set(read.item, waiting.get(id) ?? []);
      waiting.delete(id);
      last.set(id, read.item);
    }
    const { opaque, owner } = readItemSeal(read, sealer) ?? {};
    if (!opaque || typeof owner !== 'object') continue;
    const before = waiting.get(owner.call);
    if (before) before.push(opaque);
    else waiting.set(owner.call, [opaque]);
  }
  for (const [id, opaque] of waiting) {
    const call = last.get(id);
    if (call) owned.set(call, [...(owned.get(call) ?? []), ...opaque]);
  }
  return owned;
}

function decodeItem(read: ReadItem, at: string, reading: Reading): Turn | undefined {
  switch (read.kind) {
    case 'message':
      return decodeMessage(read.item, at);
    case 'function-call':
    case 'custom-call':
      return buildAssistantTurn(decodeCall(read.item, at, reading), at);
    case 'call-output':
      if (reading.foreignCalls.has(read.item.call_id))
        return buildAssistantTurn(buildForeignBlock(protocolName, read.item, at), at);
      return { role: 'tool', blocks: [decodeOutput(read.item, at)], at };
    case 'reasoning': {
      const block = decodeReasoning(read.item, at, reading.sealer);
      return block && buildAssistantTurn(block, at);
    }
    case 'image-call':
      return buildAssistantTurn(decodeImageCall(read.item, at), at);
    case 'more-tools':
      return buildAssistantTurn(buildForeignBlock(protocolName, read.item, at, 'repeated'), at);
    case 'other':
      return read.unknownRole
        ? {
            role: 'user',
            blocks: [buildForeignBlock(protocolName, read.item, `${at}.role`, 'needed')],
            at,
          }
        : buildAssistantTurn(buildForeignBlock(protocolName, read.item, at), at);
  }
}

function buildAssistantTurn(block: Block, at: string): Turn {
  return { role: 'assistant', blocks: [block], at };
}

/** An item's type (which clients may omit), id and status. They mean nothing to another provider. */
export const headNames = ['type', 'id', 'status'];

const knownStatuses = new Set(['in_progress', 'completed', 'incomplete']);

function decodeMessage(message: Wire.Message, at: string): Turn {
  const { role, content } = message;
  const blocks: Block[] = decodeContent(content, `${at}.content`, role);
  const isUsual =
    message.status === undefined || message.status === null || knownStatuses.has(message.status);
  const rest = pickUnread(message, [...(isUsual ? headNames : ['type', 'id']), 'role', 'content']);
  const [first, ...others] = blocks;
  if (role !== 'assistant' || !first) return { role, blocks, at, ...bag.keep(rest) };
  const sides = bag.keep({ ...bag.getFields(first), ...nestFields('item', rest) });
  return { role, blocks: [{ ...first, ...sides }, ...others], at };
}

function decodeCall(item: WireCall, at: string, { names, sealed }: Reading): Block {
  const namespace = item.namespace ?? undefined;
  const name = names.toCanonical({ name: item.name, namespace });
  const opaque = sealed.get(item) ?? [];
  const custom = item.type === 'custom_tool_call';
  return {
    type: 'tool-call',
    id: item.call_id,
    name,
    arguments: custom ? item.input : item.arguments,
    ...(custom ? { custom } : {}),
    namespace,
    ...(opaque.length > 0 ? { opaque: [...opaque] } : {}),
    at,
    ...bag.keep(pickUnread(item, [...headNames, 'call_id', 'name', 'namespace', 'arguments', 'input'])),
  };
}

function decodeOutput(item: Wire.CallOutput, at: string): Block {
  const { output } = item;
  const content = decodeContent(output, `${at}.output`, 'tool').map((block): ToolResult['content'][number] =>
    block.type === 'refusal' ? { type: 'text', text: block.text, at: block.at } : block,
  );
  const read = [...headNames, 'call_id', 'output'];
  return {
    type: 'tool-result',
    callId: item.call_id,
    content,
    ...(item.type === 'custom_tool_call_output' ? { custom: true } : {}),
    at,
    ...bag.keep(pickUnread(item, read)),
  };
}

/** Separates the parts of a summary in the canonical text. */
export const partBreak = '\n\n';
/** Marks unknown fields in parts of reasoning, so that they are reported as lost. */
export const unreadParts = 'parts';

export function joinReasoning(parts: readonly Fields[]): string {
  return parts.map(({ text }) => readText(text)).join(partBreak);
}

/** Returns undefined if the item only holds the sealed state of a tool call. */
function decodeReasoning(item: Wire.Reasoning, at: string, sealer: string): Block | undefined {
  const { summary, content, encrypted_content: encrypted } = item;
  const sealed = encrypted ? readSealed(encrypted, sealer) : undefined;
  if (typeof sealed?.owner === 'object') return undefined;
  const raw = !summary?.length && content?.length;
  const parts = (raw ? content : summary) ?? [];
  const known = [
    ...headNames,
    raw ? 'content' : 'summary',
    ...(encrypted ? ['encrypted_content'] : []),
    ...(raw && summary?.length === 0 ? ['summary'] : []),
  ];
  const hasMore = parts.some((part) => Object.keys(pickUnread(part, ['type', 'text'])).length > 0);
  const rest = { ...pickUnread(item, known), ...(hasMore ? { [unreadParts]: true } : {}) };
  return {
    type: 'reasoning',
    text: joinReasoning(parts),
    ...(raw ? {} : { summary: true }),
    ...(sealed ? { opaque: [sealed.opaque] } : {}),
    at,
    ...bag.keep(rest),
  };
}

/** Decodes an image from an earlier response that the client sends back. */
function decodeImageCall(item: Wire.ImageCall, at: string): Block {
  const format = item.output_format ?? undefined;
  return {
    type: 'media',
    kind: 'image',
    source: { type: 'base64', data: item.result ?? '' },
    mediaType: `image/${format ?? 'png'}`,
    at,
    ...bag.keep(pickUnread(item, [...headNames, 'result', 'output_format'])),
  };
}
