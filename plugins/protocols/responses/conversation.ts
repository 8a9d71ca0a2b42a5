/**
 * Input items in both directions. One step of the assistant (reasoning, text, tool calls) is several items
 * here but one canonical turn, because other protocols require the tool results after the entire turn.
 */
import type { Block, Opaque, ToolResult, Turn, BlockOf } from '../../../core/index.ts';
import { encodeCache } from '../../shared/openai/cache-breakpoint.ts';
import { decodeContent, encodePart, isPlainText, type ContentBlock } from '../../shared/openai/content.ts';
import { fitName, fitCallId } from '../../shared/openai/tools.ts';
import { encodeForeign, loseSeal, loseThoughts, refusePart } from '../../shared/wire-kit/losses.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { readText, readObject, readMember } from '../../shared/wire-kit/values.ts';
import {
  pickUnread,
  nestFields,
  type Fields,
  overlay,
  type Sides,
  trackReads,
} from '../../shared/wire-kit/vendor-bag.ts';
import type { ReadItem } from './call.ts';
import { isOwnItem, isTrigger } from './compaction.ts';
import {
  bag,
  dialect,
  omitOwnField,
  protocolName,
  readSealed,
  findSealer,
  type Sealed,
  type ToolNames,
  type Encoding,
} from './encoding.ts';
import type * as Wire from './wire.ts';

type WireCall = Wire.FunctionCall | Wire.CustomCall;

interface Reading {
  readonly names: ToolNames;
  /** The vendor of sealed state that has no envelope. */
  readonly sealer: string;
  readonly sealed: ReadonlyMap<WireCall, readonly Opaque[]>;
  /** Ids of calls that only this protocol has, such as `tool_search_call`. */
  readonly foreignCalls: ReadonlySet<string>;
  /** The place of the last item, if it asks for a compaction. */
  readonly trigger: string | undefined;
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
    trigger: isTrigger(items.at(-1)?.item) ? `input[${items.length - 1}]` : undefined,
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
    case 'update':
      return buildAssistantTurn(buildForeignBlock(protocolName, read.item, at, 'repeated'), at);
    case 'other': {
      const { item, unknownRole } = read;
      const block = unknownRole
        ? buildForeignBlock(protocolName, item, `${at}.role`, 'needed')
        : buildForeignBlock(protocolName, item, at);
      const isUsers = unknownRole || isOwnItem(item) || at === reading.trigger;
      return isUsers ? { role: 'user', blocks: [block], at } : buildAssistantTurn(block, at);
    }
  }
}

function buildAssistantTurn(block: Block, at: string): Turn {
  return { role: 'assistant', blocks: [block], at };
}

/** An item's type (which clients may omit), id and status. They mean nothing to another provider. */
export const headNames = ['type', 'id', 'status'];

/** An item to decode, and a function that returns the fields that were not read. */
function openItem<Item extends object>(
  item: Item,
): readonly [seen: Item, keepSides: (rest?: Fields) => Sides] {
  const { seen, pickRest } = trackReads(item);
  for (const name of headNames) readMember(seen, name);
  return [seen, (rest) => bag.keep({ ...pickRest(), ...rest })];
}

const knownStatuses: ReadonlySet<unknown> = new Set([
  undefined,
  null,
  'in_progress',
  'completed',
  'incomplete',
]);

function decodeMessage(message: Wire.Message, at: string): Turn {
  const { role, content } = message;
  const blocks: Block[] = decodeContent(content, `${at}.content`, role !== 'assistant', dialect);
  const { type: _type, id: _id, role: _role, content: _content, status, ...rest } = message;
  const own = bag.keep({ ...(knownStatuses.has(status) ? {} : { status }), ...rest });
  const [first, ...others] = blocks;
  if (role !== 'assistant' || !first) return { role, blocks, at, ...own };
  const sides = bag.keep({ ...bag.getFields(first), ...nestFields('item', bag.getFields(own)) });
  return { role, blocks: [{ ...first, ...sides }, ...others], at };
}

