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
} from '../../../core/index.ts';
import { parseJson, unreadableEvent } from '../../shared/wire-kit/event-data.ts';
import { readFinish, readWord } from '../../shared/wire-kit/finish-reason.ts';
import { readServedMode } from '../../shared/wire-kit/modes.ts';
import { createToolFinder } from '../../shared/wire-kit/offered-tools.ts';
import { buildErrorEvent } from '../../shared/wire-kit/openai-error.ts';
import { ReplyLog } from '../../shared/wire-kit/reply-log.ts';
import { isObject, splitNames, pickStated, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { isError, readVendorError } from '../../shared/wire-kit/vendor-error.ts';
import { bag } from './bag.ts';
import { findContinued } from './continued.ts';
import { ChoiceDecoder } from './decode-choice.ts';
import { decodeFinish } from './finish.ts';
import { ChatCall } from './read-request.ts';
import { markUnsealed } from './reasoning.ts';
import { findSoundType } from './sound.ts';
import type { ReplySink } from './tool-calls.ts';
import { fitName } from './tool-names.ts';
import { decodeUsage, findUsage } from './usage.ts';

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #sink: ReplySink;
  /** The field of a choice that holds its content: `delta` in a chunk, `message` in a JSON reply. */
  #contentField: 'delta' | 'message' = 'delta';
  readonly #choices = new Map<number, ChoiceDecoder>();
  readonly #log = new ReplyLog();
  #started = false;
  #over = false;
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
    if (this.#over) return [];
    if (wire.data === '[DONE]') this.#end(this.#finishAll(this.#endsWithUsage));
    else this.#readChunk(parseJson(wire.data), wire);
    return this.#log.take();
  }

  end(): CanonicalEvent[] {
    const finished = [...this.#choices.values()].filter(({ isFinished }) => isFinished).length;
    if (!this.#over) this.#end(finished >= this.#call.candidates);
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
    if (!this.#over) this.#end(this.#finishAll(true));
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
        if (isObject(choice) && !this.#over) this.#readChoice(choice, position, hasFailed);
      });
    }
    if (usage && !this.#over) this.#readUsage(usage, chunk);
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
      if (!choice.isFinished && !this.#over && whole && this.#log.blocks > 0 && isWhole)
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
    if (this.#over) return;
    this.#over = true;
    this.#log.emit(buildErrorEvent(readVendorError(body)));
  }

  #end(complete: boolean): void {
    this.#over = true;
    if (!complete || this.#choices.size === 0) return;
    for (const choice of this.#choices.values()) choice.end();
    this.#log.emit({ type: 'response-end' });
  }
}

/** Fields that are read elsewhere, and fields about the operator's account, which clients must not see. */
const chunkFields = splitNames(`
  id object created model choices usage error obfuscation x_groq provider usage_breakdown
`);
