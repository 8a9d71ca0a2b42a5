/**
 * Collects the output items of one reply from its events, as canonical blocks. Items and parts are identified
 * by index, never by id: some relays send another id with every event. Some providers send no deltas, so the
 * decoder counts what it has emitted of an item, and reads the rest from the complete item at its end.
 */
import {
  type Annotation,
  type Opaque,
  toCount,
  type BlockKind,
  type CanonicalEvent,
} from '../../../core/index.ts';
import { codeResult } from '../../shared/wire-kit/hosted-tools.ts';
import type { BlockFacts, ReplyLog } from '../../shared/wire-kit/reply-log.ts';
import { ArgumentPieces } from '../../shared/wire-kit/tool-arguments.ts';
import { readList, readText } from '../../shared/wire-kit/values.ts';
import { isObject, pickUnread, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { decodeAnnotation, decodeSources } from './annotations.ts';
import { bag } from './bag.ts';
import { headNames, partBreak } from './decode-items.ts';
import { readSealed } from './sealed.ts';
import type { ToolNames } from './tool-names.ts';

interface Part {
  readonly block: number;
  /** Where its text begins in the answer. */
  readonly from: number;
  sent: number;
  annotations: number;
  logprobs: number;
  ended: boolean;
}

class Item {
  readonly type: string;
  /** If it is a message: its own fields. Its first block carries them. */
  readonly head: Fields;
  /** If it is reasoning: its id. Its sealed state is valid only with this id. */
  readonly reasoningId: BlockFacts;
  /** If it is a message: its parts by index. */
  readonly parts = new Map<number, Part>();
  /** If it is a message: the part that began last. A new part ends it. */
  latest: Part | undefined;
  /** If it is reasoning: the number of characters emitted of each part, by list and index. */
  readonly reasoningSent = new Map<string, number>();
  /** If it is reasoning or a call: its only block, as soon as that has begun. */
  block: number | undefined;
  sent = 0;
  /** If it is a function call: its arguments. */
  readonly pieces = new ArgumentPieces();
  callId: string | undefined;
  ended = false;

  constructor(type: string, wire: Fields, followsMessage: boolean) {
    this.type = type;
    const rest = type === 'message' ? pickUnread(wire, [...headNames, 'role', 'content']) : {};
    this.head = followsMessage || Object.keys(rest).length > 0 ? { item: rest } : {};
    this.reasoningId = type === 'reasoning' && readText(wire.id) !== '' ? bag.keep({ id: wire.id }) : {};
  }
}

export class OutputItemDecoder {
  readonly #log: ReplyLog;
  readonly #names: () => ToolNames;
  readonly #sealer: string;
  readonly #items = new Map<number, Item>();
  /** Sealed state by call id. It comes in an item of its own, before the call ends. */
  readonly #callState = new Map<string, Opaque[]>();
  /** What Perplexity found, and no part has cited yet: its parts may name no sources of their own. */
  #sources: Annotation[] = [];
  /** Characters of the answer so far. */
  #length = 0;
  #latestIndex = 0;
  #latestType = '';
  calls = false;
  refusal = false;
  /** True after an unreadable delta. A complete part then no longer extends the text emitted so far. */
  hasGap = false;

  /** `sealer` is the vendor of sealed state that has no envelope. */
  constructor(log: ReplyLog, names: () => ToolNames, sealer: string) {
    this.#log = log;
    this.#names = names;
    this.#sealer = sealer;
  }

  get hasItems(): boolean {
    return this.#items.size > 0;
  }

  /** Returns the item at an index, and starts it if it is new. Without an index, returns the latest item. */
  startItem(outputIndex: unknown, wire: Fields): Item {
    const index = Number.isSafeInteger(outputIndex) ? Number(outputIndex) : this.#latestIndex;
    const known = this.#items.get(index);
    if (known) return known;
    const type = readText(wire.type);
    const item = new Item(type, wire, this.#latestType === 'message');
    this.#latestIndex = index;
    this.#latestType = type;
    this.#items.set(index, item);
    if (isCall(type)) this.#startCall(item, wire);
    return item;
  }

  addText(outputIndex: unknown, contentIndex: unknown, text: string, logprobs: readonly unknown[]): void {
    this.#emitText(this.#findPart(outputIndex, contentIndex, 'text'), text, logprobs);
  }

  addRefusal(outputIndex: unknown, contentIndex: unknown, text: string): void {
    this.#emitText(this.#findPart(outputIndex, contentIndex, 'refusal'), text, []);
  }

  addAnnotation(outputIndex: unknown, contentIndex: unknown, wire: unknown): void {
    if (!isObject(wire)) return;
    const part = this.#findPart(outputIndex, contentIndex, 'text');
    part.annotations += 1;
    this.#log.emit({
      type: 'annotation',
      candidate: 0,
      block: part.block,
      annotation: decodeAnnotation(wire, part.from),
    });
  }

  /** Reads a complete part of a message, and emits what its deltas lacked. */
  endPart(outputIndex: unknown, contentIndex: unknown, wire: Fields): void {
    const kind = wire.type === 'refusal' ? 'refusal' : 'text';
    const part = this.#findPart(outputIndex, contentIndex, kind);
    if (part.ended) return;
    const text = this.hasGap && part.sent > 0 ? '' : readText(wire[kind]).slice(part.sent);
    this.#emitText(part, text, readList(wire.logprobs).slice(part.logprobs));
    for (const annotation of readList(wire.annotations).slice(part.annotations))
      this.addAnnotation(outputIndex, contentIndex, annotation);
    const sources = part.annotations > 0 ? [] : this.#sources.splice(0);
    for (const annotation of sources)
      this.#log.emit({ type: 'annotation', candidate: 0, block: part.block, annotation });
    this.#endPart(part);
  }

  addReasoning(outputIndex: unknown, list: 'summary' | 'content', partIndex: unknown, text: string): void {
    const item = this.startItem(outputIndex, { type: 'reasoning' });
    if (text === '' || item.ended) return;
    const key = `${list} ${Number(partIndex) || 0}`;
    const sent = item.reasoningSent.get(key);
    const isFirst = item.block === undefined;
    const block = (item.block ??= this.#log.startBlock(0, 'reasoning', item.reasoningId));
    if (sent === undefined && !isFirst)
      this.#log.emit({
        type: 'block-delta',
        candidate: 0,
        block,
        text: partBreak,
        ...bag.keep({ break: true }),
      });
    item.reasoningSent.set(key, (sent ?? 0) + text.length);
    this.#log.addText(0, block, text);
  }

  addArguments(outputIndex: unknown, text: string): void {
    this.#addArguments(this.startItem(outputIndex, { type: 'function_call' }), false, text);
  }

  addInput(outputIndex: unknown, text: string): void {
    this.#addArguments(this.startItem(outputIndex, { type: 'custom_tool_call' }), true, text);
  }

  #addArguments(item: Item, isCustom: boolean, text: string): void {
    if (text === '' || item.block === undefined || item.ended) return;
    item.sent += text.length;
    this.#log.addText(0, item.block, isCustom ? text : item.pieces.add(text));
  }

  addPartialImage(event: Fields): void {
    for (const partial of decodePartialImage(event)) this.#log.emit(partial);
  }

  /** Reads a complete item, and emits what its events lacked. */
  endItem(outputIndex: unknown, wire: Fields): void {
    const item = this.startItem(outputIndex, wire);
    if (item.ended) return;
    if (item.type === 'message') this.#endMessage(outputIndex, item, wire);
    else if (item.type === 'reasoning') this.#endReasoning(outputIndex, item, wire);
    else if (isCall(item.type)) this.#endCall(item, wire);
    else {
      if (item.type === 'search_results')
        for (const source of decodeSources(wire)) this.#sources.push(source);
      for (const { kind, facts, text } of decodeHostedItem(item.type, wire)) {
        const block = this.#log.startBlock(0, kind, facts);
        this.#log.addText(0, block, text);
        this.#log.endBlock(0, block);
      }
    }
    item.ended = true;
  }

  /** Ends the reply, and with it all open blocks. */
  close(): void {
    for (const item of this.#items.values()) {
      for (const part of item.parts.values()) this.#endPart(part);
      if (item.block !== undefined && !item.ended) this.#log.endBlock(0, item.block);
      item.ended = true;
    }
  }

  /** Returns a part of a message. If it is new, ends the part before it and starts a block. */
  #findPart(outputIndex: unknown, contentIndex: unknown, kind: 'text' | 'refusal'): Part {
    const item = this.startItem(outputIndex, { type: 'message' });
    const index = Number(contentIndex) || 0;
    const known = item.parts.get(index);
    if (known) return known;
    if (item.latest) this.#endPart(item.latest);
    if (kind === 'refusal') this.refusal = true;
    const block = this.#log.startBlock(0, kind, item.parts.size === 0 ? bag.keep(item.head) : {});
    const part: Part = { block, from: this.#length, sent: 0, annotations: 0, logprobs: 0, ended: false };
    item.parts.set(index, part);
    item.latest = part;
    return part;
  }

  /** Log probabilities precede the text they belong to. */
  #emitText(part: Part, text: string, logprobs: readonly unknown[]): void {
    if (part.ended) return;
    if (logprobs.length > 0)
      this.#log.emit({ type: 'logprobs', candidate: 0, block: part.block, content: [...logprobs] });
    this.#log.addText(0, part.block, text);
    part.logprobs += logprobs.length;
    part.sent += text.length;
    this.#length += text.length;
  }

  #endPart(part: Part): void {
    if (!part.ended) this.#log.endBlock(0, part.block);
    part.ended = true;
  }

  #endMessage(outputIndex: unknown, item: Item, wire: Fields): void {
    for (const [index, part] of readList(wire.content).entries())
      if (isObject(part)) this.endPart(outputIndex, index, part);
    for (const part of item.parts.values()) this.#endPart(part);
  }

  #endReasoning(outputIndex: unknown, item: Item, wire: Fields): void {
    // Clients receive the summary, or the reasoning itself if there is no summary.
    const list = readList(wire.summary).length > 0 ? 'summary' : 'content';
    for (const [index, part] of readList(wire[list]).entries()) {
      const sent = item.reasoningSent.get(`${list} ${index}`) ?? 0;
      if (isObject(part) && !(this.hasGap && sent > 0))
        this.addReasoning(outputIndex, list, index, readText(part.text).slice(sent));
    }
    const encrypted = readText(wire.encrypted_content);
    const sealed = encrypted === '' ? undefined : readSealed(encrypted, this.#sealer);
    if (sealed && typeof sealed.owner === 'object') this.#keepCallState(sealed.owner.call, sealed.opaque);
    else if (sealed)
      this.#log.endBlock(0, item.block ?? this.#log.startBlock(0, 'reasoning', item.reasoningId), [
        sealed.opaque,
      ]);
    else if (item.block !== undefined) this.#log.endBlock(0, item.block);
  }

  #keepCallState(callId: string, state: Opaque): void {
    const states = this.#callState.get(callId);
    if (states) states.push(state);
    else this.#callState.set(callId, [state]);
  }

  #startCall(item: Item, wire: Fields): void {
    const name = readText(wire.name);
    if (name === '') return;
    const namespace = readText(wire.namespace) || undefined;
    item.callId = readText(wire.call_id) || readText(wire.id) || undefined;
    this.calls = true;
    item.block = this.#log.startBlock(0, 'tool-call', {
      id: item.callId,
      name: this.#names().toCanonical({ name, namespace }),
      ...(item.type === 'custom_tool_call' ? { custom: true } : {}),
    });
  }

  #endCall(item: Item, wire: Fields): void {
    if (item.block === undefined) this.#startCall(item, wire);
    if (item.block === undefined) return;
    const isCustom = item.type === 'custom_tool_call';
    const text = readText(wire[isCustom ? 'input' : 'arguments']).slice(item.sent);
    this.#addArguments(item, isCustom, text);
    if (!isCustom) this.#log.addText(0, item.block, item.pieces.end());
    this.#log.endBlock(0, item.block, this.#callState.get(item.callId ?? ''));
  }
}

