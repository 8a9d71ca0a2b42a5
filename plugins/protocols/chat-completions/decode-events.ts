/**
 * A vendor's reply to canonical events: chunk by chunk, or a whole completion taken as one chunk whose messages are
 * its deltas. It runs on every event of every stream, for metering if for nothing else, so the guards are written
 * out by hand and a chunk with a piece of text touches little more than that text.
 */
import {
  GatewayError,
  knownCount,
  type BlockKind,
  type CanonicalEvent,
  type ClientCall,
  type EventDecoder,
  type Model,
  type Opaque,
  type WireEvent,
} from '../../../core/index.ts';
import { parsed, cannotBeRead, canSkip } from '../../shared/wire-kit/event-data.ts';
import { servedMode } from '../../shared/wire-kit/modes.ts';
import { offeredOtherwise, type AskedTool } from '../../shared/wire-kit/offered-tools.ts';
import { errorEvent } from '../../shared/wire-kit/openai-error.ts';
import { Transcript } from '../../shared/wire-kit/transcript.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { readVendorError } from '../../shared/wire-kit/vendor-error.ts';
import { decodeAnnotation } from './annotations.ts';
import { bag } from './bag.ts';
import { decodeFinish } from './finish.ts';
import { readUrl } from './media.ts';
import { ChatCall } from './read-request.ts';
import { unsealed } from './reasoning.ts';
import { readEntries, readImages, readParts, relationOf, type OpenReasoning } from './reply-details.ts';
import { SilentEnd } from './reply-end.ts';
import { decodeStart } from './reply-start.ts';
import { soundType } from './sound.ts';
import { formerCall, ToolCalls } from './tool-calls.ts';
import { fitName } from './tool-names.ts';
import { decodeUsage, usageIn } from './usage.ts';

interface OpenBlock extends OpenReasoning {
  readonly block: number;
  readonly kind: BlockKind;
}

type BlockFacts = Pick<Extract<CanonicalEvent, { type: 'block-start' }>, 'id' | 'mediaType' | 'vendor'>;

