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
} from '../../../core/index.ts';
import { unreadableEvent, parseJson } from '../../shared/wire-kit/event-data.ts';
import { readServedMode } from '../../shared/wire-kit/modes.ts';
import { createToolFinder } from '../../shared/wire-kit/offered-tools.ts';
import { ReplyLog } from '../../shared/wire-kit/reply-log.ts';
import { readList, readObjects } from '../../shared/wire-kit/values.ts';
import { isObject, pickUnread, type Fields, splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { isError } from '../../shared/wire-kit/vendor-error.ts';
import { bag } from './bag.ts';
import { CandidateDecoder, type ReplyState } from './decode-candidate.ts';
import { readStreamError } from './errors.ts';
import { Searches } from './grounding.ts';
import { GenerateCall } from './read-request.ts';
import { fitName } from './tool-names.ts';
import { countFields, decodeUsage } from './usage.ts';

const chunkFields = splitNames('candidates usageMetadata modelVersion responseId promptFeedback error');

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #candidates = new Map<number, CandidateDecoder>();
  readonly #searches: Searches;
  readonly #state: ReplyState;
  readonly #log = new ReplyLog();
  #started = false;
  #over = false;
  #blocked = false;
  #key = '';
  #lastUsage = '';
  #isCounted = false;

  constructor(call: ClientCall, model?: Model) {
    this.#searches = new Searches(model?.capabilities.searchesBilled === 'once');
    this.#call = call;
    this.#state = {
      log: this.#log,
      makeKey: () => this.#key,
      findTool: createToolFinder(call, call instanceof GenerateCall, fitName),
    };
  }

  push(wire: WireEvent): CanonicalEvent[] {
    if (!this.#over) this.#readChunk(parseJson(wire.data), wire);
    return this.#log.take();
  }

  get mayEnd(): boolean {
    const all = [...this.#candidates.values()];
    const haveReasons = all.length >= this.#call.candidates && all.every(({ mayEnd }) => mayEnd);
    return this.#blocked || (this.#isCounted && haveReasons);
  }

  end(): CanonicalEvent[] {
    if (!this.#over) this.#end(this.#call.candidates);
    return this.#log.take();
  }

  /** Decodes a JSON reply, or an array of chunks. Throws `upstream_failed` if the body is neither. */
  decodeWhole(body: unknown): CanonicalEvent[] {
    const chunks: unknown[] = Array.isArray(body) ? body : [body];
    const isReply = readObjects(chunks).some(
      (chunk) => chunk.candidates ?? chunk.promptFeedback ?? isError(chunk),
    );
    if (!isReply) throw new GatewayError('upstream_failed', 'The provider sent a reply without candidates.');
    for (const chunk of chunks) if (!this.#over) this.#readChunk(chunk);
    if (!this.#over && !Array.isArray(body)) this.#addReasons();
    if (!this.#over) this.#end(1);
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
    const candidate = this.#candidates.get(index) ?? new CandidateDecoder(index, this.#state);
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
    this.#over = true;
    this.#log.emit(readStreamError(body));
  }

  /** A reply is complete if it has at least the expected number of candidates, all of them finished. */
  #end(expected: number): void {
    this.#over = true;
    const all = [...this.#candidates.values()];
    for (const candidate of all) candidate.end();
    const complete = all.length >= expected && all.every(({ finished }) => finished);
    if (complete || this.#blocked) this.#log.emit({ type: 'response-end' });
  }
}
