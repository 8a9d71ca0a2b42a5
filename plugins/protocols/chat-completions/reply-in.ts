/**
 * Turns a provider's reply into canonical events, chunk by chunk. A completion that is not streamed is read
 * as one chunk, with its messages as deltas. Every event of every stream passes through here, if only to be
 * metered, so the checks are written by hand for speed.
 */
import {
  GatewayError,
  toCount,
  type CanonicalEvent,
  type ClientCall,
  type EventDecoder,
  type Model,
  type WireEvent,
  type BlockKind,
  type Opaque,
} from '../../../core/index.ts';
import { chatFlags } from '../../shared/openai/chat-flags.ts';
import { decodeAnnotation } from '../../shared/openai/citations.ts';
import { buildErrorEvent } from '../../shared/openai/errors.ts';
import { readUrl } from '../../shared/openai/media.ts';
import { fitName } from '../../shared/openai/tools.ts';
import { isError, readVendorError } from '../../shared/vendors/errors.ts';
import { readFinish, readWord } from '../../shared/vendors/finish-reason.ts';
import { parseJson, unreadableEvent } from '../../shared/wire-kit/event-data.ts';
import { readServedMode } from '../../shared/wire-kit/modes.ts';
import { createToolFinder } from '../../shared/wire-kit/offered-tools.ts';
import { ReplyLog, type BlockFacts } from '../../shared/wire-kit/reply-log.ts';
import { Transcript } from '../../shared/wire-kit/transcript.ts';
import { readObject, readObjects } from '../../shared/wire-kit/values.ts';
import { isObject, splitNames, pickStated, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { ChatCall } from './call.ts';
import { type ReplySink, readFunctionCall, ToolCalls } from './calls.ts';
import { bag, defaultSound, dialect } from './encoding.ts';
import { markUnsealed, readDetail, type Detail } from './reasoning.ts';
import { decodeFinish, decodeUsage, findUsage, readParts } from './reply-facts.ts';

/** OpenAI's padding hides the length of the text. It is the last member and differs in each chunk. */
export const padding = /(?<="obfuscation":")[^"\\]*"\}$/;

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #sink: ReplySink;
  /** The field of a choice that holds its content: `delta` in a chunk, `message` in a JSON reply. */
  #contentField: 'delta' | 'message' = 'delta';
  readonly #choices = new Map<number, ChoiceDecoder>();
  readonly #log = new ReplyLog();
  #started = false;
  /** The reply's id and time. Missing call ids are derived from them. */
  #identity: readonly unknown[] = [];
  /** Output tokens so far. */
  #output = 0;
  /** Whether usage came with or after the latest content, as it does at the end of a reply. */
  #endsWithUsage = false;
  /** Whether an unreadable event was skipped. It may have held a finish reason, so usage proves no end. */
  #hasGap = false;

  constructor(call: ClientCall, model?: Model) {
    this.#call = call;
    // Clients of this protocol send reasoning back as they received it, so it needs no seal.
    const unsealed = model && !(call instanceof ChatCall) ? markUnsealed(model) : [];
    this.#sink = {
      log: this.#log,
      unsealed,
      soundType: findSoundType(call),
      continued: model && !(call instanceof ChatCall) ? findContinued(call, model) : '',
      replyId: () => JSON.stringify(this.#identity),
      findTool: createToolFinder(call, call instanceof ChatCall, fitName),
    };
  }

  push(wire: WireEvent): CanonicalEvent[] {
    if (this.#log.isOver) return [];
    if (wire.data === '[DONE]') this.#end(this.#finishAll(this.#endsWithUsage));
    else this.#readChunk(parseJson(wire.data), wire);
    return this.#log.take();
  }

  end(): CanonicalEvent[] {
    const finished = [...this.#choices.values()].filter(({ isFinished }) => isFinished).length;
    if (!this.#log.isOver) this.#end(finished >= this.#call.candidates);
    return this.#log.take();
  }

  /** Reads a completion that is not streamed. Throws if the body is not one. */
  decodeWhole(body: unknown): CanonicalEvent[] {
    if (isError(body) && !(isObject(body) && Array.isArray(body.choices))) {
      this.#fail(body);
      return this.#log.take();
    }
    if (!isObject(body) || !Array.isArray(body.choices))
      throw new GatewayError('upstream_failed', 'The provider sent a reply that is not a chat completion.');
    this.#contentField = 'message';
    this.#readChunk(body);
    if (!this.#log.isOver) this.#end(this.#finishAll(true));
    return this.#log.take();
  }

  #readChunk(chunk: unknown, wire?: WireEvent): void {
    if (!isObject(chunk)) return isError(chunk) ? this.#fail(chunk) : this.#skip(wire);
    const { choices } = chunk;
    const usage = findUsage(chunk);
    const hasFailed = isError(chunk, wire?.event);
    if (!this.#started && !hasFailed) this.#start(chunk);
    if (Array.isArray(choices)) {
      if (choices.length > 0) this.#endsWithUsage = false;
      choices.forEach((choice: unknown, position) => {
        if (isObject(choice) && !this.#log.isOver) this.#readChoice(choice, position, hasFailed);
      });
    }
    if (usage && !this.#log.isOver) this.#readUsage(usage, chunk);
    if (hasFailed) this.#fail(chunk);
  }

  #skip(wire: WireEvent | undefined): void {
    if (wire && this.#log.skip(wire)) this.#hasGap = true;
    else this.#fail({ error: unreadableEvent });
  }

  #start(chunk: Fields): void {
    const { id, model } = chunk;
    const created = toCount(chunk.created);
    this.#started = true;
    this.#identity = [id, created];
    this.#log.begin(id, model, created, bag.keep(pickStated(chunk, chunkFields)));
  }

  /** `hasFailed`: an error came with the choice, and says more than the choice's reason. */
  #readChoice(wire: Fields, position: number, hasFailed: boolean): void {
    const { index, finish_reason: reason, logprobs } = wire;
    const content = wire[this.#contentField];
    const word = readWord(reason);
    const choice = this.#ensureChoice(toCount(index) ?? position);
    if (isObject(content)) choice.read(content, logprobs);
    if (hasFailed) return;
    // Azure omits the message of a choice that its content filter removed.
    if (this.#contentField === 'message' && !isObject(content) && reason !== 'content_filter')
      this.#fail({ error: 'it sent a choice without a message.' });
    else if (word !== undefined && !choice.isFinished) this.#finish(choice, word);
  }

  #ensureChoice(index: number): ChoiceDecoder {
    const known = this.#choices.get(index);
    if (known) return known;
    const choice = new ChoiceDecoder(index, this.#sink);
    this.#choices.set(index, choice);
    return choice;
  }

  #readUsage(usage: Fields, { service_tier }: Fields): void {
    const counted = decodeUsage(usage);
    this.#endsWithUsage = counted !== undefined && !this.#hasGap;
    if (!counted) return;
    this.#output = counted.output ?? this.#output;
    this.#log.emit({
      type: 'usage',
      usage: Object.assign(counted, readServedMode({ service_tier }, this.#call)),
    });
  }

  /**
   * Returns whether every choice has finished. `whole` tells that the reply reached its end: a choice that
   * lacks only its finish reason then gets one.
   */
  #finishAll(whole: boolean): boolean {
    let all = true;
    for (const choice of this.#choices.values()) {
      const isWhole = this.#contentField === 'message' || choice.isWhole;
      if (!choice.isFinished && !this.#log.isOver && whole && this.#log.blocks > 0 && isWhole)
        this.#finish(choice, this.#guessReason());
      all &&= choice.isFinished;
    }
    return all;
  }

  /** If the output is as long as its limit, assumes that the limit cut the reply. */
  #guessReason(): 'length' | 'stop' {
    const { outputLimit = Infinity, candidates } = this.#call;
    return candidates === 1 && this.#output >= outputLimit ? 'length' : 'stop';
  }

  #finish(choice: ChoiceDecoder, raw: string): void {
    // Clients run a call when it ends, so the calls of a failed reply do not end.
    if (readFinish(raw) === 'error') return this.#fail({ error: `it ended with "${raw}".` });
    // Read before `end`, which closes the choice's calls.
    const isTorn = this.#hasGap && !choice.isWhole;
    choice.end();
    const { hasCalls: any, index } = choice;
    const unified = decodeFinish(raw, { any, cut: this.#log.isCut(index) });
    if (isTorn || (this.#hasGap && !any && readFinish(raw) === 'tool-calls'))
      return this.#fail({ error: unreadableEvent });
    choice.isFinished = true;
    this.#log.emit({ type: 'finish', candidate: index, reason: { unified, raw } });
  }

  #fail(body: unknown): void {
    this.#log.fail(buildErrorEvent(readVendorError(body)));
  }

  #end(whole: boolean): void {
    const isComplete = whole && this.#choices.size > 0;
    if (isComplete) for (const choice of this.#choices.values()) choice.end();
    this.#log.end(isComplete);
  }
}

/** Fields that are read elsewhere, and fields about the operator's account, which clients must not see. */
const chunkFields = splitNames(`
  id object created model choices usage error obfuscation x_groq provider usage_breakdown
`);

interface OpenBlock {
  readonly block: number;
  readonly kind: BlockKind;
  /** The text of reasoning so far. */
  readonly transcript: Transcript | undefined;
  /** The index of the entry that reasoning comes from. */
  entry: unknown;
  readonly opaque: Opaque[];
}

class ChoiceDecoder {
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
      this.#reply.log.cite(this.index, block, decodeAnnotation(wire, dialect));
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
      this.#reply.log.addLogprobs(this.index, this.#ensureBlock(kind), content);
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

/** Reads the URLs in OpenRouter's `images`. */
function* readImages(images: readonly unknown[]): Generator<string> {
  for (const image of readObjects(images)) {
    const { url } = readObject(image.image_url);
    if (typeof url === 'string') yield url;
  }
}

/** The answer that the model repeats; empty if there is none. */
function findContinued(call: ClientCall, model: Model): string {
  if (!chatFlags(model.capabilities).prefix) return '';
  const last = call.decode().turns.at(-1);
  const texts = last?.role === 'assistant' ? last.blocks.filter(({ type }) => type === 'text') : [];
  return texts.map((block) => ('text' in block ? block.text : '')).join('');
}

/** Removes a repeated answer from the start of a text that comes in pieces. */
class RepeatedStart {
  #rest: string;
  #held = '';

  constructor(start: string) {
    this.#rest = start;
  }

  /** Returns what follows the repeated answer, and all of the text if it does not begin with it. */
  remove(piece: string): string {
    if (this.#rest === '') return piece;
    if (piece.startsWith(this.#rest)) {
      const length = this.#rest.length;
      this.#rest = this.#held = '';
      return piece.slice(length);
    }
    this.#held += piece;
    if (!this.#rest.startsWith(piece)) return this.takeHeld();
    this.#rest = this.#rest.slice(piece.length);
    return '';
  }

  /** Returns the text that was held because it might have been a repeated answer. */
  takeHeld(): string {
    const held = this.#held;
    this.#rest = this.#held = '';
    return held;
  }
}

const soundTypes: ReadonlyMap<string, string> = new Map([
  ['mp3', 'audio/mpeg'],
  ['pcm16', 'audio/L16;codec=pcm;rate=24000'],
]);

/** Returns the media type of a reply's audio, by the requested format, or undefined if none was requested. */
function findSoundType(call: ClientCall): string | undefined {
  const format = call instanceof ChatCall ? call.soundFormat : defaultSound.format;
  return format === undefined ? undefined : (soundTypes.get(format) ?? `audio/${format}`);
}
