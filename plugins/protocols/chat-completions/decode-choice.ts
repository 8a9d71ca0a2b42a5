/**
 * Turns the deltas of one choice into the events that open, fill and close the blocks of one candidate. For a
 * reply that is not streamed, the message is a single delta.
 */
import type { BlockKind, Opaque } from '../../../core/index.ts';
import { readUrl } from '../../shared/wire-kit/media.ts';
import type { BlockFacts } from '../../shared/wire-kit/reply-log.ts';
import { Transcript } from '../../shared/wire-kit/transcript.ts';
import { readObject, readObjects } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { decodeAnnotation } from './annotations.ts';
import { bag } from './bag.ts';
import { RepeatedStart } from './continued.ts';
import { readDetail, type Detail } from './reasoning.ts';
import { readFunctionCall, ToolCalls, type ReplySink } from './tool-calls.ts';

interface OpenBlock {
  readonly block: number;
  readonly kind: BlockKind;
  /** The text of reasoning so far. */
  readonly transcript: Transcript | undefined;
  /** The index of the entry that reasoning comes from. */
  entry: unknown;
  readonly opaque: Opaque[];
}

export class ChoiceDecoder {
  readonly index: number;
  readonly #reply: ReplySink;
  readonly #calls: ToolCalls;
  readonly #repeated: RepeatedStart;
  #open: OpenBlock | undefined;
  /** The latest text block, which annotations belong to. */
  #text: number | undefined;
  isFinished = false;

  constructor(index: number, reply: ReplySink) {
    this.index = index;
    this.#reply = reply;
    this.#calls = new ToolCalls(index, reply);
    this.#repeated = new RepeatedStart(reply.continued);
  }

  get hasCalls(): boolean {
    return this.#calls.any;
  }

  /** Whether the arguments of every tool call are complete. */
  get isWhole(): boolean {
    return this.#calls.whole;
  }

  read(delta: Fields, logprobs: unknown): void {
    const { content, refusal, tool_calls: calls, reasoning_details: details } = delta;
    if (!(Array.isArray(details) && this.#readDetails(details)))
      this.#addReasoning(delta.reasoning_content ?? delta.reasoning);
    if (isObject(logprobs)) this.#readLogprobs(logprobs);
    if (typeof content === 'string') this.#addContent(content);
    else if (Array.isArray(content)) this.#readParts(content);
    // A message that is not streamed holds both: read annotations after the text that they annotate.
    if (Array.isArray(delta.annotations)) this.#readAnnotations(delta.annotations);
    if (typeof refusal === 'string') this.#addText('refusal', refusal);
    if (isObject(delta.audio)) this.#readAudio(delta.audio);
    if (Array.isArray(delta.images)) this.#readImages(delta.images);
    const fragments: unknown[] = Array.isArray(calls) ? calls : readFunctionCall(delta.function_call);
    if (fragments.length === 0) return;
    this.#close();
    for (const [position, fragment] of fragments.entries())
      if (isObject(fragment)) this.#calls.take(fragment, position);
  }

  end(): void {
    this.#addText('text', this.#repeated.takeHeld());
    this.#close();
    this.#calls.end();
  }

  #addContent(text: string): void {
    this.#addText('text', this.#repeated.remove(text));
  }

  #addText(kind: BlockKind, text: string): void {
    if (text !== '') this.#reply.log.addText(this.index, this.#ensureBlock(kind), text);
  }

  /** Returns the open block if it is of this kind; otherwise opens a new one. */
  #ensureBlock(kind: BlockKind, facts?: BlockFacts): number {
    return (this.#open?.kind === kind ? this.#open : this.#start(kind, facts)).block;
  }

