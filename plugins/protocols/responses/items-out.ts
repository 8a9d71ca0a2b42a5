/**
 * The output items of a response, and the stream events that announce them. Consecutive texts and refusals
 * become parts of one message.
 */
import type { EventOf, Annotation, ReplyContext, Opaque } from '../../../core/index.ts';
import { encodeAnnotation } from '../../shared/openai/citations.ts';
import { Transcript } from '../../shared/wire-kit/transcript.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { dialect, type WireName, type Owner, writeSealed } from './encoding.ts';
import { makeId } from './reply-facts.ts';

/** One stream event without its sequence number. */
export interface ItemEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export class ItemWriter {
  readonly output: Fields[] = [];
  readonly context: ReplyContext;
  /** Ends what has to precede another item: calls (those before block `before`) and text. */
  readonly makeRoom: (before?: number) => void;
  #events: ItemEvent[] = [];

  constructor(context: ReplyContext, makeRoom: (before?: number) => void) {
    this.context = context;
    this.makeRoom = makeRoom;
  }

  /** Returns the events written since the last call. */
  takeEvents(): ItemEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  emit(type: string, fields: Fields): void {
    this.#events.push({ type, ...fields });
  }

  /** Appends an item and returns its index. `shown` is the item for the event, if `item` changes later. */
  add(item: Fields, shown = item): number {
    const index = this.output.length;
    this.output.push(item);
    this.emit('response.output_item.added', { output_index: index, item: shown });
    return index;
  }

  finish(index: number, item: Fields): void {
    this.output[index] = item;
    this.emit('response.output_item.done', { output_index: index, item });
  }

  /** Writes sealed state as items of their own. */
  addState(opaque: readonly Opaque[], owner: Owner, before?: number): void {
    for (const sealed of opaque) {
      this.makeRoom(before);
      const item = { id: this.makeId('rs'), type: 'reasoning', summary: [] };
      this.finish(this.add(item), { ...item, encrypted_content: writeSealed(sealed, owner) });
    }
  }

  makeId(prefix: string): string {
    return makeId(prefix, this.context.id, this.output.length);
  }
}

interface OutputMessage {
  readonly index: number;
  readonly id: string;
  /** The parts that the finished item holds. */
  readonly content: Fields[];
  readonly item: Fields;
  readonly open: Set<OpenPart>;
}

type Start = EventOf<'block-start'>;

/** Text or a refusal: one part of a message. */
export class OpenPart {
  readonly kind = 'part';
  readonly place: Fields;
  readonly isRefusal: boolean;
  /** Where its text begins in the answer. */
  readonly from: number;
  readonly logprobs: unknown[] = [];
  ended = false;
  /** Citations of the entire text. Anthropic streams them before the text, so they are held until its end. */
  readonly pendingCitations: Annotation[] = [];
  readonly #transcript = new Transcript();
  readonly #annotations: Fields[] = [];
  readonly #part: Record<string, unknown>;
  /** Log probabilities of text that follows. */
  #pendingLogprobs: unknown[] = [];

