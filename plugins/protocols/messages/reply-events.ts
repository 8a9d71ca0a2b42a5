/**
 * Canonical events as events of this wire, which has one block open at a time: blocks that run beside another (the
 * parallel calls of other vendors) wait until it has ended. A stream sends the events one by one, a whole reply is
 * gathered from them: what there is to say is decided here for both.
 */
import type { CanonicalEvent, Opaque, ReplyContext, Usage } from '../../../core/index.ts';
import { loseForeign, loseForeignStart } from '../../shared/wire-kit/losses.ts';
import { longestCited, longestPassages, Transcript } from '../../shared/wire-kit/transcript.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { encodeAnnotation } from './annotations.ts';
import { bag, nativeVendor, protocolName } from './bag.ts';
import { encodeFinish } from './finish.ts';
import { writeEnvelope, type Owner } from './sealed.ts';
import { fitCallId, makeCallId } from './tool-names.ts';
import { encodeUsage } from './usage.ts';

export type WireEventBody = Readonly<Record<string, unknown>> & { readonly type: string };

type Event<Type extends CanonicalEvent['type']> = Extract<CanonicalEvent, { type: Type }>;
type BlockEvent = Event<'block-start' | 'block-delta' | 'block-end' | 'annotation'>;

/** The block that is open. It is told with its first content: the vendor refuses to be given back one without any. */
interface Current {
  readonly start: Event<'block-start'>;
  index: number | undefined;
  empty: boolean;
}

const bytesPerToken = 4;
/** Characters of a vendor's own word that are told. */
const longestWord = 40;
const tokensPerImage = 1600;

export class ReplyEvents {
  readonly #context: ReplyContext;
  readonly #whole: boolean;
  /** Blocks that have begun beside the current one, in their order, with what was said of them. */
  readonly #waiting = new Map<number, BlockEvent[]>();
  #events: WireEventBody[] = [];
  #start: Event<'response-start'> | undefined;
  #finish: Event<'finish'> | undefined;
  #current: Current | undefined;
  /** What seals the last text, until another block follows. */
  #held: (readonly [Current, Opaque])[] = [];
  #usage: Usage = {};
  #begun = false;
  #opening = false;
  #indices = 0;
  #calls = 0;
  #refused = false;
  #length = 0;
  /** The answer so far: citations of others say where in it they stand. */
  readonly #said = new Transcript(longestCited);
  /** Characters of it that may still be repeated beside citations. */
  #passages = longestPassages;

  /** `whole`: the reply is told in one, so that what seals its last text can stand before it. */
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
        else this.#context.lost?.(`candidates[${event.candidate}]`, 'messages has one answer to a call');
        break;
      case 'response-start':
        this.#start = event;
        loseForeignStart(this.#context, event, protocolName);
        break;
      case 'usage':
        this.#usage = { ...this.#usage, ...event.usage };
        break;
      case 'finish':
        if (event.candidate === 0) this.#finish = event;
        loseForeign(this.#context, event, protocolName);
        break;
      case 'ping':
        return [{ type: 'ping' }];
      case 'response-end':
        this.#close();
        break;
      case 'logprobs':
        this.#context.lost?.('logprobs', 'messages has none');
        break;
      case 'error':
        break;
    }
    return this.#events;
  }

  #take(event: BlockEvent): void {
    if (event.block === this.#current?.start.block) return this.#tell(event);
    const waiting = this.#waiting.get(event.block);
    if (waiting) waiting.push(event);
    else if (event.type === 'block-start' && this.#current) this.#waiting.set(event.block, [event]);
    else if (event.type === 'block-start') this.#current = this.#place(event);
  }

  #place(start: Event<'block-start'>): Current {
    const id =
      start.kind === 'tool-call'
        ? start.id
          ? fitCallId(start.id)
          : makeCallId(this.#context.id, start.block)
        : start.id;
    if (!isShown(start)) this.#context.lost?.(start.kind, 'messages has no block for it');
    return { start: { ...start, id }, index: undefined, empty: true };
  }

  #tell(event: BlockEvent): void {
    const current = this.#current;
    if (!current) return;
    if (event.type === 'block-delta') this.#add(current, event);
    else if (event.type === 'annotation') this.#cite(current, event);
    else if (event.type === 'block-end') this.#end(current, event);
  }

