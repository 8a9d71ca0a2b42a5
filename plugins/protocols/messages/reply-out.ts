/** Writes canonical events as this protocol's reply: a stream event by event, or one JSON object. */
import {
  type Opaque,
  type ReplyContext,
  type EventOf,
  type CanonicalEvent,
  type Usage,
  GatewayError,
  type EventEncoder,
} from '../../../core/index.ts';
import { loseForeignFields } from '../../shared/wire-kit/losses.ts';
import { parseArguments } from '../../shared/wire-kit/tool-arguments.ts';
import { longestCited, longestPassages, Transcript } from '../../shared/wire-kit/transcript.ts';
import { type Fields, isObject } from '../../shared/wire-kit/vendor-bag.ts';
import {
  bag,
  nativeVendor,
  type Owner,
  protocolName,
  writeEnvelope,
  fitCallId,
  makeCallId,
  encodeStreamError,
} from './encoding.ts';
import {
  buildSearch,
  encodeAnnotation,
  encodeFinish,
  isCrossedBlock,
  isCrossedCitation,
} from './reply-facts.ts';
import { encodeUsage } from './reply-in.ts';

type BlockStart = EventOf<'block-start'>;

/** Builds the message of `message_start`: without content and stop reason. */
function buildMessage(own: Fields, { id, model }: ReplyContext, usage: Fields): Fields {
  return {
    container: null,
    diagnostics: null,
    ...own,
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage,
  };
}

function buildBlock({ kind, id = '', name = '', vendor }: BlockStart): Fields {
  const own = bag.getFields({ vendor });
  if (kind === 'reasoning') return { type: 'thinking', thinking: '', signature: '' };
  if (kind === 'server-tool') return own;
  if (kind !== 'tool-call') return { type: 'text', text: '' };
  return { type: 'tool_use', id, name, input: {}, caller: { type: 'direct' }, ...own };
}

/** Returns the owner of the sealed state after a block, or undefined if nothing of the block was sent. */
function findOwner({ kind, id = '' }: BlockStart, isSent: boolean): Owner | undefined {
  if (kind === 'tool-call') return { call: id };
  if (kind === 'text') return 'text';
  return isSent ? 'reasoning' : undefined;
}

/** The type of a block's deltas, and their member, by the kinds of blocks that this protocol has. */
const deltas: ReadonlyMap<BlockStart['kind'], readonly [type: string, member: string]> = new Map([
  ['text', ['text_delta', 'text']],
  ['refusal', ['text_delta', 'text']],
  ['reasoning', ['thinking_delta', 'thinking']],
  ['tool-call', ['input_json_delta', 'partial_json']],
]);

/** Whether the block of a server tool came in this protocol. Only then is it sent unchanged. */
function isOwn({ vendor }: BlockStart): boolean {
  return bag.getFields({ vendor }).type !== undefined;
}

function isSignature({ vendor, kind }: Opaque): boolean {
  return vendor === nativeVendor && kind === 'signature';
}

export type WireEventBody = Readonly<Record<string, unknown>> & { readonly type: string };

function hasSearch(call: ReplyContext['call']): boolean {
  return call.decode().tools?.some((tool) => tool.type === 'hosted' && tool.kind === 'web-search') ?? false;
}

type BlockEvent = EventOf<'block-start' | 'block-delta' | 'block-end' | 'annotation'>;

/** The open block. It starts with its first content, because Anthropic refuses empty blocks sent back. */
interface Current {
  readonly start: EventOf<'block-start'>;
  index: number | undefined;
  empty: boolean;
}

const bytesPerToken = 4;
/** A reported loss quotes at most this many characters of an unknown finish reason. */
const longestWord = 40;
const tokensPerImage = 1600;
/** Why reasoning is left out. */
const unused = 'the caller neither asked for thinking nor offered tools';