function isCall(type: string): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

/**
 * Decodes items of tools that the provider ran (code, images, searches and others) to canonical blocks.
 */
interface HostedBlock {
  readonly kind: BlockKind;
  readonly facts: BlockFacts;
  readonly text: string;
}

export function decodeHostedItem(type: string, wire: Fields): HostedBlock[] {
  const id = readText(wire.id) || undefined;
  if (type === 'image_generation_call') {
    const mediaType = `image/${readText(wire.output_format) || 'png'}`;
    const { result, ...item } = wire;
    return [{ kind: 'image', facts: { id, mediaType, ...bag.keep({ item }) }, text: readText(result) }];
  }
  if (type === 'code_interpreter_call') return decodeCode(id, wire);
  const { action } = wire;
  const facts = { id, name: type.replace(/_call$/, ''), ...bag.keep({ item: wire }) };
  return [{ kind: 'server-tool', facts, text: isObject(action) ? JSON.stringify(action) : '' }];
}

/** Returns a block with the code, followed by a block with its output. */
function decodeCode(id: string | undefined, wire: Fields): HostedBlock[] {
  const code: HostedBlock = {
    kind: 'code',
    facts: { id, ...bag.keep({ item: wire }) },
    text: readText(wire.code),
  };
  const logs = readList(wire.outputs).flatMap((output) =>
    isObject(output) && output.type === 'logs' ? [readText(output.logs)] : [],
  );
  if (logs.length === 0) return [code];
  // The item above holds the logs too, so the encoder of this protocol skips this block.
  const facts = { name: codeResult, ...bag.keep({ repeated: true }) };
  return [code, { kind: 'server-tool', facts, text: logs.join('\n') }];
}

/** Decodes a preview of an image that the provider is still generating. */
export function decodePartialImage(event: Fields): CanonicalEvent[] {
  const {
    type: _type,
    sequence_number: _number,
    output_index: _index,
    partial_image_index: index,
    partial_image_b64: data,
    ...facts
  } = event;
  if (typeof data !== 'string') return [];
  return [{ type: 'partial-image', candidate: 0, index: toCount(index) ?? 0, data, ...bag.keep(facts) }];
}