function decodeCall(item: WireCall, at: string, { names, sealed }: Reading): Block {
  const [seen, keepSides] = openItem(item);
  const namespace = seen.namespace ?? undefined;
  const name = names.toCanonical({ name: seen.name, namespace });
  const opaque = sealed.get(item) ?? [];
  const facts =
    seen.type === 'custom_tool_call'
      ? ({ arguments: seen.input, custom: true } as const)
      : { arguments: seen.arguments };
  const state = opaque.length > 0 ? { opaque: [...opaque] } : {};
  return { type: 'tool-call', id: seen.call_id, name, ...facts, namespace, ...state, at, ...keepSides() };
}

function decodeOutput(item: Wire.CallOutput, at: string): Block {
  const [{ type, call_id: callId, output }, keepSides] = openItem(item);
  const content = decodeContent(output, `${at}.output`, true, dialect).map(
    (block): ToolResult['content'][number] =>
      block.type === 'refusal' || block.type === 'reasoning'
        ? { type: 'text', text: block.text, at: block.at }
        : block,
  );
  const custom = type === 'custom_tool_call_output' ? { custom: true } : {};
  return { type: 'tool-result', callId, content, ...custom, at, ...keepSides() };
}

/** Separates the parts of a summary in the canonical text. */
export const partBreak = '\n\n';
/** Marks unknown fields in parts of reasoning, so that they are reported as lost. */
const unreadParts = 'parts';

/** Returns undefined if the item only holds the sealed state of a tool call. */
function decodeReasoning(item: Wire.Reasoning, at: string, sealer: string): Block | undefined {
  const [seen, keepSides] = openItem(item);
  const { summary, encrypted_content: encrypted } = seen;
  const sealed = encrypted ? readSealed(encrypted, sealer) : undefined;
  if (typeof sealed?.owner === 'object') return undefined;
  const isRaw = !summary?.length && Boolean(item.content?.length);
  const parts = (isRaw ? seen.content : summary) ?? [];
  const hasMore = parts.some((part) => Object.keys(pickUnread(part, ['type', 'text'])).length > 0);
  return {
    type: 'reasoning',
    text: parts.map(({ text }) => text).join(partBreak),
    ...(isRaw ? {} : { summary: true }),
    ...(sealed ? { opaque: [sealed.opaque] } : {}),
    at,
    ...keepSides(hasMore ? { [unreadParts]: true } : {}),
  };
}

/** Decodes an image from an earlier response that the client sends back. */
function decodeImageCall(item: Wire.ImageCall, at: string): Block {
  const [{ result, output_format: format }, keepSides] = openItem(item);
  const source = { type: 'base64', data: result ?? '' } as const;
  const mediaType = `image/${format ?? 'png'}`;
  return { type: 'media', kind: 'image', source, mediaType, at, ...keepSides() };
}

/** Blocks of a message, and parts of a type that this protocol's schema does not know. */
export type SpokenBlock = ContentBlock | BlockOf<'foreign'>;

/** Usually returns one part. Returns none if it is lost, and two if a document has a context text. */
export function encodeParts(block: SpokenBlock, role: string, path: string, encoding: Encoding): Fields[] {
  if (block.type === 'media' && block.kind === 'audio') {
    if (role === 'tool')
      return refusePart(block, path, 'This model accepts no audio in the result of a tool.');
    if (!encoding.model.input.includes('audio'))
      return refusePart(block, path, 'This model accepts no audio.');
  }
  // The own fields of a message are on its first part.
  return encodePart(omitOwnField(block, 'item'), path, encoding, {
    ...(block.type === 'text' && role === 'assistant' ? { type: 'output_text' } : {}),
    prompt_cache_breakpoint: encodeMark(block, role, path, encoding),
  });
}

/** OpenAI refuses marks on what the assistant said. */
function encodeMark(block: SpokenBlock, role: string, path: string, encoding: Encoding): Fields | undefined {
  if (!block.cache || role !== 'assistant') return encodeCache(block, path, encoding);
  encoding.lose(`${path}.cache`, 'responses has cache marks on input only');
  return undefined;
}

/** Joins the parts of a message or a tool's output. One plain text becomes a string. */
export function joinParts(parts: readonly Fields[]): string | readonly Fields[] {
  const [first, ...others] = parts;
  if (!first) return '';
  return others.length === 0 && isPlainText(first) ? first.text : parts;
}