  /**
   * Opens the next of the waiting blocks, and tells what was said of it meanwhile. One that has ended by then calls this
   * again, which is left to the call that runs: thousands of blocks in a row would fill the stack.
   */
  #next(): void {
    if (this.#opening) return;
    this.#opening = true;
    for (const [block, events] of this.#waiting) {
      this.#waiting.delete(block);
      for (const event of events) {
        if (event.type === 'block-start') this.#current = this.#place(event);
        else if (event.block === this.#current?.start.block) this.#tell(event);
      }
      if (this.#current) break;
    }
    this.#opening = false;
  }

  #add(current: Current, { text, vendor }: Event<'block-delta'>): void {
    const { kind } = current.start;
    if (kind === 'server-tool') {
      const own = bag.fields({ vendor });
      if (isOwn(current.start))
        this.#delta(current, own.type === undefined ? { type: 'input_json_delta', partial_json: text } : own);
      return;
    }
    const delta = deltaOf(kind, text);
    if (!delta || text === '') return;
    this.#length += text.length;
    if (kind === 'text') this.#said.add(text);
    current.empty = false;
    this.#delta(current, delta);
  }

  #cite(current: Current, { annotation }: Event<'annotation'>): void {
    const { text } = this.#said;
    const citation = encodeAnnotation(annotation, this.#passages > 0 ? text : '');
    if (annotation.citedText === undefined) this.#passages -= String(citation?.cited_text ?? '').length;
    if (annotation.citedText === undefined && ((annotation.end ?? 0) > text.length || this.#passages <= 0))
      this.#context.lost?.(
        'annotations.citedText',
        'the answer was too long to find the passage in it, or its passages are too many',
      );
    if (citation && current.start.kind === 'text')
      this.#delta(current, { type: 'citations_delta', citation });
    else this.#context.lost?.(`annotations.${annotation.kind}`, 'messages cites with an address only');
  }

  #delta(current: Current, delta: Fields): void {
    this.#events.push({ type: 'content_block_delta', index: this.#open(current), delta });
  }

  #open(current: Current): number {
    return (current.index ??= this.#begin(this.#blockOf(current.start)));
  }

  #begin(block: Fields): number {
    this.#head();
    const held = this.#held;
    this.#held = [];
    for (const [text, state] of held) this.#seal(text, state);
    const index = this.#indices;
    this.#indices += 1;
    this.#events.push({ type: 'content_block_start', index, content_block: block });
    return index;
  }