class ReplyEvents {
  readonly #context: ReplyContext;
  readonly #whole: boolean;
  /** Blocks that started while another was open, in order, with their events. */
  readonly #waiting = new Map<number, BlockEvent[]>();
  #events: WireEventBody[] = [];
  #start: EventOf<'response-start'> | undefined;
  #finish: EventOf<'finish'> | undefined;
  #current: Current | undefined;
  /** Sealed state of the last text. It is sent before the next block: a text should stay last. */
  #held: (readonly [Current, Opaque])[] = [];
  #usage: Usage = {};
  #begun = false;
  #opening = false;
  #indices = 0;
  #calls = 0;
  #refused = false;
  #length = 0;
  /** The answer so far. Other vendors' citations refer to positions in it. */
  readonly #answer = new Transcript(longestCited);
  /** Titles of the pages that another vendor's model cited, by URL. */
  readonly #pages = new Map<string, unknown>();
  /** The number of its characters that citations may still quote. */
  #passages = longestPassages;

  /** `whole`: the reply is not a stream, so the sealed state of its last text can precede the text. */
  constructor(context: ReplyContext, whole = false) {
    this.#context = context;
    this.#whole = whole;
  }

  push(event: CanonicalEvent): readonly WireEventBody[] {
    this.#events = [];
    switch (event.type) {
      case 'block-start':
      case 'block-delta':
      case 'block-end':
      case 'annotation':
        if (event.candidate === 0) this.#take(event);
        else
          this.#context.reportLoss?.(`candidates[${event.candidate}]`, 'messages has one answer to a call');
        break;
      case 'response-start':
        this.#start = event;
        loseForeignFields(this.#context, event, protocolName);
        break;
      case 'usage':
        this.#usage = { ...this.#usage, ...event.usage };
        break;
      case 'finish':
        if (event.candidate === 0) this.#finish = event;
        loseForeignFields(this.#context, event, protocolName);
        break;
      case 'ping':
        return [{ type: 'ping' }];
      case 'response-end':
        this.#close();
        break;
      case 'logprobs':
        this.#context.reportLoss?.('logprobs', 'messages has no log probabilities');
        break;
      case 'error':
        break;
    }
    return this.#events;
  }

  #take(event: BlockEvent): void {
    const current = this.#current;
    if (event.block === current?.start.block) return this.#handle(current, event);
    const waiting = this.#waiting.get(event.block);
    if (waiting) waiting.push(event);
    else if (event.type === 'block-start' && current) this.#waiting.set(event.block, [event]);
    else if (event.type === 'block-start') this.#current = this.#place(event);
  }

  #place(start: EventOf<'block-start'>): Current {
    let { id } = start;
    if (start.kind === 'tool-call')
      id = start.id ? fitCallId(start.id) : makeCallId(this.#context.id, start.block);
    if (!deltas.has(start.kind) && !isOwn(start))
      this.#context.reportLoss?.(start.kind, 'messages has no block for it');
    return { start: { ...start, id }, index: undefined, empty: true };
  }

  #handle(current: Current, event: BlockEvent): void {
    if (event.type === 'block-delta') this.#add(current, event);
    else if (event.type === 'annotation') this.#cite(current, event);
    else if (event.type === 'block-end') this.#end(current, event);
  }