/** A message that collects parts until a block of another type follows. */
interface Message {
  readonly parts: Fields[];
  readonly fields: Fields;
}

type Entry = { readonly path: string } & ({ readonly item: Fields } | { readonly message: Message });

/** Encodes the turns. A count may have none; the client's own instructions stay apart. */
export function encodeItems(
  turns: readonly Turn[],
  encoding: Encoding,
): { readonly instructions: string | undefined; readonly items: readonly Fields[] | undefined } {
  const instructions = turns.find(({ at }) => at === 'instructions');
  const { role, blocks = [] } = turns.at(-1) ?? {};
  if (role === 'assistant' && !blocks.some(({ type }) => type === 'tool-call')) {
    encoding.lose(
      `turns[${turns.length - 1}].role`,
      'the model starts a new answer instead of continuing this one',
      'approximated',
    );
  }
  const items = turns.flatMap((turn, index) =>
    turn === instructions ? [] : encodeTurn(turn, index, encoding),
  );
  return {
    instructions: instructions?.blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n\n'),
    items: turns.some((turn) => turn !== instructions) ? items : undefined,
  };
}

export function encodeTurn(turn: Turn, index: number, encoding: Encoding): Fields[] {
  if (turn.name !== undefined)
    encoding.lose(`turns[${index}].name`, 'responses has no names for participants');
  const items = new TurnItems(turn, encoding);
  for (const [position, block] of turn.blocks.entries())
    items.add(block, `turns[${index}].blocks[${position}]`);
  return items.finish();
}

class TurnItems {
  readonly #turn: Turn;
  readonly #encoding: Encoding;
  readonly #entries: Entry[] = [];
  #open: Message | undefined;

  constructor(turn: Turn, encoding: Encoding) {
    this.#turn = turn;
    this.#encoding = encoding;
  }

