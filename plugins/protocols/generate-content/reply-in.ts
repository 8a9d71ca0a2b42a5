/**
 * Decodes a provider's reply to canonical events: a stream chunk by chunk, a JSON reply as one chunk. Every
 * stream passes through here, if only to be metered, so the checks are written by hand for speed.
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
import { readStreamError } from '../../shared/google/errors.ts';
import { isError } from '../../shared/vendors/errors.ts';
import { unreadableEvent, parseJson } from '../../shared/wire-kit/event-data.ts';
import { codeResult } from '../../shared/wire-kit/hosted-tools.ts';
import { readServedMode } from '../../shared/wire-kit/modes.ts';
import { createToolFinder, type FindTool, unwrapInput } from '../../shared/wire-kit/offered-tools.ts';
import { ReplyLog, type BlockFacts } from '../../shared/wire-kit/reply-log.ts';
import { longestCited, Transcript } from '../../shared/wire-kit/transcript.ts';
import { readList, readMember, readObject, readObjects, readText } from '../../shared/wire-kit/values.ts';
import { isObject, pickUnread, type Fields, splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { GenerateCall } from './call.ts';
import { bag, fitName, makeCallId, readSignature } from './encoding.ts';
import {
  Searches,
  countFields,
  decodeUsage,
  decodeFinish,
  decodeCitations,
  decodeGrounding,
  mostParts,
  type Answer,
  decodeLogprobs,
} from './reply-facts.ts';

const chunkFields = splitNames('candidates usageMetadata modelVersion responseId promptFeedback error');

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #candidates = new Map<number, CandidateDecoder>();
  readonly #searches: Searches;
  readonly #findTool: FindTool;
  readonly #log = new ReplyLog();
  #started = false;
  #blocked = false;
  #key = '';
  #lastUsage = '';
  #isCounted = false;

  constructor(call: ClientCall, model?: Model) {
    this.#searches = new Searches(model?.capabilities.searchesBilled === 'once');
    this.#call = call;
    this.#findTool = createToolFinder(call, call instanceof GenerateCall, fitName);
  }

  push(wire: WireEvent): CanonicalEvent[] {
    if (!this.#log.isOver) this.#readChunk(parseJson(wire.data), wire);
    return this.#log.take();
  }

  get mayEnd(): boolean {
    const all = [...this.#candidates.values()];
    const haveReasons = all.length >= this.#call.candidates && all.every(({ mayEnd }) => mayEnd);
    return this.#blocked || (this.#isCounted && haveReasons);
  }

  end(): CanonicalEvent[] {
    if (!this.#log.isOver) this.#end(this.#call.candidates);
    return this.#log.take();
  }

  /** Decodes a JSON reply, or an array of chunks. Throws `upstream_failed` if the body is neither. */
  decodeWhole(body: unknown): CanonicalEvent[] {
    const chunks: unknown[] = Array.isArray(body) ? body : [body];
    const isReply = readObjects(chunks).some(
      (chunk) => chunk.candidates ?? chunk.promptFeedback ?? isError(chunk),
    );
    if (!isReply) throw new GatewayError('upstream_failed', 'The provider sent a reply without candidates.');
    for (const chunk of chunks) if (!this.#log.isOver) this.#readChunk(chunk);
    if (!this.#log.isOver && !Array.isArray(body)) this.#addReasons();
    if (!this.#log.isOver) this.#end(1);
    return this.#log.take();
  }

  #readChunk(chunk: unknown, wire?: WireEvent): void {
    if (!isObject(chunk)) {
      if (isError(chunk)) this.#fail(chunk);
      else if (!(wire && this.#log.skip(wire))) this.#fail({ error: unreadableEvent });
      return;
    }
    const { usageMetadata: usage, promptFeedback: feedback } = chunk;
    if (isError(chunk, wire?.event)) return this.#fail(chunk);
    if (!this.#started) this.#start(chunk);
    const candidates = readList(chunk.candidates);
    for (const candidate of readObjects(candidates)) this.#searches.note(candidate);
    if (isObject(usage)) this.#readUsage(usage);
    for (const [place, candidate] of candidates.entries())
      if (isObject(candidate)) this.#readCandidate(candidate, place);
    if (isObject(feedback) && feedback.blockReason) this.#finishBlocked(feedback);
  }

  #start(chunk: Fields): void {
    const { responseId: id, modelVersion: model } = chunk;
    this.#started = true;
    this.#key = `${String(id)} ${String(chunk.createTime)}`;
    this.#log.begin(id, model, undefined, bag.keep(pickUnread(chunk, chunkFields)));
  }

  #readUsage(wire: Fields): void {
    const webSearches = this.#searches.count;
    const counts = webSearches > 0 ? { ...decodeUsage(wire), webSearches } : decodeUsage(wire);
    const usage = counts && { ...counts, ...readServedMode({ serviceTier: wire.serviceTier }, this.#call) };
    const json = JSON.stringify(usage);
    this.#isCounted ||= usage?.output !== undefined;
    if (!usage || json === this.#lastUsage) return;
    this.#lastUsage = json;
    this.#log.emit({ type: 'usage', usage, ...bag.keep(pickUnread(wire, countFields)) });
  }

  #readCandidate(wire: Fields, place: number): void {
    const index = toCount(wire.index) ?? place;
    const state = { log: this.#log, key: this.#key, findTool: this.#findTool };
    const candidate = this.#candidates.get(index) ?? new CandidateDecoder(index, state);
    this.#candidates.set(index, candidate);
    const hasReason = candidate.read(wire);
    // Older models send `STOP` in every chunk, so a translated reply only finishes when the stream ends. The
    // verbatim lane holds back the bytes of the finish, so it needs the event immediately.
    if (hasReason && this.#call instanceof GenerateCall) candidate.finish();
  }

  /** Some relays send a complete JSON reply without a finish reason. */
  #addReasons(): void {
    if (this.#log.blocks > 0) for (const candidate of this.#candidates.values()) candidate.reason ??= 'STOP';
  }

  /** The reply to a refused prompt has no candidates. */
  #finishBlocked(feedback: Fields): void {
    if (this.#blocked || this.#candidates.size > 0) return;
    this.#blocked = true;
    this.#log.emit({
      type: 'finish',
      candidate: 0,
      reason: { unified: 'content-filter', raw: String(feedback.blockReason) },
      ...bag.keep({ promptFeedback: feedback }),
    });
  }

  #fail(body: unknown): void {
    this.#log.fail(readStreamError(body));
  }

  /** A reply is complete if it has at least the expected number of candidates, all of them finished. */
  #end(expected: number): void {
    const all = [...this.#candidates.values()];
    for (const candidate of all) {
      candidate.finish();
      // Without a finish reason a call may lack arguments.
      candidate.closeBlock();
    }
    const isComplete = all.length >= expected && all.every(({ finished }) => finished);
    this.#log.end(isComplete || this.#blocked);
  }
}

interface ReplyState {
  readonly log: ReplyLog;
  /** Identifies this reply, for call ids that have to be generated. */
  readonly key: string;
  /** Finds the client's tool if the gateway sent it under another name or in another form. */
  readonly findTool: FindTool;
}

interface OpenBlock {
  readonly block: number;
  readonly kind: BlockKind;
  readonly mediaType: string | undefined;
  readonly opaque: Opaque[];
  /** Bytes of raw audio that are not yet a group of three. */
  samples: Buffer;
}

/**
 * A call whose parts arrive. A part usually holds a complete call. Vertex may spread a call over several
 * parts: the first has the name, and all except the last have `willContinue`.
 */
interface OpenCall {
  readonly name: string;
  readonly id: string;
  readonly opaque: Opaque[];
  /** The arguments from pieces. */
  readonly pieces: Record<string, unknown>;
  args: unknown;
}

const signatureFields = new Set(['thoughtSignature', 'thought']);
/** Raw audio, whose pieces can be joined; files with a header cannot. */
const rawAudio = /^audio\/(l16|pcm)\b/i;

function isEmpty(value: unknown): boolean {
  return value === null || (isObject(value) && Object.keys(value).length === 0);
}

/**
 * Decodes one candidate of a reply. Each chunk holds only new parts; a block ends when a part of another kind
 * begins.
 */
class CandidateDecoder {
  reason: string | undefined;
  finished = false;
  /** Whether output followed the reason. Older models send a reason in every chunk. */
  #continued = false;
  readonly #index: number;
  readonly #state: ReplyState;
  readonly #answer: Answer = { transcript: new Transcript(longestCited), starts: [] };
  /** The candidate's other fields. A map, since a field may be called `__proto__`. */
  readonly #extras = new Map<string, unknown>();
  #open: OpenBlock | undefined;
  #call: OpenCall | undefined;
  #calls = 0;
  #isCut = false;
  /** The latest text block. Annotations belong to it. */
  #textBlock: number | undefined;

  constructor(index: number, state: ReplyState) {
    this.#index = index;
    this.#state = state;
  }

  /** Whether the candidate is complete if nothing follows. */
  get mayEnd(): boolean {
    return this.reason !== undefined && !this.#continued;
  }

  /** Reads one chunk's candidate. Returns whether it has a finish reason. */
  read(wire: Fields): boolean {
    const { content, finishReason: reason, logprobsResult: logprobs } = wire;
    const parts = readObjects(readMember(content, 'parts'));
    if (isObject(logprobs)) this.#readLogprobs(logprobs);
    for (const part of parts) this.#readPart(part);
    this.#continued ||= this.reason !== undefined && parts.some(({ text }) => text !== '');
    const rest = pickUnread(wire, ['content', 'index', 'finishReason', 'logprobsResult']);
    for (const [name, value] of Object.entries(rest)) if (!isEmpty(value)) this.#extras.set(name, value);
    if (typeof reason !== 'string' || reason === '' || reason === 'FINISH_REASON_UNSPECIFIED') return false;
    this.reason = reason;
    return true;
  }

  finish(): void {
    const { reason: raw } = this;
    if (raw === undefined || this.finished) return;
    this.finished = true;
    this.#endCall();
    this.#emitAnnotations();
    this.closeBlock();
    const unified = decodeFinish(raw, { any: this.#calls > 0, cut: this.#isCut });
    this.#state.log.emit({
      type: 'finish',
      candidate: this.#index,
      reason: { unified, raw },
      ...bag.keep(Object.fromEntries(this.#extras)),
    });
  }

  #readPart(part: Fields): void {
    const { text, functionCall: call, inlineData: blob, executableCode: code, thought } = part;
    const { transcript, starts } = this.#answer;
    if (starts.length < mostParts) starts.push(transcript.length);
    const signature = readSignature(part.thoughtSignature);
    const opaque = signature ? [signature] : [];
    if (isObject(call)) return this.#readCall(call, opaque);
    this.#endCall();
    const isBareSignature = opaque.length > 0 && Object.keys(part).every((name) => signatureFields.has(name));
    if (typeof text === 'string' || isBareSignature)
      return this.#addText(thought === true ? 'reasoning' : 'text', readText(text), opaque);
    if (isObject(blob) && thought !== true && this.#addMedia(blob, opaque)) return;
    if (isObject(code) && typeof code.code === 'string')
      return this.#addWhole('code', bag.keep(pickUnread(code, ['code'])), code.code, opaque);
    const { codeExecutionResult: result } = part;
    // Only this protocol has other kinds of parts. A picture among the thoughts is kept like them.
    if (Object.keys(part).length === 0) return;
    const facts = isObject(result) ? { name: codeResult } : {};
    this.#addWhole(
      'server-tool',
      { ...facts, ...bag.keep({ part }) },
      String(readMember(result, 'output') ?? ''),
    );
  }

  #readCall(call: Fields, opaque: readonly Opaque[]): void {
    this.closeBlock();
    const name = readText(call.name);
    if (name !== '' || !this.#call) {
      this.#endCall();
      if (name === '') return;
      this.#calls += 1;
      this.#call = { name, id: readText(call.id), opaque: [], pieces: {}, args: undefined };
    }
    const open = this.#call;
    for (const state of opaque) open.opaque.push(state);
    open.args = call.args ?? open.args;
    for (const piece of readObjects(call.partialArgs)) addPiece(open.pieces, piece);
    if (call.willContinue !== true) this.#emitCall(open);
  }

  /** Ends a call of which more was announced. Its arguments break off, and stay so for every client. */
  #endCall(): void {
    if (this.#call) this.#emitCall(this.#call, true);
  }

  #emitCall({ name, id, opaque, pieces, args }: OpenCall, announced = false): void {
    this.#call = undefined;
    const isCut = announced && args === undefined;
    this.#isCut ||= isCut;
    const candidate = this.#index;
    const { log, key, findTool } = this.#state;
    const tool = findTool(name);
    const whole = JSON.stringify(args ?? pieces);
    // Without its last bracket no client can parse it.
    const json = isCut ? whole.slice(0, -1) : whole;
    const block = log.startBlock(candidate, 'tool-call', {
      id: id || makeCallId(key, candidate, this.#calls, name, json),
      name: tool?.name ?? name,
      ...(tool?.custom ? { custom: true } : {}),
      ...(opaque.length > 0 ? { opaque } : {}),
    });
    log.emit({ type: 'block-delta', candidate, block, text: tool?.custom ? unwrapInput(json) : json });
    log.endBlock(candidate, block, opaque);
  }

  #addText(kind: 'text' | 'reasoning', text: string, opaque: readonly Opaque[]): void {
    if (text === '' && opaque.length === 0) return;
    // Each signature seals a separate thought.
    const isNextThought = kind === 'reasoning' && opaque.length > 0 && (this.#open?.opaque.length ?? 0) > 0;
    const open = this.#open?.kind === kind && !isNextThought ? this.#open : this.#openBlock(kind);
    if (kind === 'text') this.#answer.transcript.add(text);
    this.#emitDelta(open, text, opaque);
  }

  #addWhole(kind: BlockKind, facts: BlockFacts, text: string, opaque: readonly Opaque[] = []): void {
    this.#emitDelta(this.#openBlock(kind, facts), text, opaque);
    this.closeBlock();
  }

  /** Returns false if the data is neither an image nor audio. Joins pieces of raw audio. */
  #addMedia({ mimeType: mediaType, data }: Fields, opaque: readonly Opaque[]): boolean {
    if (typeof mediaType !== 'string' || typeof data !== 'string') return false;
    const kind = (['image', 'audio'] as const).find((each) => mediaType.startsWith(`${each}/`));
    if (kind && !rawAudio.test(mediaType)) this.#addWhole(kind, { mediaType }, data, opaque);
    else if (kind) {
      const isSame = this.#open?.kind === 'audio' && this.#open.mediaType === mediaType;
      const open = this.#open && isSame ? this.#open : this.#openBlock(kind, { mediaType });
      const bytes = Buffer.concat([open.samples, Buffer.from(data, 'base64')]);
      const whole = bytes.length - (bytes.length % 3);
      open.samples = bytes.subarray(whole);
      this.#emitDelta(open, bytes.toString('base64', 0, whole), opaque);
    }
    return kind !== undefined;
  }

  #openBlock(kind: BlockKind, facts: BlockFacts = {}): OpenBlock {
    this.closeBlock();
    const block = this.#state.log.startBlock(this.#index, kind, facts);
    this.#open = { block, kind, mediaType: facts.mediaType, opaque: [], samples: Buffer.alloc(0) };
    if (kind === 'text') this.#textBlock = block;
    return this.#open;
  }

  #emitDelta({ block, opaque: kept }: OpenBlock, text: string, opaque: readonly Opaque[] = []): void {
    this.#state.log.addText(this.#index, block, text);
    for (const state of opaque) kept.push(state);
  }

  closeBlock(): void {
    const open = this.#open;
    if (!open) return;
    this.#open = undefined;
    this.#emitDelta(open, open.samples.toString('base64'));
    this.#state.log.endBlock(this.#index, open.block, open.opaque);
  }

  #readLogprobs(result: Fields): void {
    const content = decodeLogprobs(result);
    if (content.length === 0) return;
    const { block } = this.#open?.kind === 'text' ? this.#open : this.#openBlock('text');
    this.#state.log.addLogprobs(this.#index, block, content);
  }

  #emitAnnotations(): void {
    const grounding = readObject(this.#extras.get('groundingMetadata'));
    const citations = readObject(this.#extras.get('citationMetadata'));
    for (const annotation of [
      ...decodeGrounding(grounding, this.#answer),
      ...decodeCitations(citations, this.#answer),
    ]) {
      const block = this.#textBlock ?? this.#openBlock('text').block;
      this.#state.log.cite(this.#index, block, annotation);
    }
  }
}

type Step = string | number;

const step = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/g;
/** Without a limit, a path such as `$.a[4000000000]` would make a list of that length. */
const longestList = 100_000;

function parsePath(path: string): Step[] {
  return [...path.matchAll(step)].map(([, plain, index, single, double]) =>
    index === undefined ? (plain ?? (single ?? double ?? '').replaceAll(/\\(.)/g, '$1')) : Number(index),
  );
}

const kinds = ['stringValue', 'numberValue', 'boolValue', 'nullValue'] as const;

function getOwn(holder: object, key: Step): unknown {
  return Object.hasOwn(holder, key) ? Reflect.get(holder, key) : undefined;
}

/** Sets an own property, even if its name is `__proto__`. */
function put(holder: object, key: Step, value: unknown): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Returns the object or list under a key. Creates a list if the next step is an index, or else an object. */
function descend(holder: object, key: Step, next: Step): object {
  const existing = getOwn(holder, key);
  if (typeof existing === 'object' && existing !== null) return existing;
  const created = typeof next === 'number' ? [] : {};
  put(holder, key, created);
  return created;
}

/** Adds a piece of arguments. A piece without a path or a value is ignored. */
function addPiece(whole: object, piece: Fields): void {
  if (typeof piece.jsonPath !== 'string') return;
  const kind = kinds.find((each) => piece[each] !== undefined);
  const steps = parsePath(piece.jsonPath);
  if (kind === undefined || steps.some((key) => typeof key === 'number' && key >= longestList)) return;
  const last = steps.pop();
  if (last === undefined) return;
  let holder = whole;
  for (const [index, key] of steps.entries()) holder = descend(holder, key, steps[index + 1] ?? last);
  const before = getOwn(holder, last);
  const value = kind === 'nullValue' ? null : piece[kind];
  put(holder, last, typeof before === 'string' && typeof value === 'string' ? before + value : value);
}