  /**
   * Opens the next waiting block and replays its events. If it has already ended, `#end` calls this method
   * again; the running call continues instead, because thousands of blocks in a row would overflow the stack.
   */
  #openNext(): void {
    if (this.#opening) return;
    this.#opening = true;
    for (const [block, events] of this.#waiting) {
      this.#waiting.delete(block);
      for (const event of events) {
        if (event.type === 'block-start') this.#current = this.#place(event);
        else if (this.#current) this.#handle(this.#current, event);
      }
      if (this.#current) break;
    }
    this.#opening = false;
  }

  #add(current: Current, { text, vendor }: EventOf<'block-delta'>): void {
    const { kind } = current.start;
    if (kind === 'server-tool' && isOwn(current.start)) {
      const own = bag.getFields({ vendor });
      const input = { type: 'input_json_delta', partial_json: text };
      this.#emitDelta(current, own.type === undefined ? input : own);
    }
    const [type, member] = deltas.get(kind) ?? [];
    if (member === undefined || text === '') return;
    this.#length += text.length;
    if (kind === 'reasoning' && this.#context.call.reasoningWanted === false) {
      if (current.empty) this.#context.reportLoss?.('reasoning', unused);
      current.empty = false;
      return this.#startMessage();
    }
    if (kind === 'text') this.#answer.add(text);
    current.empty = false;
    this.#emitDelta(current, { type, [member]: text });
  }

  #cite(current: Current, { annotation }: EventOf<'annotation'>): void {
    const { text } = this.#answer;
    const citation = encodeAnnotation(annotation, this.#passages > 0 ? text : '');
    if (annotation.citedText === undefined) this.#passages -= String(citation?.cited_text ?? '').length;
    if (annotation.citedText === undefined && ((annotation.end ?? 0) > text.length || this.#passages <= 0))
      this.#context.reportLoss?.(
        'annotations.citedText',
        'the answer is too long to quote from it, or its passages are too many',
      );
    if (citation && current.start.kind === 'text') {
      this.#emitDelta(current, { type: 'citations_delta', citation });
      const { url, title } = citation;
      if (isCrossedCitation(citation) && typeof url === 'string') this.#pages.set(url, title);
    } else this.#context.reportLoss?.(`annotations.${annotation.kind}`, 'messages only cites web pages');
  }

  #emitDelta(current: Current, delta: Fields): void {
    this.#events.push({ type: 'content_block_delta', index: this.#open(current), delta });
  }

  #open(current: Current): number {
    if (current.index !== undefined) return current.index;
    if (current.start.kind === 'tool-call') this.#calls += 1;
    return (current.index = this.#begin(buildBlock(current.start)));
  }

  #begin(block: Fields): number {
    this.#startMessage();
    const held = this.#held;
    this.#held = [];
    for (const [text, state] of held) this.#seal(text, state);
    const index = this.#indices;
    this.#indices += 1;
    this.#events.push({ type: 'content_block_start', index, content_block: block });
    return index;
  }