  #start(kind: BlockKind, facts?: BlockFacts): OpenBlock {
    this.#close();
    const block = this.#reply.log.startBlock(this.index, kind, facts);
    const transcript = kind === 'reasoning' ? new Transcript() : undefined;
    const open: OpenBlock = { block, kind, transcript, entry: undefined, opaque: [] };
    this.#open = open;
    if (kind === 'text') this.#text = block;
    return open;
  }

  #close(): void {
    const open = this.#open;
    if (!open) return;
    this.#open = undefined;
    const isUnsealed = open.kind === 'reasoning' && open.opaque.length === 0;
    this.#reply.log.endBlock(this.index, open.block, isUnsealed ? this.#reply.unsealed : open.opaque);
  }

  /** A seal ends a block of reasoning: text after it starts a new block. */
  #addReasoning(text: unknown): void {
    if (typeof text !== 'string' || text === '') return;
    const isOpen = this.#open?.kind === 'reasoning' && this.#open.opaque.length === 0;
    const open = isOpen && this.#open ? this.#open : this.#start('reasoning');
    open.transcript?.add(text);
    this.#addText('reasoning', text);
  }

  /** Returns whether the entries held text. If they did, the plain reasoning field repeats it. */
  #readDetails(details: readonly unknown[]): boolean {
    const { entries, hasText } = readEntries(details);
    for (const entry of entries) {
      const open = this.#open?.kind === 'reasoning' ? this.#open : undefined;
      const relation = compareEntry(entry, open);
      const current = open && relation !== 'begins' ? open : this.#start('reasoning');
      current.entry ??= entry.index;
      if (relation !== 'repeats') this.#addReasoning(entry.text);
      for (const state of entry.opaque) current.opaque.push(state);
    }
    return hasText;
  }

  #readParts(parts: readonly unknown[]): void {
    for (const [kind, text] of readParts(parts)) {
      if (kind === 'text') this.#addContent(text);
      else this.#addReasoning(text);
    }
  }

  #readAnnotations(annotations: readonly unknown[]): void {
    for (const wire of annotations.filter(isObject)) {
      const block = this.#text ?? this.#start('text').block;
      const annotation = decodeAnnotation(wire);
      this.#reply.log.emit({ type: 'annotation', candidate: this.index, block, annotation });
    }
  }

  /** Log probabilities are emitted before their text. */
  #readLogprobs(logprobs: Fields): void {
    for (const [field, kind] of [
      ['content', 'text'],
      ['refusal', 'refusal'],
    ] as const) {
      const content: unknown = logprobs[field];
      if (!Array.isArray(content) || content.length === 0) continue;
      const block = this.#ensureBlock(kind);
      this.#reply.log.emit({ type: 'logprobs', candidate: this.index, block, content });
    }
  }

  #readAudio({ id, data, ...rest }: Fields): void {
    const { soundType: mediaType } = this.#reply;
    const block = this.#ensureBlock('audio', typeof id === 'string' ? { id, mediaType } : { mediaType });
    const text = typeof data === 'string' ? data : '';
    this.#reply.log.emit({ type: 'block-delta', candidate: this.index, block, text, ...bag.keep(rest) });
  }

  #readImages(images: readonly unknown[]): void {
    for (const url of readImages(images)) {
      const { source, mediaType } = readUrl(url);
      this.#start('image', source.type === 'url' ? { url } : { mediaType });
      if (source.type === 'base64') this.#addText('image', source.data);
      this.#close();
    }
  }
}

interface Entry extends Pick<Detail, 'text' | 'opaque'> {
  readonly index: unknown;
  /** Whether any entry of the same delta holds sealed state. */
  readonly isSealing: boolean;
}

/** Returns the entries with text or sealed state, and whether any has text. */
function readEntries(details: readonly unknown[]): {
  readonly entries: readonly Entry[];
  readonly hasText: boolean;
} {
  const all = readObjects(details).map((entry) => ({
    ...readDetail(entry),
    index: entry.index ?? undefined,
  }));
  const isSealing = all.some(({ opaque }) => opaque.length > 0);
  const entries = all.filter(({ text, opaque }) => text !== '' || opaque.length > 0);
  return {
    entries: entries.map((entry) => ({ ...entry, isSealing })),
    hasText: all.some(({ text }) => text !== ''),
  };
}

/** Tells how an entry relates to the open block. A provider may repeat the block's entire text to seal it. */
function compareEntry(
  { text, index, isSealing }: Entry,
  open: OpenBlock | undefined,
): 'begins' | 'continues' | 'repeats' {
  if (!open || (index !== undefined && open.entry !== undefined && open.entry !== index)) return 'begins';
  if (isSealing && text === open.transcript?.text) return 'repeats';
  return text === '' || open.opaque.length === 0 ? 'continues' : 'begins';
}

/** Reads content that comes in parts. Mistral sends parts if the content holds reasoning. */
export function* readParts(
  parts: readonly unknown[],
): Generator<readonly [kind: 'text' | 'reasoning', text: string]> {
  for (const { text, thinking } of readObjects(parts)) {
    if (typeof text === 'string') yield ['text', text];
    for (const thought of readObjects(thinking))
      if (typeof thought.text === 'string') yield ['reasoning', thought.text];
  }
}

/** Reads the URLs in OpenRouter's `images`. */
function* readImages(images: readonly unknown[]): Generator<string> {
  for (const image of readObjects(images)) {
    const { url } = readObject(image.image_url);
    if (typeof url === 'string') yield url;
  }
}
