/**
 * Encodes canonical text and refusals as the message items of a response. Consecutive blocks become parts of
 * one message, until an item of another type begins.
 */
import type { ReplyContext, Annotation } from '../../../core/index.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { encodeAnnotation } from './annotations.ts';
import type { ItemWriter } from './item-writer.ts';
import { OpenPart, type OutputMessage } from './open-blocks.ts';

export class MessageEncoder {
  readonly #writer: ItemWriter;
  readonly #context: ReplyContext;
  #message: OutputMessage | undefined;
  /** All parts with text, in order, and the number of their characters. */
  readonly #parts: OpenPart[] = [];
  #length = 0;
  hasRefusal = false;

  constructor(writer: ItemWriter, context: ReplyContext) {
    this.#writer = writer;
    this.#context = context;
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
    const wire = encodeAnnotation(annotation, part.from, part.from + part.textLength);
    if (!wire) this.#context.reportLoss?.(`annotations.${annotation.kind}`, 'responses only cites web pages');
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
