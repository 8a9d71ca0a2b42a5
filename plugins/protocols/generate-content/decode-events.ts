/**
 * A vendor's reply to canonical events: chunk by chunk, or a whole reply taken as one chunk. Each chunk holds new parts
 * only; blocks end where a part of another kind begins. It runs on every event of every stream, for metering if for
 * nothing else, so the guards are written out by hand.
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
import { codeResult } from '../../shared/wire-kit/hosted-tools.ts';
import { servedMode } from '../../shared/wire-kit/modes.ts';
import { offeredOtherwise, type AskedTool } from '../../shared/wire-kit/offered-tools.ts';
import { longestCited, Transcript } from '../../shared/wire-kit/transcript.ts';
import { isObject, leftover, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { streamError } from './errors.ts';
import { decodeFinish } from './finish.ts';
import { FunctionCalls } from './function-calls.ts';
import { decodeCitations, decodeGrounding, mostParts, Searches, type Answer } from './grounding.ts';
import { decodeLogprobs } from './logprobs.ts';
import { GenerateCall } from './read-request.ts';
import { isSamples, Samples } from './samples.ts';
import { readSignature } from './signature.ts';
import { fitName } from './tool-names.ts';
import { counters, decodeUsage } from './usage.ts';

interface OpenBlock {
  readonly block: number;
  readonly kind: BlockKind;
  readonly mediaType: string | undefined;
  readonly opaque: Opaque[];
  readonly samples: Samples;
}

interface Candidate {
  readonly index: number;
  readonly calls: FunctionCalls;
  open: OpenBlock | undefined;
  /** The latest block of text, which annotations hang on. */
  text: number | undefined;
  readonly answer: Answer;
  /** What was said of the candidate beside its parts. */
  readonly extras: Record<string, unknown>;
  reason: string | undefined;
  finished: boolean;
}