  /** What a block is at its beginning. */
  #blockOf({ kind, id = '', name = '', vendor }: Event<'block-start'>): Fields {
    const own = bag.fields({ vendor });
    if (kind === 'reasoning') return { type: 'thinking', thinking: '', signature: '' };
    if (kind === 'server-tool') return own;
    if (kind !== 'tool-call') return { type: 'text', text: '', citations: null };
    this.#calls += 1;
    return { type: 'tool_use', id, name, input: {}, caller: { type: 'direct' }, ...own };
  }

  #end(current: Current, { opaque = [] }: Event<'block-end'>): void {
    const { kind } = current.start;
    if (kind === 'refusal') this.#refused = true;
    if (kind === 'tool-call' && current.empty)
      this.#delta(current, { type: 'input_json_delta', partial_json: '{}' });
    if (kind === 'server-tool' && isOwn(current.start)) this.#open(current);
    const signatures = kind === 'reasoning' ? opaque.filter(isSignature) : [];
    for (const { value } of signatures) this.#delta(current, { type: 'signature_delta', signature: value });
    if (current.index !== undefined) this.#events.push({ type: 'content_block_stop', index: current.index });
    for (const state of opaque) {
      if (kind === 'reasoning' && isSignature(state)) continue;
      if (kind === 'text') this.#held.push([current, state]);
      else this.#seal(current, state);
    }
    this.#current = undefined;
    this.#next();
  }

  /** State in a block of its own; another vendor's in an envelope. */
  #seal(current: Current, state: Opaque, owner = ownerOf(current)): void {
    const { kind } = current.start;
    const native = kind === 'reasoning' && state.vendor === nativeVendor;
    const index = this.#begin({
      type: 'redacted_thinking',
      data: native ? state.value : writeEnvelope(state, owner),
    });
    this.#events.push({ type: 'content_block_stop', index });
    current.index ??= index;
  }

  /** The beginning of a message, told as late as its first content: by then a vendor may have told its input. */
  #head(): void {
    if (this.#begun) return;
    this.#begun = true;
    const { id, model } = this.#context;
    this.#events.push({
      type: 'message_start',
      message: {
        container: null,
        diagnostics: null,
        ...bag.fields(this.#start),
        id: `msg_${id}`,
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        usage: encodeUsage({ ...this.#usage, output: undefined }, { input: this.#estimate(), output: 0 }),
      },
    });
  }

  /** Clients take note of the input at a message's beginning: better a guess, put right at its end, than nothing. */
  #estimate(): number {
    const { textBytes, images, mediaBytes } = this.#context.call.size;
    return Math.ceil((textBytes + mediaBytes) / bytesPerToken) + images * tokensPerImage;
  }

  /** A text that ends a reply is its last block: Claude Code prints that one, and nothing where it is no text. */
  #closeText(): void {
    const held = this.#held;
    this.#held = [];
    if (this.#whole) for (const [text, state] of held) this.#seal(text, state, 'next text');
    else if (held.length > 0)
      this.#context.lost?.(
        'text.opaque',
        'a stream ends with its text, and has no place behind it for what seals that',
      );
  }

  /** Blocks that never ended end here, then why the reply did, and what it used. */
  #close(): void {
    for (let current = this.#current; current; current = this.#current) {
      this.#end(current, { type: 'block-end', candidate: 0, block: current.start.block });
    }
    this.#head();
    this.#closeText();
    const { reason = { unified: 'other', raw: '' }, stopSequence = null, vendor } = this.#finish ?? {};
    const word = encodeFinish(reason.unified, this.#calls > 0, this.#refused);
    if (reason.unified === 'other' || reason.unified === 'error')
      this.#context.lost?.('finish', `messages has no word for "${reason.raw.slice(0, longestWord)}"`);
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
      ...bag.fields({ vendor }),
    };
    this.#events.push({ type: 'message_delta', delta, usage }, { type: 'message_stop' });
  }
}

function ownerOf({ start: { kind, id = '' }, index }: Current): Owner | undefined {
  if (kind === 'tool-call') return { call: id };
  if (kind === 'text') return 'text';
  return index === undefined ? undefined : 'reasoning';
}

const shown: ReadonlySet<string> = new Set(['text', 'refusal', 'reasoning', 'tool-call']);

function isShown(start: Event<'block-start'>): boolean {
  return shown.has(start.kind) || isOwn(start);
}

/** Whether a server tool is one of this wire: only then is it kept whole. */
function isOwn({ vendor }: Event<'block-start'>): boolean {
  return bag.fields({ vendor }).type !== undefined;
}

function isSignature({ vendor, kind }: Opaque): boolean {
  return vendor === nativeVendor && kind === 'signature';
}

function deltaOf(kind: Event<'block-start'>['kind'], text: string): Fields | undefined {
  if (kind === 'text' || kind === 'refusal') return { type: 'text_delta', text };
  if (kind === 'reasoning') return { type: 'thinking_delta', thinking: text };
  return kind === 'tool-call' ? { type: 'input_json_delta', partial_json: text } : undefined;
}