  #end(current: Current, { opaque = [] }: EventOf<'block-end'>): void {
    const { kind } = current.start;
    if (kind === 'refusal') this.#refused = true;
    if (kind === 'tool-call' && current.empty)
      this.#emitDelta(current, { type: 'input_json_delta', partial_json: '{}' });
    if (kind === 'server-tool' && isOwn(current.start)) this.#open(current);
    const signatures = kind === 'reasoning' ? opaque.filter(isSignature) : [];
    for (const { value } of signatures)
      this.#emitDelta(current, { type: 'signature_delta', signature: value });
    if (current.index !== undefined) this.#events.push({ type: 'content_block_stop', index: current.index });
    for (const state of opaque) {
      if (kind === 'reasoning' && isSignature(state)) continue;
      if (kind === 'text') this.#held.push([current, state]);
      else this.#seal(current, state);
    }
    this.#current = undefined;
    this.#openNext();
  }

  /** Writes sealed state as a separate block, in an envelope if it is another vendor's. */
  #seal(
    current: Current,
    state: Opaque,
    owner = findOwner(current.start, current.index !== undefined),
  ): void {
    const { kind } = current.start;
    if (this.#context.call.reasoningWanted === false)
      return this.#context.reportLoss?.(`${kind}.opaque`, unused);
    const native = kind === 'reasoning' && state.vendor === nativeVendor;
    const data = native ? state.value : writeEnvelope(state, owner);
    const index = this.#addWhole({ type: 'redacted_thinking', data });
    current.index ??= index;
  }

  #addWhole(block: Fields): number {
    const index = this.#begin(block);
    this.#events.push({ type: 'content_block_stop', index });
    return index;
  }

  /** Starts the message with its first content. By then the provider may have reported the input tokens. */
  #startMessage(): void {
    if (this.#begun) return;
    this.#begun = true;
    const usage = encodeUsage({ ...this.#usage, output: undefined }, { input: this.#estimate(), output: 0 });
    const message = buildMessage(bag.getFields(this.#start), this.#context, usage);
    this.#events.push({ type: 'message_start', message });
  }

  /** Estimates the input tokens, since clients read them at the start. The stream's end corrects them. */
  #estimate(): number {
    const { textBytes, images, mediaBytes } = this.#context.call.size;
    return Math.ceil((textBytes + mediaBytes) / bytesPerToken) + images * tokensPerImage;
  }

  /** Keeps a final text last: Claude Code prints only the last block, and only if it is text. */
  #closeText(): void {
    const held = this.#held;
    this.#held = [];
    if (this.#whole) for (const [text, state] of held) this.#seal(text, state, 'next text');
    else if (held.length > 0)
      this.#context.reportLoss?.(
        'text.opaque',
        'a stream ends with its text, so the sealed state of the text cannot follow',
      );
  }

  /** Ends open blocks, then sends the finish reason and the usage. */
  #close(): void {
    for (let current = this.#current; current; current = this.#current) {
      this.#end(current, { type: 'block-end', candidate: 0, block: current.start.block });
    }
    this.#startMessage();
    this.#closeText();
    const { call, id } = this.#context;
    if (this.#pages.size > 0 && hasSearch(call))
      for (const block of buildSearch(this.#pages, id)) this.#addWhole(block);
    const { reason = { unified: 'other', raw: '' }, stopSequence = null, vendor } = this.#finish ?? {};
    const word = encodeFinish(reason.unified, this.#calls > 0, this.#refused);
    if (reason.unified === 'other' || reason.unified === 'error')
      this.#context.reportLoss?.('finish', `messages has no name for "${reason.raw.slice(0, longestWord)}"`);
    const details = word === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null;
    const usage = encodeUsage(this.#usage, {
      input: this.#estimate(),
      output: Math.ceil(this.#length / bytesPerToken),
    });
    const delta = {
      stop_reason: word,
      stop_sequence: stopSequence,
      stop_details: details,
      container: null,
      ...bag.getFields({ vendor }),
    };
    this.#events.push({ type: 'message_delta', delta, usage }, { type: 'message_stop' });
  }
}

/** Byte for byte as Anthropic sends it, with the space. */
export const ping = 'event: ping\ndata: {"type": "ping"}\n\n';

export class StreamEncoder implements EventEncoder {
  readonly #events: ReplyEvents;

  constructor(context: ReplyContext) {
    this.#events = new ReplyEvents(context);
  }

  push(event: CanonicalEvent): string {
    if (event.type === 'error') return encodeStreamError(new GatewayError('upstream_failed', event.message));
    let frames = '';
    for (const each of this.#events.push(event))
      frames += each.type === 'ping' ? ping : `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`;
    return frames;
  }
}

type Content = Record<string, unknown>;

export function encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown {
  const wire = new ReplyEvents(context, true);
  let message: Content = {};
  const content: Content[] = [];
  /** The JSON text of arguments, by block. */
  const inputs = new Map<Content, string>();
  for (const each of events)
    for (const { type, index, message: begun, content_block: started, delta, usage } of wire.push(each)) {
      const block = content[Number(index)];
      if (type === 'message_start' && isObject(begun)) message = { ...begun, content };
      else if (type === 'content_block_start' && isObject(started)) content[Number(index)] = { ...started };
      else if (type === 'content_block_delta' && block && isObject(delta)) mergeDelta(block, delta, inputs);
      else if (type === 'message_delta' && isObject(delta)) message = { ...message, ...delta, usage };
    }
  for (const [block, text] of inputs) block.input = parseArguments(text) ?? { _raw: text };
  closeWithText(content);
  return message;
}

/**
 * Moves a final text behind sealed state and crossed searches: Claude Code prints only the last block, and
 * only if it is text.
 */
function closeWithText(content: Content[]): void {
  const last = content.findLastIndex((block) => block.type !== 'redacted_thinking' && !isCrossedBlock(block));
  const text = content[last];
  if (text?.type !== 'text') return;
  content.splice(last, 1);
  content.push(text);
}

/** The members of a delta that continue the same member of its block. */
const continued = ['text', 'thinking', 'signature'];

function mergeDelta(block: Content, delta: Fields, inputs: Map<Content, string>): void {
  const { type, citation, partial_json: piece } = delta;
  if (type === 'input_json_delta') inputs.set(block, (inputs.get(block) ?? '') + String(piece));
  else if (type !== 'citations_delta') {
    for (const name of continued)
      if (delta[name] !== undefined) block[name] = String(block[name]) + String(delta[name]);
  } else if (Array.isArray(block.citations)) block.citations.push(citation);
  else block.citations = [citation];
}