  constructor(message: OutputMessage, isRefusal: boolean, from: number) {
    this.isRefusal = isRefusal;
    this.from = from;
    this.place = { item_id: message.id, output_index: message.index, content_index: message.content.length };
    this.#part = isRefusal
      ? { type: 'refusal', refusal: '' }
      : { type: 'output_text', text: '', annotations: this.#annotations, logprobs: this.logprobs };
    message.content.push(this.#part);
  }

  get text(): string {
    return this.#transcript.text;
  }

  get textLength(): number {
    return this.#transcript.length;
  }

  /** Copies the text so far into the part. Doing so for each delta would make V8 keep all pieces. */
  update(): void {
    this.#part[this.isRefusal ? 'refusal' : 'text'] = this.text;
  }

  toFields(): Fields {
    this.update();
    return this.isRefusal
      ? { ...this.#part }
      : { ...this.#part, annotations: [...this.#annotations], logprobs: [...this.logprobs] };
  }

  addText(text: string): readonly unknown[] {
    const logprobs = this.#pendingLogprobs;
    this.#pendingLogprobs = [];
    this.#transcript.add(text);
    return logprobs;
  }

  addLogprobs(content: readonly unknown[]): void {
    for (const each of content) {
      this.#pendingLogprobs.push(each);
      this.logprobs.push(each);
    }
  }

  addAnnotation(annotation: Fields): number {
    return this.#annotations.push(annotation) - 1;
  }
}

/** Reasoning. Its item begins with the first text. All text goes into the parts of the summary. */
export interface OpenReasoning {
  readonly kind: 'reasoning';
  /** The provider's id for the item. Its sealed state is valid only with this id. */
  readonly ownId: string | undefined;
  /** The id and the index of the item, as soon as it has begun. */
  id: string;
  index: number;
  readonly summary: Fields[];
  /** The open part of the summary. */
  part: Transcript | undefined;
}

/** A tool call. It has no index until the encoder announces it to the client. */
export class OpenCall {
  readonly kind = 'call';
  readonly start: Start;
  text = '';
  deltas = 0;
  index: number | undefined;
  #id = '';
  #callId: string | undefined;
  #name: WireName;

  constructor(start: Start) {
    this.start = start;
    this.#name = { name: start.name ?? '' };
  }

  begin(index: number, response: string, name: WireName | undefined): void {
    this.index = index;
    this.#id = makeId(this.start.custom ? 'ctc' : 'fc', response, index);
    this.ensureCallId(response, index);
    this.#name = name ?? this.#name;
  }

  /** Returns the provider's id of the call. If there is none, makes one from the response and the index. */
  ensureCallId(response: string, index: number): string {
    return (this.#callId ??= this.start.id || makeId('call', response, index));
  }

  get place(): Fields {
    return { item_id: this.#id, output_index: this.index };
  }

  /** The fields of the event that ends the arguments. Older SDKs read the function's name from it. */
  get doneFields(): Fields {
    return this.start.custom
      ? { ...this.place, input: this.text }
      : { ...this.place, name: this.#name.name, arguments: this.text };
  }

  nameEvent(what: 'delta' | 'done'): string {
    return `response.${this.start.custom ? 'custom_tool_call_input' : 'function_call_arguments'}.${what}`;
  }

  toItem(status: string, text: string): Fields {
    const { custom } = this.start;
    const { name, namespace } = this.#name;
    return {
      id: this.#id,
      type: custom ? 'custom_tool_call' : 'function_call',
      status,
      call_id: this.#callId,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      [custom ? 'input' : 'arguments']: text,
    };
  }
}

/** A search, code, image or other tool that the provider ran itself. */
export interface OpenHosted {
  readonly kind: 'hosted';
  readonly start: Start;
  text: string;
}

export type OpenBlock = OpenPart | OpenReasoning | OpenCall | OpenHosted;

export class MessageEncoder {
  readonly #writer: ItemWriter;
  #message: OutputMessage | undefined;
  /** All parts with text, in order, and the number of their characters. */
  readonly #parts: OpenPart[] = [];
  #length = 0;
  hasRefusal = false;

  constructor(writer: ItemWriter) {
    this.#writer = writer;
  }

  /** Adds a part to the open message. If there is none, starts one with the fields of `head`. */
  startPart(isRefusal: boolean, head: Fields): OpenPart {
    this.#message ??= this.#startMessage(head);
    if (isRefusal) this.hasRefusal = true;
    const part = new OpenPart(this.#message, isRefusal, this.#length);
    if (!isRefusal) this.#parts.push(part);
    this.#message.open.add(part);
    this.#writer.emit('response.content_part.added', { ...part.place, part: part.toFields() });
    return part;
  }

  #startMessage(head: Fields): OutputMessage {
    const id = this.#writer.makeId('msg');
    const item = { ...head, id, type: 'message', status: 'in_progress', role: 'assistant' };
    const content: Fields[] = [];
    const index = this.#writer.add({ ...item, content }, { ...item, content: [] });
    return { index, id, content, item, open: new Set() };
  }

  addText(part: OpenPart, text: string): void {
    const logprobs = part.addText(text);
    this.#length += text.length;
    if (part.isRefusal) this.#writer.emit('response.refusal.delta', { ...part.place, delta: text });
    else this.#writer.emit('response.output_text.delta', { ...part.place, delta: text, logprobs });
  }

  addAnnotation(part: OpenPart, annotation: Annotation): void {
    if (part.isRefusal) return;
    if (annotation.start === undefined && !part.ended) part.pendingCitations.push(annotation);
    else this.#writeAnnotation(this.#findPart(annotation) ?? part, annotation);
  }

  /** Returns the part that holds the passage. Google's sources come at the end of the answer. */
  #findPart({ start }: Annotation): OpenPart | undefined {
    return start === undefined ? undefined : this.#parts.findLast(({ from }) => from <= start);
  }

  #writeAnnotation(part: OpenPart, annotation: Annotation): void {
    const wire = encodeAnnotation(annotation, [part.from, part.from + part.textLength], dialect);
    if (!wire)
      this.#writer.context.reportLoss?.(`annotations.${annotation.kind}`, 'responses only cites web pages');
    else
      this.#writer.emit('response.output_text.annotation.added', {
        ...part.place,
        annotation_index: part.addAnnotation(wire),
        annotation: wire,
      });
  }

  endPart(part: OpenPart): void {
    part.ended = true;
    this.#message?.open.delete(part);
    for (const annotation of part.pendingCitations) this.#writeAnnotation(part, annotation);
    const { isRefusal, logprobs, text } = part;
    if (isRefusal) this.#writer.emit('response.refusal.done', { ...part.place, refusal: text });
    else this.#writer.emit('response.output_text.done', { ...part.place, text, logprobs });
    this.#writer.emit('response.content_part.done', { ...part.place, part: part.toFields() });
  }

  endMessage(status: 'completed' | 'incomplete'): void {
    const message = this.#message;
    if (!message) return;
    for (const part of message.open) this.endPart(part);
    this.#message = undefined;
    this.#writer.finish(message.index, { ...message.item, status, content: message.content });
  }
}