  add(block: Block, path: string): void {
    const { role } = this.#turn;
    const { inPlace, lose } = this.#encoding;
    if ('opaque' in block && block.opaque && block.type !== 'reasoning') loseSeal(path, lose);
    // Gemini ends a stream with an empty text, even after tool calls.
    if (block.type === 'text' && block.text === '' && role === 'assistant') return;
    const isShown = block.type === 'media' && role === 'assistant' && !(inPlace && isImageCall(block));
    if (isSpoken(block) && !isShown) return this.#addParts(block, path);
    this.#open = undefined;
    const items = isShown
      ? [encodeShownMedia(block, path, this.#encoding)]
      : encodeBlock(block, path, this.#encoding);
    for (const item of items) this.#entries.push({ path, item });
  }

  #addParts(block: SpokenBlock, path: string): void {
    const { role } = this.#turn;
    if (!this.#open) {
      const own = role === 'assistant' ? bag.getFields(block).item : bag.getFields(this.#turn);
      this.#open = { parts: [], fields: readObject(own) };
      this.#entries.push({ path, message: this.#open });
    }
    for (const part of encodeParts(block, role, path, this.#encoding)) this.#open.parts.push(part);
  }

  finish(): Fields[] {
    const role = this.#turn.role === 'tool' ? 'user' : this.#turn.role;
    const { isPerplexity } = this.#encoding;
    return dropTrailingReasoning(this.#entries, this.#encoding).map((entry) => {
      if ('item' in entry) return entry.item;
      const { parts, fields } = entry.message;
      if (isPerplexity && role === 'assistant') return { role, content: joinTexts(parts) };
      return overlay(fields, { role, content: joinParts(parts) });
    });
  }
}

/** What an assistant said, and what it refused, as one text. */
function joinTexts(parts: readonly Fields[]): string {
  return parts.map(({ text, refusal }) => readText(text ?? refusal)).join('');
}

/** Whether a block is a part of a message, and not an item. */
export function isSpoken(block: Block): block is SpokenBlock {
  if (block.type === 'foreign') return block.protocol === protocolName && isPart(block);
  return block.type === 'text' || block.type === 'refusal' || (block.type === 'media' && !isImageCall(block));
}

function isPart({ at = '' }: Block): boolean {
  return /\.(content|output)\[/.test(at);
}

/** Whether an image was an item of its own: a call of the tool that made it. */
function isImageCall({ at = '' }: Block): boolean {
  return /^input\[\d+\]$/.test(at);
}

/** An assistant's message cannot hold media here, so a user message shows it. */
function encodeShownMedia(block: BlockOf<'media'>, path: string, encoding: Encoding): Fields {
  encoding.lose(path, 'sent as if the user showed it', 'approximated');
  return {
    role: 'user',
    content: [
      { type: 'input_text', text: 'What the assistant showed:' },
      ...encodeParts(block, 'user', path, encoding),
    ],
  };
}

/** OpenAI refuses reasoning without an item after it. That item was lost, or never existed. */
function dropTrailingReasoning(entries: Entry[], { inPlace, lose }: Encoding): Entry[] {
  const kept = entries.filter((entry) => 'item' in entry || entry.message.parts.length > 0);
  if (inPlace) return kept;
  for (let last = kept.at(-1); last && 'item' in last && last.item.type === 'reasoning'; last = kept.at(-1)) {
    lose(last.path, 'the item that has to follow it is missing');
    kept.pop();
  }
  return kept;
}

export function encodeBlock(
  block: Exclude<Block, BlockOf<'text' | 'refusal'>>,
  path: string,
  encoding: Encoding,
): Fields[] {
  switch (block.type) {
    case 'tool-call':
      return [encodeCall(block, path, encoding)];
    case 'tool-result':
      return [encodeResult(block, path, encoding)];
    case 'reasoning':
      return encodeReasoning(block, path, encoding);
    case 'media': {
      const result = block.source.type === 'base64' ? block.source.data : undefined;
      return [overlay(bag.getFields(block), { type: 'image_generation_call', result })];
    }
    case 'foreign':
      return encodeForeign(block, path, protocolName, encoding.lose);
  }
}

function encodeCall(block: BlockOf<'tool-call'>, path: string, { inPlace, names, lose }: Encoding): Fields {
  if (block.cache) lose(`${path}.cache`, 'responses has no cache marks on calls');
  const { name, namespace } = names.toWire(block.name) ?? {
    name: inPlace ? block.name : fitName(block.name),
    namespace: block.namespace,
  };
  const called = { name, namespace, call_id: inPlace ? block.id : fitCallId(block.id) };
  const wire = block.custom
    ? { type: 'custom_tool_call', ...called, input: block.arguments }
    : { type: 'function_call', ...called, arguments: block.arguments || '{}' };
  return overlay(bag.getFields(block), wire);
}

function encodeResult(block: BlockOf<'tool-result'>, path: string, encoding: Encoding): Fields {
  const { inPlace, customCalls, lose } = encoding;
  if (block.isError) lose(`${path}.isError`, 'responses cannot mark a failed tool result');
  const parts = block.content.flatMap((part, position) => {
    const place = `${path}.content[${position}]`;
    return part.type === 'foreign'
      ? encodeForeign(part, place, protocolName, lose)
      : encodeParts(part, 'tool', place, encoding);
  });
  const mark = encodeCache(block, path, encoding);
  if (mark)
    parts.push({ ...(parts.pop() ?? { type: 'input_text', text: '' }), prompt_cache_breakpoint: mark });
  const custom = block.custom ?? customCalls.has(block.callId);
  return overlay(bag.getFields(block), {
    type: custom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: inPlace ? block.callId : fitCallId(block.callId),
    output: joinParts(parts),
  });
}

/** Only the vendor that sealed reasoning can use it. The vendor of unsealed reasoning is unknown. */
function encodeReasoning(block: BlockOf<'reasoning'>, path: string, { owner, lose }: Encoding): Fields[] {
  const { opaque = [], text } = block;
  const [sealed] = opaque;
  const { [unreadParts]: _more, ...fields } = bag.getFields(block);
  if (!sealed || opaque.some(({ vendor }) => vendor !== owner)) {
    loseThoughts(path, lose);
    return [];
  }
  const [field, type] =
    block.summary || fields.content === undefined
      ? ['summary', 'summary_text']
      : ['content', 'reasoning_text'];
  const parts = text === '' ? [] : [{ type, text }];
  return [overlay(fields, { type: 'reasoning', [field]: parts, encrypted_content: sealed.value })];
}
