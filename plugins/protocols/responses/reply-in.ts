/**
 * Decodes a provider's reply to canonical events: a stream event by event, a JSON reply item by item. Every
 * stream passes through here, if only to be metered, so the checks are written by hand for speed. Items and
 * parts are identified by index, never by id: some relays send another id with every event. Some providers
 * send no deltas, so the decoder counts what it has emitted of an item, and reads the rest from the complete
 * item at its end.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  GatewayError,
  type CanonicalEvent,
  type ClientCall,
  type EventDecoder,
  type Model,
  type WireEvent,
  type Annotation,
  type Opaque,
} from '../../../core/index.ts';
import { decodeAnnotation } from '../../shared/openai/citations.ts';
import { buildErrorEvent } from '../../shared/openai/errors.ts';
import { isError, readVendorError } from '../../shared/vendors/errors.ts';
import { considerCalls } from '../../shared/vendors/finish-reason.ts';
import { parseJson, unreadableEvent } from '../../shared/wire-kit/event-data.ts';
import { readServedMode } from '../../shared/wire-kit/modes.ts';
import { ReplyLog, type BlockFacts } from '../../shared/wire-kit/reply-log.ts';
import { ArgumentPieces } from '../../shared/wire-kit/tool-arguments.ts';
import { readList, readText } from '../../shared/wire-kit/values.ts';
import {
  isObject,
  splitNames,
  pickStated,
  type Fields,
  type Sides,
  pickUnread,
} from '../../shared/wire-kit/vendor-bag.ts';
import { ResponsesCall } from './call.ts';
import { headNames, partBreak } from './conversation.ts';
import { bag, dialect, findSealer, ToolNames, readSealed } from './encoding.ts';
import { decodeHostedItem, decodePartialImage } from './hosted.ts';
import { decodeFinish, decodeUsage, decodeSources } from './reply-facts.ts';

type Handler = (items: OutputItemDecoder, event: Fields) => void;

const handlers: ReadonlyMap<string, Handler> = new Map(
  Object.entries<Handler>({
    'response.output_item.added': (items, event) =>
      void (isObject(event.item) && items.startItem(event, event.item)),
    'response.output_item.done': (items, event) => {
      if (isObject(event.item)) items.endItem(event, event.item);
    },
    'response.output_text.delta': (items, event) => items.addText(event, 'text'),
    'response.refusal.delta': (items, event) => items.addText(event, 'refusal'),
    'response.output_text.annotation.added': (items, event) => items.addAnnotation(event, event.annotation),
    'response.content_part.done': (items, event) => {
      if (isObject(event.part) && event.part.type !== 'reasoning_text') items.endPart(event, event.part);
    },
    'response.reasoning_summary_text.delta': (items, event) =>
      items.addReasoning(event, 'summary', event.summary_index, readText(event.delta)),
    'response.reasoning_text.delta': (items, event) =>
      items.addReasoning(event, 'content', event.content_index, readText(event.delta)),
    'response.function_call_arguments.delta': (items, event) => items.addInput(event, 'function_call'),
    'response.custom_tool_call_input.delta': (items, event) => items.addInput(event, 'custom_tool_call'),
    'response.image_generation_call.partial_image': (items, event) => items.addPartialImage(event),
  }),
);

/** Events that hold the whole response. */
const lifecycle = splitNames(`
  response.created response.queued response.in_progress response.completed response.incomplete
  response.failed response.cancelled
`);

/** Codes of errors in the client's own input. The provider's message says what to correct. */
const clientFault = new RegExp(
  '^(invalid_|image_|unsupported_image|empty_image|failed_to_download_image|' +
    'bio_policy|content_policy|context_length_exceeded)',
);

