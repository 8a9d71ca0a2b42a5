/**
 * Encodes canonical events as a client's stream. It has every event that OpenAI sends, numbered, with full
 * response objects, because the SDKs' stream helpers need them. `[DONE]` follows the last event. Text goes
 * into messages; every other block becomes an item of its own.
 */
import {
  GatewayError,
  type CanonicalEvent,
  type ClientCall,
  type EventEncoder,
  type ReplyContext,
  type SentFrames,
  type Usage,
  type Opaque,
  type EventOf,
} from '../../../core/index.ts';
import { buildErrorBody } from '../../shared/openai/errors.ts';
import { codeResult } from '../../shared/wire-kit/hosted-tools.ts';
import { Transcript } from '../../shared/wire-kit/transcript.ts';
import { readObjects, readString } from '../../shared/wire-kit/values.ts';
import { type Fields, isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { ResponsesCall } from './call.ts';
import { itemType, listUserMessages } from './compaction.ts';
import { bag, writeSealed, ToolNames } from './encoding.ts';
import { HostedEncoder } from './hosted.ts';
import {
  type ItemEvent,
  MessageEncoder,
  ItemWriter,
  OpenCall,
  type OpenBlock,
  type OpenPart,
  type OpenReasoning,
} from './items-out.ts';
import { type Ending, ResponseObject, encodeFinish, makeId } from './reply-facts.ts';

export const terminator = 'data: [DONE]\n\n';

function encodeFrame({ type, ...fields }: ItemEvent, number: number): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...fields })}\n\n`;
}

const running: Ending = { status: 'in_progress', incomplete_details: null, error: null };

export class ReplyEncoder implements EventEncoder {
  readonly #response: ResponseObject;
  readonly #items: OutputItemEncoder;
  #usage: Usage = {};
  #number = 0;
  #started = false;

  constructor(context: ReplyContext) {
    this.#response = new ResponseObject(context);
    this.#items = new OutputItemEncoder(context);
  }

  push(event: CanonicalEvent): string {
    switch (event.type) {
      case 'ping':
        return '';
      case 'response-start':
        this.#response.addFields(event);
        return this.#start();
      case 'usage':
        this.#usage = { ...this.#usage, ...event.usage };
        return '';
      case 'response-end':
        return this.#start() + this.#encodeFrames(this.#items.close()) + this.#end();
      case 'error':
        return encodeFailure(new GatewayError('upstream_failed', event.message), this.#number, (ending) =>
          this.#response.encode(ending, this.#items.output, this.#usage),
        );
      default:
        if (event.type === 'finish') this.#response.addFields(event);
        return this.#start() + this.#encodeFrames(this.#items.push(event));
    }
  }

  #start(): string {
    if (this.#started) return '';
    this.#started = true;
    const response = this.#response.encode(running, []);
    return this.#encodeFrames([
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ]);
  }

  #end(): string {
    const { ending, output } = this.#items;
    const response = this.#response.encode(ending, output, this.#usage);
    return this.#encodeFrames([{ type: `response.${ending.status}`, response }]) + terminator;
  }

  #encodeFrames(events: readonly ItemEvent[]): string {
    let text = '';
    for (const event of events) {
      text += encodeFrame(event, this.#number);
      this.#number += 1;
    }
    return text;
  }
}

/** Sends the error, both flat (as documented) and nested (as OpenAI sends it), then the failed response. */
function encodeFailure(error: GatewayError, number: number, respond: (ending: Ending) => Fields): string {
  const { type, code, message, param } = buildErrorBody(error).error;
  // SDKs know only some codes here. Codex does not repeat a call that ends with `invalid_prompt`.
  const usual = error.code === 'invalid_request' ? 'invalid_prompt' : 'server_error';
  const responseCode = type === 'server_error' || typeof code !== 'string' ? usual : code;
  const response = respond({
    status: 'failed',
    incomplete_details: null,
    error: { code: responseCode, message: error.message },
  });
  return (
    encodeFrame({ type: 'error', code, message, param, error: { type, code, message, param } }, number) +
    encodeFrame({ type: 'response.failed', response }, number + 1) +
    terminator
  );
}

/** Used if the stream's last number is unknown: it is higher than any number a stream reaches. */
const lateNumber = 1_000_000_000;

/** Returns the sequence number after the last one sent. */
function findNextNumber(started: boolean, last: string): number {
  if (!started) return 0;
  const numbers = [...last.matchAll(/"sequence_number":\s*(\d+)/g)];
  const [, number] = numbers.at(-1) ?? [];
  return number === undefined ? lateNumber : Number(number) + 1;
}

/** Ends a stream that broke: an error event and a failed response, with the id from the stream's start. */
export function encodeStreamError(
  error: GatewayError,
  call: ClientCall,
  started: boolean,
  sent: SentFrames = { first: '', last: '' },
): string {
  const response = new ResponseObject({
    id: 'failed',
    model: call.model,
    created: Math.floor(Date.now() / 1000),
    call,
  });
  const [, id] = /"id":\s*"(resp_[^"]*)"/.exec(sent.first) ?? [];
  return encodeFailure(error, findNextNumber(started, sent.last), (ending) => ({
    ...response.encode(ending, []),
    ...(id === undefined ? {} : { id }),
  }));
}

export function encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown {
  const items = new OutputItemEncoder(context);
  const response = new ResponseObject(context);
  let usage: Usage = {};
  for (const event of events) {
    if (event.type === 'usage') usage = { ...usage, ...event.usage };
    else if (event.type === 'response-start') response.addFields(event);
    else items.push(event);
    if (event.type === 'finish') response.addFields(event);
  }
  items.close();
  const whole = response.encode(items.ending, items.output, usage);
  const { call } = context;
  return call instanceof ResponsesCall && call.compaction.ask === 'path'
    ? encodeCompacted(whole, call, context.id)
    : whole;
}

/** What OpenAI's path for compaction returns: the user's messages, then the compaction. */
function encodeCompacted(
  { id, created_at, output, usage }: Fields,
  { settings }: ResponsesCall,
  reply: string,
): Fields {
  const messages = listUserMessages(settings.input, (index) => makeId('msg', reply, index));
  const compactions = readObjects(output).filter(({ type }) => type === itemType);
  return { id, object: 'response.compaction', created_at, output: [...messages, ...compactions], usage };
}

function placeSummary({ id, index, summary }: OpenReasoning): Fields {
  return { item_id: id, output_index: index, summary_index: summary.length };
}

class OutputItemEncoder {
  readonly #context: ReplyContext;
  readonly #writer: ItemWriter;
  readonly #messages: MessageEncoder;
  readonly #hosted: HostedEncoder;
  readonly #blocks = new Map<number, OpenBlock>();
  /** Open calls that are not announced yet. They have a map of their own: there may be thousands. */
  readonly #heldCalls = new Map<number, OpenCall>();
  #names: ToolNames | undefined;
  /** The latest call whose arguments have ended. Only the next event shows whether the call was cut. */
  #unconfirmedCall: OpenCall | undefined;
  #reason: EventOf<'finish'>['reason'] = { unified: 'stop', raw: 'completed' };

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#writer = new ItemWriter(context, (before) => this.#makeRoom(before));
    this.#messages = new MessageEncoder(this.#writer);
    this.#hosted = new HostedEncoder(this.#writer);
  }

  /** The items so far, each in its current state. */
  get output(): readonly Fields[] {
    for (const block of this.#blocks.values()) if (block.kind === 'part') block.update();
    return this.#writer.output;
  }

  get ending(): Ending {
    return encodeFinish(this.#reason, this.#messages.hasRefusal);
  }

  /** Returns the stream events for one canonical event. The protocol has one candidate only. */
  push(event: CanonicalEvent): ItemEvent[] {
    if ('candidate' in event && event.candidate > 0) {
      this.#context.reportLoss?.(`candidates[${event.candidate}]`, 'responses has one answer to a call');
      return [];
    }
    if (event.type !== 'finish') this.#confirmCall('completed');
    if (event.type === 'block-delta') this.#addDelta(event);
    else if (event.type === 'block-start') this.#start(event);
    else if (event.type === 'block-end') this.#end(event);
    else if (event.type === 'annotation' || event.type === 'logprobs') this.#describe(event);
    else if (event.type === 'partial-image') this.#hosted.addPartialImage(event);
    else if (event.type === 'finish') this.#finish(event);
    return this.#writer.takeEvents();
  }

  /** Ends the reply, and with it all open blocks in their order. */
  close(): ItemEvent[] {
    for (const block of this.#blocks.keys()) this.#end({ type: 'block-end', candidate: 0, block });
    this.#hosted.close();
    this.#confirmCall(this.#lastStatus);
    this.#messages.endMessage(this.#lastStatus);
    return this.#writer.takeEvents();
  }

  get #lastStatus(): 'incomplete' | 'completed' {
    return this.ending.status === 'completed' ? 'completed' : 'incomplete';
  }

  #start(start: EventOf<'block-start'>): void {
    const { kind, block } = start;
    if (start.name !== codeResult) this.#hosted.flushCode();
    if (kind === 'text' || kind === 'refusal') {
      this.#blocks.set(block, this.#startPart(kind === 'refusal', bag.getFields(start).item));
    } else if (kind === 'reasoning') {
      const ownId = readString(bag.getFields(start).id);
      this.#blocks.set(block, { kind: 'reasoning', ownId, id: '', index: 0, summary: [], part: undefined });
    } else if (kind === 'tool-call') {
      const call = new OpenCall(start);
      this.#blocks.set(block, call);
      this.#heldCalls.set(block, call);
    } else {
      this.#blocks.set(block, { kind: 'hosted', start, text: '' });
      this.#hosted.start(start);
    }
  }

  /** `head` holds the message's own fields. If it is set, the part starts a new message. */
  #startPart(isRefusal: boolean, head: unknown): OpenPart {
    if (head !== undefined || this.#heldCalls.size > 0) this.#makeRoom();
    return this.#messages.startPart(isRefusal, isObject(head) ? head : {});
  }

  #addDelta({ block: number, text, vendor }: EventOf<'block-delta'>): void {
    const block = this.#blocks.get(number);
    if (!block) return;
    switch (block.kind) {
      case 'part':
        return this.#addText(block, number, text);
      case 'reasoning':
        return this.#addReasoning(block, text, bag.getFields({ vendor }).break === true);
      case 'call':
        return this.#addArguments(block, text);
      case 'hosted':
        block.text += text;
    }
  }

  #addText(block: OpenPart, number: number, text: string): void {
    let part = block;
    if (block.ended) {
      // Another item ended this part's message, so the text continues in a new message.
      part = this.#startPart(block.isRefusal, undefined);
      this.#blocks.set(number, part);
    }
    this.#messages.addText(part, text);
  }

  #addArguments(call: OpenCall, text: string): void {
    call.text += text;
    call.deltas += 1;
    if (call.index !== undefined) this.#writer.emit(call.nameEvent('delta'), { ...call.place, delta: text });
    // A call in one piece is sent when it ends: its sealed state, known only then, has to precede it.
    else if (call.deltas > 1) this.#startCall(call);
  }

  #addReasoning(block: OpenReasoning, text: string, isBreak: boolean): void {
    this.#startReasoning(block);
    if (isBreak) return this.#endSummaryPart(block);
    if (!block.part) {
      block.part = new Transcript();
      const part = { type: 'summary_text', text: '' };
      this.#writer.emit('response.reasoning_summary_part.added', { ...placeSummary(block), part });
    }
    block.part.add(text);
    this.#writer.emit('response.reasoning_summary_text.delta', { ...placeSummary(block), delta: text });
  }

  #startReasoning(block: OpenReasoning): void {
    if (block.id !== '') return;
    this.#makeRoom();
    block.id = block.ownId ?? this.#writer.makeId('rs');
    block.index = this.#writer.add({ id: block.id, type: 'reasoning', summary: [] });
  }

  #endSummaryPart(block: OpenReasoning): void {
    if (!block.part) return;
    const place = placeSummary(block);
    const { text } = block.part;
    const part = { type: 'summary_text', text };
    block.part = undefined;
    block.summary.push(part);
    this.#writer.emit('response.reasoning_summary_text.done', { ...place, text });
    this.#writer.emit('response.reasoning_summary_part.done', { ...place, part });
  }

  /** Before another item begins, starts the held calls (those before block `before`) and ends the message. */
  #makeRoom(before = Number.POSITIVE_INFINITY): void {
    for (const [number, call] of this.#heldCalls) {
      // Block numbers are in the order in which the blocks began.
      if (number >= before) break;
      this.#startCall(call);
    }
    this.#messages.endMessage('completed');
  }

  #startCall(call: OpenCall): void {
    this.#makeRoom(call.start.block);
    this.#heldCalls.delete(call.start.block);
    this.#names ??= new ToolNames(this.#context.call.decode(), true);
    const name = this.#names.toWire(call.start.name ?? '');
    call.begin(this.#writer.output.length, this.#context.id, name);
    this.#writer.add(call.toItem('in_progress', ''));
    if (call.text !== '') this.#writer.emit(call.nameEvent('delta'), { ...call.place, delta: call.text });
  }

  #end({ block: number, opaque = [] }: EventOf<'block-end'>): void {
    const block = this.#blocks.get(number);
    if (!block || (block.kind === 'part' && block.ended)) return;
    // An ended part is kept, because annotations may still follow.
    if (block.kind !== 'part') this.#blocks.delete(number);
    this.#heldCalls.delete(number);
    switch (block.kind) {
      case 'part':
        this.#messages.endPart(block);
        return this.#writer.addState(opaque, 'block');
      case 'reasoning':
        return this.#endReasoning(block, opaque);
      case 'call':
        return this.#endCall(block, opaque);
      case 'hosted':
        return this.#hosted.end(block, opaque);
    }
  }

  #endReasoning(block: OpenReasoning, [sealed, ...others]: readonly Opaque[]): void {
    if (sealed) this.#startReasoning(block);
    if (block.id === '') return;
    this.#endSummaryPart(block);
    this.#writer.finish(block.index, {
      id: block.id,
      type: 'reasoning',
      summary: block.summary,
      ...(sealed ? { encrypted_content: writeSealed(sealed, undefined) } : {}),
    });
    this.#writer.addState(others, undefined);
  }

  #endCall(call: OpenCall, opaque: readonly Opaque[]): void {
    const owner = { call: call.ensureCallId(this.#context.id, this.#writer.output.length) };
    const isStarted = call.index !== undefined;
    if (!isStarted) {
      this.#writer.addState(opaque, owner, call.start.block);
      this.#startCall(call);
    }
    this.#confirmCall('completed');
    this.#writer.emit(call.nameEvent('done'), call.doneFields);
    this.#unconfirmedCall = call;
    if (!isStarted || opaque.length === 0) return;
    this.#confirmCall('completed');
    this.#writer.addState(opaque, owner);
  }

  /** Agents run a call as soon as it is done, so a call that was cut must not look complete. */
  #confirmCall(status: 'incomplete' | 'completed'): void {
    const call = this.#unconfirmedCall;
    this.#unconfirmedCall = undefined;
    if (call?.index !== undefined) this.#writer.finish(call.index, call.toItem(status, call.text));
  }

  #finish(event: EventOf<'finish'>): void {
    this.#reason = event.reason;
    if (event.reason.unified === 'pause')
      this.#context.reportLoss?.('finish', 'responses reports a paused turn as "incomplete"');
    this.#confirmCall(this.#lastStatus);
  }

  #describe(event: EventOf<'annotation' | 'logprobs'>): void {
    const part = this.#blocks.get(event.block);
    if (part?.kind !== 'part') return;
    if (event.type === 'annotation') this.#messages.addAnnotation(part, event.annotation);
    else part.addLogprobs(event.content);
  }
}