const chunkFields = new Set([
  'candidates',
  'usageMetadata',
  'modelVersion',
  'responseId',
  'promptFeedback',
  'error',
]);
const candidateFields = new Set(['content', 'index', 'finishReason', 'logprobsResult']);

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #candidates = new Map<number, Candidate>();
  readonly #searches: Searches;
  #events: CanonicalEvent[] = [];
  #blocks = 0;
  #started = false;
  #over = false;
  #blocked = false;
  #reply = '';
  #counted = '';
  #offered: ReadonlyMap<string, AskedTool> | undefined;

  constructor(call: ClientCall, model?: Model) {
    this.#searches = new Searches(model?.capabilities.searchesBilled === 'once');
    this.#call = call;
  }

  push(wire: WireEvent): CanonicalEvent[] {
    this.#events = [];
    if (!this.#over) this.#take(parsed(wire.data), wire);
    return this.#events;
  }

  end(): CanonicalEvent[] {
    this.#events = [];
    if (!this.#over) this.#end(this.#call.candidates);
    return this.#events;
  }

  /** A whole reply at once, or the chunks of one in an array. Throws where it is none. */
  whole(body: unknown): CanonicalEvent[] {
    const chunks: unknown[] = Array.isArray(body) ? body : [body];
    const told = chunks.some(
      (chunk) => isObject(chunk) && (chunk.candidates ?? chunk.promptFeedback ?? chunk.error),
    );
    if (!told)
      throw new GatewayError('upstream_failed', 'The provider sent a reply that holds no candidates.');
    this.#events = [];
    for (const chunk of chunks) if (!this.#over) this.#take(chunk);
    if (!this.#over && !Array.isArray(body)) this.#stopAll();
    if (!this.#over) this.#end(1);
    return this.#events;
  }

  #take(chunk: unknown, wire?: WireEvent): void {
    if (!isObject(chunk))
      return wire && canSkip(wire)
        ? void this.#events.push({ type: 'unreadable' })
        : this.#fail({ message: cannotBeRead });
    const { candidates, usageMetadata: usage, promptFeedback: feedback, error } = chunk;
    if (isObject(error)) return this.#fail(error);
    if (!this.#started) this.#start(chunk);
    if (Array.isArray(candidates))
      for (const candidate of candidates)
        if (isObject(candidate)) this.#searches.note(candidate.groundingMetadata);
    if (isObject(usage)) this.#count(usage);
    if (Array.isArray(candidates))
      for (const [place, candidate] of candidates.entries())
        if (isObject(candidate)) this.#read(candidate, place);
    if (isObject(feedback) && feedback.blockReason) this.#block(feedback);
  }

  #start(chunk: Fields): void {
    const { responseId: id, modelVersion: model } = chunk;
    this.#started = true;
    this.#reply = `${String(id)} ${String(chunk.createTime)}`;
    this.#events.push({
      type: 'response-start',
      ...(typeof id === 'string' ? { id } : {}),
      ...(typeof model === 'string' ? { model } : {}),
      ...bag.keep(leftover(chunk, chunkFields)),
    });
  }

  #count(wire: Fields): void {
    const counted =
      this.#searches.count > 0
        ? { ...decodeUsage(wire), webSearches: this.#searches.count }
        : decodeUsage(wire);
    const usage = counted && { ...counted, ...servedMode({ serviceTier: wire.serviceTier }, this.#call) };
    const told = JSON.stringify(usage);
    if (!usage || told === this.#counted) return;
    this.#counted = told;
    this.#events.push({ type: 'usage', usage, ...bag.keep(leftover(wire, counters)) });
  }

  #candidate(index: number): Candidate {
    const known = this.#candidates.get(index);
    if (known) return known;
    const calls = new FunctionCalls({
      candidate: index,
      nextBlock: () => this.#nextBlock(),
      emit: (event) => void this.#events.push(event),
      reply: () => this.#reply,
      offered: (this.#offered ??=
        this.#call instanceof GenerateCall
          ? new Map()
          : offeredOtherwise(this.#call.decode().tools ?? [], fitName)),
    });
    const candidate: Candidate = {
      index,
      calls,
      open: undefined,
      text: undefined,
      answer: { said: new Transcript(longestCited), starts: [] },
      extras: {},
      reason: undefined,
      finished: false,
    };
    this.#candidates.set(index, candidate);
    return candidate;
  }

  #nextBlock(): number {
    this.#blocks += 1;
    return this.#blocks - 1;
  }

  #read(wire: Fields, place: number): void {
    const { index = place, content, finishReason: reason, logprobsResult: logprobs } = wire;
    const candidate = this.#candidate(knownCount(index) ?? place);
    const parts: unknown = isObject(content) ? content.parts : undefined;
    if (isObject(logprobs)) this.#weigh(candidate, logprobs);
    if (Array.isArray(parts)) for (const part of parts) if (isObject(part)) this.#part(candidate, part);
    const extras = Object.entries(leftover(wire, candidateFields)).filter(
      ([, value]) => value !== null && !(isObject(value) && Object.keys(value).length === 0),
    );
    for (const [name, value] of extras)
      Object.defineProperty(candidate.extras, name, {
        value,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    if (typeof reason !== 'string' || reason === '' || reason === 'FINISH_REASON_UNSPECIFIED') return;
    candidate.reason = reason;
    // Older models say `STOP` in every chunk. A translated reply tells its end when the stream has ended; one that goes
    // on verbatim has to tell it at once, since its bytes are then held back.
    if (this.#call instanceof GenerateCall) this.#finish(candidate);
  }

  #part(candidate: Candidate, part: Fields): void {
    const {
      text,
      functionCall: call,
      inlineData: blob,
      executableCode: code,
      codeExecutionResult: result,
      thought,
      thoughtSignature,
    } = part;
    const { said, starts } = candidate.answer;
    if (starts.length < mostParts) starts.push(said.length);
    const { opaque } = readSignature(typeof thoughtSignature === 'string' ? thoughtSignature : undefined);
    if (isObject(call)) {
      this.#close(candidate);
      return candidate.calls.take(call, opaque);
    }
    candidate.calls.end();
    if (
      typeof text === 'string' ||
      (opaque.length > 0 &&
        Object.keys(part).every((name) => name === 'thoughtSignature' || name === 'thought'))
    ) {
      return this.#say(
        candidate,
        thought === true ? 'reasoning' : 'text',
        typeof text === 'string' ? text : '',
        opaque,
      );
    }
    if (isObject(blob) && thought !== true && this.#show(candidate, blob, opaque)) return;
    if (isObject(code) && typeof code.code === 'string') {
      this.#whole(candidate, 'code', code.code, opaque, leftover(code, new Set(['code'])));
    } else if (isObject(result)) {
      this.#whole(candidate, 'server-tool', String(result.output ?? ''), [], { part }, codeResult);
    } else if (Object.keys(part).length > 0) {
      // A picture of its thoughts is no answer, and other kinds of parts are told by this protocol alone.
      this.#whole(candidate, 'server-tool', '', [], { part });
    }
  }

  #say(candidate: Candidate, kind: 'text' | 'reasoning', text: string, opaque: readonly Opaque[]): void {
    if (text === '' && opaque.length === 0) return;
    // Two seals are over two thoughts.
    const another =
      kind === 'reasoning' &&
      opaque.length > 0 &&
      candidate.open !== undefined &&
      candidate.open.opaque.length > 0;
    const open = candidate.open?.kind === kind && !another ? candidate.open : this.#open(candidate, kind);
    if (text !== '')
      this.#events.push({ type: 'block-delta', candidate: candidate.index, block: open.block, text });
    if (kind === 'text') candidate.answer.said.add(text);
    for (const state of opaque) open.opaque.push(state);
  }

  #open(
    candidate: Candidate,
    kind: BlockKind,
    mediaType?: string,
    fields: Fields = {},
    name?: string,
  ): OpenBlock {
    this.#close(candidate);
    const open: OpenBlock = { block: this.#nextBlock(), kind, mediaType, opaque: [], samples: new Samples() };
    candidate.open = open;
    if (kind === 'text') candidate.text = open.block;
    const start = { type: 'block-start' as const, candidate: candidate.index, block: open.block, kind };
    this.#events.push({
      ...start,
      ...(name === undefined ? {} : { name }),
      ...(mediaType === undefined ? {} : { mediaType }),
      ...bag.keep(fields),
    });
    return open;
  }

  #close(candidate: Candidate): void {
    const { index, open } = candidate;
    if (!open) return;
    candidate.open = undefined;
    const rest = open.samples.end();
    if (rest) this.#events.push({ type: 'block-delta', candidate: index, block: open.block, text: rest });
    this.#events.push({
      type: 'block-end',
      candidate: index,
      block: open.block,
      ...(open.opaque.length > 0 ? { opaque: open.opaque } : {}),
    });
  }

  #whole(
    candidate: Candidate,
    kind: BlockKind,
    text: string,
    opaque: readonly Opaque[],
    fields: Fields,
    name?: string,
  ): void {
    const open = this.#open(candidate, kind, undefined, fields, name);
    if (text !== '')
      this.#events.push({ type: 'block-delta', candidate: candidate.index, block: open.block, text });
    for (const state of opaque) open.opaque.push(state);
    this.#close(candidate);
  }

  /** Answers whether it is a picture or sound; sound may come in pieces, which are joined. */
  #show(candidate: Candidate, { mimeType, data }: Fields, opaque: readonly Opaque[]): boolean {
    if (typeof mimeType !== 'string' || typeof data !== 'string') return false;
    const kind = (['image', 'audio'] as const).find((each) => mimeType.startsWith(`${each}/`));
    if (!kind) return false;
    const joined = kind === 'audio' && isSamples(mimeType);
    const same =
      joined && candidate.open?.kind === 'audio' && candidate.open.mediaType === mimeType
        ? candidate.open
        : undefined;
    const open = same ?? this.#open(candidate, kind, mimeType);
    const text = joined ? open.samples.add(data) : data;
    if (text !== '')
      this.#events.push({ type: 'block-delta', candidate: candidate.index, block: open.block, text });
    for (const state of opaque) open.opaque.push(state);
    if (!joined) this.#close(candidate);
    return true;
  }

  #weigh(candidate: Candidate, result: Fields): void {
    const content = decodeLogprobs(result);
    if (content.length === 0) return;
    const { block } = candidate.open?.kind === 'text' ? candidate.open : this.#open(candidate, 'text');
    this.#events.push({ type: 'logprobs', candidate: candidate.index, block, content });
  }

  #cite(candidate: Candidate): void {
    const { groundingMetadata: grounding, citationMetadata: citations } = candidate.extras;
    const { answer, index } = candidate;
    const annotations = [
      ...(isObject(grounding) ? decodeGrounding(grounding, answer) : []),
      ...(isObject(citations) ? decodeCitations(citations, answer) : []),
    ];
    for (const annotation of annotations) {
      this.#events.push({
        type: 'annotation',
        candidate: index,
        block: candidate.text ?? this.#open(candidate, 'text').block,
        annotation,
      });
    }
  }

  #finish(candidate: Candidate): void {
    const { reason: raw, finished, index, extras } = candidate;
    if (raw === undefined || finished) return;
    candidate.finished = true;
    candidate.calls.end();
    this.#cite(candidate);
    this.#close(candidate);
    this.#events.push({
      type: 'finish',
      candidate: index,
      reason: { unified: decodeFinish(raw, candidate.calls.any), raw },
      ...bag.keep(extras),
    });
  }

  /** Some relays leave the reason out of a reply that is whole. */
  #stopAll(): void {
    if (this.#blocks > 0) for (const candidate of this.#candidates.values()) candidate.reason ??= 'STOP';
  }

  /** A prompt that is refused has a reply without candidates. */
  #block(feedback: Fields): void {
    if (this.#blocked || this.#candidates.size > 0) return;
    this.#blocked = true;
    this.#events.push({
      type: 'finish',
      candidate: 0,
      reason: { unified: 'content-filter', raw: String(feedback.blockReason) },
      ...bag.keep({ promptFeedback: feedback }),
    });
  }

  #fail(error: Fields): void {
    this.#over = true;
    this.#events.push(streamError(error));
  }

  /** Complete is a reply all of whose candidates have ended, as many as were asked for. */
  #end(expected: number): void {
    this.#over = true;
    const all = [...this.#candidates.values()];
    for (const candidate of all) {
      candidate.calls.end();
      this.#finish(candidate);
      this.#close(candidate);
    }
    const complete = all.length >= expected && all.every(({ finished }) => finished);
    if (complete || this.#blocked) this.#events.push({ type: 'response-end' });
  }
}