/** Fields of a response that repeat the request, or that canonical events carry. */
const fieldsElsewhere = splitNames(`
  id object created_at completed_at status error incomplete_details output output_text usage model billing
  background conversation previous_response_id store tools tool_choice instructions metadata user
  safety_identifier prompt text tool_usage max_output_tokens
`);

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #items: OutputItemDecoder;
  readonly #log = new ReplyLog();
  #names: ToolNames | undefined;
  #started: Fields | undefined;

  constructor(call: ClientCall, model?: Model) {
    this.#call = call;
    const ensureNames = (): ToolNames =>
      (this.#names ??= new ToolNames(call.decode(), call instanceof ResponsesCall));
    this.#items = new OutputItemDecoder(this.#log, ensureNames, findSealer(model?.id ?? ''));
  }

  push(wire: WireEvent): CanonicalEvent[] {
    if (!this.#log.isOver && wire.data !== '[DONE]') this.#takeEvent(parseJson(wire.data), wire);
    return this.#log.take();
  }

  end(): CanonicalEvent[] {
    this.#log.isOver = true;
    return this.#log.take();
  }

  /** Decodes a response that is not streamed. Throws if the body is not a response. */
  decodeWhole(body: unknown): CanonicalEvent[] {
    if (!isObject(body) || !(Array.isArray(body.output) || isError(body)))
      throw new GatewayError('upstream_failed', 'The provider sent a reply that is not a response object.');
    // Some relays omit the status of a complete response.
    if (Array.isArray(body.output))
      this.#takeResponse(addStatus(body, isObject(body.error) ? 'failed' : 'completed'));
    else this.#fail(body);
    return this.#log.take();
  }

  #takeEvent(event: unknown, wire: WireEvent): void {
    if (!isObject(event)) return this.#skip(wire);
    const type = readText(event.type) || (wire.event ?? '');
    const handle = handlers.get(type);
    if (handle) return handle(this.#items, event);
    if (lifecycle.has(type) && isObject(event.response))
      return this.#takeResponse(addStatus(event.response, type.slice('response.'.length)));
    if (type === 'keepalive') this.#log.emit({ type: 'ping' });
    // OpenAI's API nests the error in the event; OpenAI's documentation shows it flat.
    if (isError(event, type)) this.#fail(event);
  }

  #skip(wire: WireEvent): void {
    if (this.#log.skip(wire)) this.#items.hasGap = true;
    else this.#fail({ error: unreadableEvent });
  }

  #takeResponse(response: Fields): void {
    if (!this.#started) this.#start(response);
    const { status } = response;
    if (status === 'queued' || status === 'in_progress') return;
    if (!this.#items.hasItems) {
      for (const [index, item] of readList(response.output).entries())
        if (isObject(item)) this.#items.endItem({ output_index: index }, item);
    }
    const finish = decodeFinish(response, this.#items);
    if (finish) this.#items.close();
    const usage = decodeUsage(response);
    if (usage)
      this.#log.emit({
        type: 'usage',
        usage: { ...usage, ...readServedMode({ service_tier: response.service_tier }, this.#call) },
      });
    if (!finish) return this.#fail(response);
    const calls = { any: this.#items.calls, cut: this.#log.isCut(0) };
    const reason = { ...finish, unified: considerCalls(finish.unified, calls) };
    this.#log.emit({ type: 'finish', candidate: 0, reason, ...this.#readLateFacts(response) });
    this.#log.end(true);
  }

  #start(response: Fields): void {
    const { id, model, created_at: created } = response;
    this.#started = response;
    const seconds = typeof created === 'number' ? Math.floor(created) : undefined;
    this.#log.begin(id || undefined, model, seconds, bag.keep(pickStated(response, fieldsElsewhere)));
  }

  /** Returns fields that the response added or changed after its start, such as the service tier. */
  #readLateFacts(response: Fields): Sides {
    const early = this.#started ?? {};
    const facts = Object.entries(pickStated(response, fieldsElsewhere));
    const late = facts.filter(([name, value]) => !isDeepStrictEqual(value, early[name]));
    return bag.keep(Object.fromEntries(late));
  }

  #fail(body: Fields): void {
    const error = readVendorError(body);
    const isClients = clientFault.test(error.code ?? '');
    this.#log.fail(buildErrorEvent(error, error.status ?? (isClients ? 400 : undefined)));
  }
}

function addStatus(response: Fields, status: string): Fields {
  return typeof response.status === 'string'
    ? response
    : { ...response, status: status === 'created' ? 'in_progress' : status };
}

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

class OutputItemDecoder {
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