interface Candidate {
  readonly index: number;
  calls: ToolCalls | undefined;
  open: OpenBlock | undefined;
  /** The latest block of text, which annotations hang on. */
  text: number | undefined;
  finished: boolean;
}

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #silentEnd: SilentEnd;
  /** What thoughts are given in place of a seal; a client of this protocol sends them back as it got them. */
  readonly #unsealed: readonly Opaque[];
  /** Where a choice has what it says: a chunk's in its delta, a whole reply's in its message. */
  #said: 'delta' | 'message' = 'delta';
  readonly #candidates = new Map<number, Candidate>();
  #events: CanonicalEvent[] = [];
  #blocks = 0;
  #started = false;
  #over = false;
  #reply = '';
  #asked: ReadonlyMap<string, AskedTool> | undefined;

  constructor(call: ClientCall, model?: Model) {
    this.#call = call;
    this.#silentEnd = new SilentEnd(call);
    this.#unsealed = model && !(call instanceof ChatCall) ? unsealed(model) : [];
  }

  push(wire: WireEvent): CanonicalEvent[] {
    this.#events = [];
    if (this.#over) return this.#events;
    if (wire.data === '[DONE]') this.#end(this.#finishAll(this.#silentEnd.isMarked));
    else this.#take(parsed(wire.data), wire);
    return this.#events;
  }

  end(): CanonicalEvent[] {
    this.#events = [];
    if (!this.#over)
      this.#end(
        [...this.#candidates.values()].filter(({ finished }) => finished).length >= this.#call.candidates,
      );
    return this.#events;
  }

  /** A whole completion at once. Throws where it is none. */
  whole(body: unknown): CanonicalEvent[] {
    const choices: unknown = isObject(body) ? body.choices : undefined;
    if (!isObject(body) || !(Array.isArray(choices) || body.error)) {
      throw new GatewayError('upstream_failed', 'The provider sent a reply that is no chat completion.');
    }
    this.#events = [];
    this.#said = 'message';
    this.#take(body);
    if (!this.#over) this.#end(this.#finishAll(true));
    return this.#events;
  }

  #take(chunk: unknown, wire?: WireEvent): void {
    if (!isObject(chunk))
      return wire && canSkip(wire)
        ? void this.#events.push(this.#silentEnd.lose())
        : this.#fail({ message: cannotBeRead });
    const [choices, usage] = [chunk.choices, usageIn(chunk)];
    const error = chunk.error ?? (wire?.event === 'error' ? chunk : undefined);
    if (!this.#started && (error === undefined || error === null)) this.#start(chunk);
    if (Array.isArray(choices)) {
      if (choices.length > 0) this.#silentEnd.isMarked = false;
      for (const [position, choice] of choices.entries())
        if (isObject(choice)) this.#choose(choice, position);
    }
    if (usage && !this.#over) this.#count(usage, chunk);
    if (error !== undefined && error !== null) this.#fail(isObject(error) ? error : { message: error });
  }

  #start(chunk: Fields): void {
    const start = decodeStart(chunk);
    this.#started = true;
    this.#reply = JSON.stringify([chunk.id, start.created]);
    this.#events.push(start);
  }

  #choose(choice: Fields, position: number): void {
    const { index, finish_reason: reason, logprobs } = choice;
    const delta = choice[this.#said];
    const candidate = this.#candidate(knownCount(index) ?? position);
    if (isObject(delta)) this.#read(candidate, delta, logprobs);
    if (isObject(choice.error)) this.#fail(choice.error);
    // Azure leaves the message out of a choice that it filtered.
    else if (this.#said === 'message' && !isObject(delta) && reason !== 'content_filter')
      this.#fail({ message: 'The provider sent a choice without a message.' });
    else if (typeof reason === 'string' && reason !== '' && !candidate.finished)
      this.#finish(candidate, reason);
  }

  #candidate(index: number): Candidate {
    const known = this.#candidates.get(index);
    if (known) return known;
    const candidate: Candidate = {
      index,
      calls: undefined,
      open: undefined,
      text: undefined,
      finished: false,
    };
    this.#candidates.set(index, candidate);
    return candidate;
  }

  #toolCalls(candidate: number): ToolCalls {
    return new ToolCalls({
      candidate,
      nextBlock: () => this.#nextBlock(),
      emit: (event) => void this.#events.push(event),
      reply: () => this.#reply,
      asked: (name) => this.#askedTools().get(name),
    });
  }

  #nextBlock(): number {
    this.#blocks += 1;
    return this.#blocks - 1;
  }

  /** Tools that had to be offered otherwise than the client, of another protocol, asked for them. */
  #askedTools(): ReadonlyMap<string, AskedTool> {
    this.#asked ??=
      this.#call instanceof ChatCall ? new Map() : offeredOtherwise(this.#call.decode().tools ?? [], fitName);
    return this.#asked;
  }

  #read(candidate: Candidate, delta: Fields, logprobs: unknown): void {
    const { content, refusal, tool_calls: calls, function_call: former, reasoning_details: details } = delta;
    if (!(Array.isArray(details) && this.#readDetails(candidate, details)))
      this.#reason(candidate, delta.reasoning_content ?? delta.reasoning);
    if (isObject(logprobs)) this.#weigh(candidate, logprobs);
    if (typeof content === 'string') this.#say(candidate, 'text', content);
    else if (Array.isArray(content)) this.#readParts(candidate, content);
    // Behind the text they stand in: a whole message has both at once.
    if (Array.isArray(delta.annotations)) this.#annotate(candidate, delta.annotations);
    if (typeof refusal === 'string') this.#say(candidate, 'refusal', refusal);
    if (isObject(delta.audio)) this.#hear(candidate, delta.audio);
    if (Array.isArray(delta.images)) this.#see(candidate, delta.images);
    const fragments: unknown[] = Array.isArray(calls) ? calls : formerCall(former);
    if (fragments.length === 0) return;
    this.#close(candidate);
    candidate.calls ??= this.#toolCalls(candidate.index);
    for (const [position, fragment] of fragments.entries())
      if (isObject(fragment)) candidate.calls.take(fragment, position);
  }

  #say(candidate: Candidate, kind: BlockKind, text: string): void {
    if (text === '') return;
    const { block } = candidate.open?.kind === kind ? candidate.open : this.#open(candidate, kind);
    this.#events.push({ type: 'block-delta', candidate: candidate.index, block, text });
  }

  #open(candidate: Candidate, kind: BlockKind, facts: BlockFacts = {}): OpenBlock {
    this.#close(candidate);
    const block = this.#nextBlock();
    const open: OpenBlock = {
      block,
      kind,
      said: kind === 'reasoning' ? new Transcript() : undefined,
      entry: undefined,
      opaque: [],
    };
    candidate.open = open;
    if (kind === 'text') candidate.text = block;
    this.#events.push({ type: 'block-start', candidate: candidate.index, block, kind, ...facts });
    return open;
  }

  #close(candidate: Candidate): void {
    const { open } = candidate;
    if (!open) return;
    candidate.open = undefined;
    const opaque = open.kind === 'reasoning' && open.opaque.length === 0 ? this.#unsealed : open.opaque;
    this.#events.push({
      type: 'block-end',
      candidate: candidate.index,
      block: open.block,
      ...(opaque.length > 0 ? { opaque: [...opaque] } : {}),
    });
  }

  /** Text of reasoning; behind a seal it belongs to another block. */
  #reason(candidate: Candidate, text: unknown): void {
    if (typeof text !== 'string' || text === '') return;
    const { open } = candidate;
    const current =
      open?.kind === 'reasoning' && open.opaque.length === 0 ? open : this.#open(candidate, 'reasoning');
    current.said?.add(text);
    this.#say(candidate, 'reasoning', text);
  }

  /** Returns whether the entries held text: then the plain field beside them says the same again. */
  #readDetails(candidate: Candidate, details: readonly unknown[]): boolean {
    const { entries, hasText } = readEntries(details);
    for (const entry of entries) {
      const open = candidate.open?.kind === 'reasoning' ? candidate.open : undefined;
      const relation = relationOf(entry, open);
      const current = open && relation !== 'begins' ? open : this.#open(candidate, 'reasoning');
      current.entry ??= entry.index;
      if (relation !== 'repeats') this.#reason(candidate, entry.text);
      for (const state of entry.opaque) current.opaque.push(state);
    }
    return hasText;
  }

  #readParts(candidate: Candidate, parts: readonly unknown[]): void {
    for (const [kind, text] of readParts(parts)) {
      if (kind === 'text') this.#say(candidate, kind, text);
      else this.#reason(candidate, text);
    }
  }

  #annotate(candidate: Candidate, annotations: readonly unknown[]): void {
    for (const wire of annotations) {
      if (!isObject(wire)) continue;
      const block = candidate.text ?? this.#open(candidate, 'text').block;
      this.#events.push({
        type: 'annotation',
        candidate: candidate.index,
        block,
        annotation: decodeAnnotation(wire),
      });
    }
  }

  /** Log probabilities stand before the text they belong to. */
  #weigh(candidate: Candidate, logprobs: Fields): void {
    for (const [field, kind] of [
      ['content', 'text'],
      ['refusal', 'refusal'],
    ] as const) {
      const content: unknown = logprobs[field];
      if (!Array.isArray(content) || content.length === 0) continue;
      const { block } = candidate.open?.kind === kind ? candidate.open : this.#open(candidate, kind);
      this.#events.push({ type: 'logprobs', candidate: candidate.index, block, content });
    }
  }

  #hear(candidate: Candidate, { id, data, ...rest }: Fields): void {
    const facts = { ...(typeof id === 'string' ? { id } : {}), mediaType: soundType(this.#call) };
    const { block } =
      candidate.open?.kind === 'audio' ? candidate.open : this.#open(candidate, 'audio', facts);
    this.#events.push({
      type: 'block-delta',
      candidate: candidate.index,
      block,
      text: typeof data === 'string' ? data : '',
      ...bag.keep(rest),
    });
  }

  #see(candidate: Candidate, images: readonly unknown[]): void {
    for (const url of readImages(images)) {
      const { source, mediaType } = readUrl(url);
      const { block } = this.#open(
        candidate,
        'image',
        source.type === 'url' ? bag.keep({ url }) : { mediaType },
      );
      if (source.type === 'base64')
        this.#events.push({ type: 'block-delta', candidate: candidate.index, block, text: source.data });
      this.#close(candidate);
    }
  }

  #count(usage: Fields, { service_tier: tier }: Fields): void {
    const counted = decodeUsage(usage);
    this.#silentEnd.count(counted);
    if (counted)
      this.#events.push({
        type: 'usage',
        usage: { ...counted, ...servedMode({ service_tier: tier }, this.#call) },
      });
  }

  /** Whether every candidate has finished; `whole`: nothing is missing, though the vendor gave no reason for the end. */
  #finishAll(whole: boolean): boolean {
    let all = true;
    for (const candidate of this.#candidates.values()) {
      const isSound = this.#said === 'message' || (candidate.calls?.whole ?? true);
      if (!candidate.finished && whole && this.#blocks > 0 && isSound)
        this.#finish(candidate, this.#silentEnd.reason);
      all &&= candidate.finished;
    }
    return all;
  }

  #finish(candidate: Candidate, raw: string): void {
    this.#close(candidate);
    const isTorn = this.#silentEnd.isLost && candidate.calls?.whole === false;
    candidate.calls?.end();
    const unified = decodeFinish(raw, candidate.calls?.any ?? false);
    if (unified === 'error') return this.#fail({ message: `The provider ended its reply with "${raw}".` });
    if (isTorn || (this.#silentEnd.isLost && unified === 'tool-calls' && !candidate.calls?.any))
      return this.#fail({ message: cannotBeRead });
    candidate.finished = true;
    this.#events.push({ type: 'finish', candidate: candidate.index, reason: { unified, raw } });
  }

  #fail(error: Fields): void {
    if (this.#over) return;
    this.#over = true;
    this.#events.push(errorEvent(readVendorError({ error })));
  }

  #end(complete: boolean): void {
    this.#over = true;
    for (const candidate of this.#candidates.values()) {
      this.#close(candidate);
      candidate.calls?.end();
    }
    if (complete && this.#candidates.size > 0) this.#events.push({ type: 'response-end' });
  }
}