  /** Returns the item of an event, and starts it if it is new. Without an index, returns the latest item. */
  startItem({ output_index: stated }: Fields, wire: Fields): Item {
    const index = Number.isSafeInteger(stated) ? Number(stated) : this.#latestIndex;
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

  addText(event: Fields, kind: 'text' | 'refusal'): void {
    this.#emitText(this.#findPart(event, kind), readText(event.delta), readList(event.logprobs));
  }

  addAnnotation(event: Fields, wire: unknown): void {
    if (!isObject(wire)) return;
    const part = this.#findPart(event, 'text');
    part.annotations += 1;
    this.#log.cite(0, part.block, decodeAnnotation(wire, dialect, part.from));
  }

  /** Reads a complete part of a message, and emits what its deltas lacked. */
  endPart(event: Fields, wire: Fields): void {
    const kind = wire.type === 'refusal' ? 'refusal' : 'text';
    const part = this.#findPart(event, kind);
    if (part.ended) return;
    const text = this.hasGap && part.sent > 0 ? '' : readText(wire[kind]).slice(part.sent);
    this.#emitText(part, text, readList(wire.logprobs).slice(part.logprobs));
    for (const annotation of readList(wire.annotations).slice(part.annotations))
      this.addAnnotation(event, annotation);
    const sources = part.annotations > 0 ? [] : this.#sources.splice(0);
    for (const source of sources) this.#log.cite(0, part.block, source);
    this.#endPart(part);
  }

  addReasoning(event: Fields, list: 'summary' | 'content', partIndex: unknown, text: string): void {
    const item = this.startItem(event, { type: 'reasoning' });
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

  addInput(event: Fields, type: 'function_call' | 'custom_tool_call'): void {
    this.#addInput(this.startItem(event, { type }), type === 'custom_tool_call', readText(event.delta));
  }

  #addInput(item: Item, isCustom: boolean, text: string): void {
    if (text === '' || item.block === undefined || item.ended) return;
    item.sent += text.length;
    this.#log.addText(0, item.block, isCustom ? text : item.pieces.add(text));
  }

  addPartialImage(event: Fields): void {
    for (const partial of decodePartialImage(event)) this.#log.emit(partial);
  }

  /** Reads a complete item, and emits what its events lacked. */
  endItem(event: Fields, wire: Fields): void {
    const item = this.startItem(event, wire);
    if (item.ended) return;
    if (item.type === 'message') this.#endMessage(event, item, wire);
    else if (item.type === 'reasoning') this.#endReasoning(event, item, wire);
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
  #findPart(event: Fields, kind: 'text' | 'refusal'): Part {
    const item = this.startItem(event, { type: 'message' });
    const index = Number(event.content_index) || 0;
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
    this.#log.addLogprobs(0, part.block, logprobs);
    this.#log.addText(0, part.block, text);
    part.logprobs += logprobs.length;
    part.sent += text.length;
    this.#length += text.length;
  }

  #endPart(part: Part): void {
    if (!part.ended) this.#log.endBlock(0, part.block);
    part.ended = true;
  }

  #endMessage(event: Fields, item: Item, wire: Fields): void {
    for (const [index, part] of readList(wire.content).entries())
      if (isObject(part)) this.endPart({ ...event, content_index: index }, part);
    for (const part of item.parts.values()) this.#endPart(part);
  }

  #endReasoning(event: Fields, item: Item, wire: Fields): void {
    // Clients receive the summary, or the reasoning itself if there is no summary.
    const list = readList(wire.summary).length > 0 ? 'summary' : 'content';
    for (const [index, part] of readList(wire[list]).entries()) {
      const sent = item.reasoningSent.get(`${list} ${index}`) ?? 0;
      if (isObject(part) && !(this.hasGap && sent > 0))
        this.addReasoning(event, list, index, readText(part.text).slice(sent));
    }
    const encrypted = readText(wire.encrypted_content);
    const { owner, opaque } = encrypted === '' ? {} : readSealed(encrypted, this.#sealer);
    if (opaque && typeof owner === 'object') {
      const states = this.#callState.get(owner.call);
      if (states) states.push(opaque);
      else this.#callState.set(owner.call, [opaque]);
      return;
    }
    if (opaque) item.block ??= this.#log.startBlock(0, 'reasoning', item.reasoningId);
    if (item.block !== undefined) this.#log.endBlock(0, item.block, opaque && [opaque]);
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
    this.#addInput(item, isCustom, text);
    if (!isCustom) this.#log.addText(0, item.block, item.pieces.end());
    this.#log.endBlock(0, item.block, this.#callState.get(item.callId ?? ''));
  }
}

function isCall(type: string): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}
