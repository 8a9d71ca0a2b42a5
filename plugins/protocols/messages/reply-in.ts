/**
 * Decodes a provider's reply to canonical events: a stream event by event, or a JSON reply like the stream
 * that would have produced it. Verbatim streams pass through here too, to be metered.
 */
import {
  toCount,
  type ClientCall,
  type Usage,
  type BlockKind,
  type Opaque,
  GatewayError,
  type CanonicalEvent,
  type EventDecoder,
  type WireEvent,
} from '../../../core/index.ts';
import { isError } from '../../shared/vendors/errors.ts';
import { considerCalls, readFinish, readWord } from '../../shared/vendors/finish-reason.ts';
import { sumCacheWrites } from '../../shared/wire-kit/cache-writes.ts';
import { parseJson, unreadableEvent } from '../../shared/wire-kit/event-data.ts';
import { readServedMode } from '../../shared/wire-kit/modes.ts';
import { createToolFinder, unwrapInput, type FindTool } from '../../shared/wire-kit/offered-tools.ts';
import { type BlockFacts, ReplyLog } from '../../shared/wire-kit/reply-log.ts';
import { ArgumentPieces, parseLongNumbers } from '../../shared/wire-kit/tool-arguments.ts';
import { readObject, readObjects, readText, readList, readMember } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields, pickStated, splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { MessagesCall } from './call.ts';
import {
  getRequestedLifetime,
  bag,
  nativeVendor,
  fitName,
  makeCallId,
  readStreamError,
  type Lifetime,
} from './encoding.ts';
import { decodeAnnotation } from './reply-facts.ts';

/** Tokens written to the cache for each lifetime. */
type Split = Readonly<Record<Lifetime, number>>;

function readSplit({ cache_creation: split }: Fields): Split | undefined {
  if (!isObject(split)) return undefined;
  const [short, long] = [toCount(split.ephemeral_5m_input_tokens), toCount(split.ephemeral_1h_input_tokens)];
  return short === undefined && long === undefined ? undefined : { '5m': short ?? 0, '1h': long ?? 0 };
}

/** Adds up the splits of rounds with hosted tools. Returns undefined if the sum is not all writes. */
function splitByRounds({ iterations }: Fields, written: number): Split | undefined {
  const sum = { '5m': 0, '1h': 0 };
  for (const round of readObjects(iterations)) {
    const split = round.type === 'compaction' ? undefined : readSplit(round);
    sum['5m'] += split?.['5m'] ?? 0;
    sum['1h'] += split?.['1h'] ?? 0;
  }
  return sum['5m'] + sum['1h'] === written ? sum : undefined;
}

/** Returns the cache lifetime that a call requests, or undefined if the provider reports no cache writes. */
function readLifetime(
  call: ClientCall,
  { cache_creation_input_tokens: written }: Fields,
): Lifetime | undefined {
  if (!toCount(written)) return undefined;
  return call instanceof MessagesCall ? call.lifetime : getRequestedLifetime(call.decode());
}

/**
 * Splits the writes by lifetime. A split that does not add up to all writes is that of the first round. Later
 * rounds write with the lifetime of the request's last mark. Marks for an hour have to come first, so that is
 * five minutes if any mark is for five minutes.
 */
function readWrites(wire: Fields, requested: Lifetime): Partial<Split> {
  const written = toCount(wire.cache_creation_input_tokens);
  const first = readSplit(wire);
  if (written === undefined) return first ?? {};
  const rounds = splitByRounds(wire, written);
  if (rounds) return { '5m': rounds['5m'], ...(first || rounds['1h'] > 0 ? { '1h': rounds['1h'] } : {}) };
  if (!first) return requested === '1h' ? { '5m': 0, '1h': written } : { '5m': written };
  const rest = written - first['5m'] - first['1h'];
  if (rest === 0) return first;
  const [lifetime = requested] = (['5m', '1h'] as const).filter((each) => first[each] > 0);
  if (rest < 0) return lifetime === '1h' ? { '5m': 0, '1h': written } : { '5m': written };
  return { ...first, [lifetime]: first[lifetime] + rest };
}

/** Returns undefined if no count is known. `requested` is the requested cache lifetime. */
function decodeUsage(wire: Fields, requested: Lifetime = '5m'): Usage | undefined {
  const counts: Record<string, number> = {};
  // To compact a conversation, Anthropic reads it once more, and bills that outside the totals.
  const compactions = readObjects(wire.iterations).filter(({ type }) => type === 'compaction');
  for (const part of [wire, ...compactions]) {
    for (const [name, count] of Object.entries(readCounts(part, requested)))
      if (count !== undefined) counts[name] = (counts[name] ?? 0) + count;
  }
  return Object.keys(counts).length > 0 ? counts : undefined;
}

function readCounts(wire: Fields, requested: Lifetime): Readonly<Record<string, number | undefined>> {
  const { '5m': cacheWrite5m, '1h': cacheWrite1h } = readWrites(wire, requested);
  const cacheRead = toCount(wire.cache_read_input_tokens);
  const rest = toCount(wire.input_tokens);
  return {
    input:
      rest === undefined ? undefined : rest + (cacheRead ?? 0) + (cacheWrite5m ?? 0) + (cacheWrite1h ?? 0),
    cacheRead,
    cacheWrite5m,
    cacheWrite1h,
    output: toCount(wire.output_tokens),
    reasoning: toCount(readObject(wire.output_tokens_details).thinking_tokens),
    webSearches: toCount(readObject(wire.server_tool_use).web_search_requests),
  };
}

/** Returns the complete usage object. `unknown` replaces counts that the provider did not report. */
export function encodeUsage(
  usage: Usage,
  unknown: { readonly input: number; readonly output: number },
): Record<string, unknown> {
  const { cacheRead, cacheWrite1h, cacheWrite12h, reasoning, webSearches } = usage;
  const written = sumCacheWrites(usage);
  const isSplit = cacheWrite1h !== undefined || cacheWrite12h !== undefined;
  const long = (cacheWrite1h ?? 0) + (cacheWrite12h ?? 0);
  const input = usage.input ?? unknown.input;
  return {
    input_tokens: Math.max(0, input - (cacheRead ?? 0) - (written ?? 0)),
    cache_creation_input_tokens: written ?? null,
    cache_read_input_tokens: cacheRead ?? null,
    cache_creation: isSplit
      ? { ephemeral_5m_input_tokens: (written ?? 0) - long, ephemeral_1h_input_tokens: long }
      : null,
    output_tokens: usage.output ?? unknown.output,
    output_tokens_details: reasoning === undefined ? null : { thinking_tokens: reasoning },
    server_tool_use:
      webSearches === undefined ? null : { web_search_requests: webSearches, web_fetch_requests: 0 },
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
  };
}

interface CallState {
  readonly pieces: ArgumentPieces;
  /** Whether a custom tool was offered as a function: its text is unwrapped from the arguments at the end. */
  readonly custom: boolean;
  /** Complete arguments in the block's start. Some relays send them there. */
  readonly input: unknown;
}

interface OpenBlock {
  readonly block: number;
  readonly call: CallState | undefined;
  /** The arguments so far. */
  text: string;
  readonly opaque: Opaque[];
}

const callFields = new Set(['type', 'id', 'name', 'input']);

class OpenBlocks {
  readonly #findTool: FindTool;
  readonly #log: ReplyLog;
  readonly #open = new Map<unknown, OpenBlock>();
  /** The id of the reply. Missing call ids are derived from it. */
  replyId = '';
  calls = 0;

  constructor(call: ClientCall, log: ReplyLog) {
    this.#findTool = createToolFinder(call, call instanceof MessagesCall, fitName);
    this.#log = log;
  }

  /** True while a tool call is open. A skipped event would then break its arguments. */
  get hasCall(): boolean {
    return [...this.#open.values()].some(({ call }) => call);
  }

  addWhole(index: number, wire: Fields): void {
    this.start(index, wire);
    for (const citation of readObjects(wire.citations)) this.#cite(index, citation);
    this.end(index);
  }

  start(index: unknown, wire: Fields): void {
    this.end(index);
    const { type } = wire;
    if (type === 'tool_use') this.#startCall(index, wire);
    else if (type === 'text' || type === 'thinking') {
      const open = this.#start(index, type === 'text' ? 'text' : 'reasoning');
      this.#emitText(open, readText(wire[type]));
      if (readText(wire.signature) !== '') this.#seal(open, 'signature', readText(wire.signature));
    } else if (type === 'redacted_thinking') {
      this.#seal(this.#start(index, 'reasoning'), 'encrypted', readText(wire.data));
    } else {
      this.#startServerTool(index, wire);
    }
  }

  #start(index: unknown, kind: BlockKind, facts?: BlockFacts, call?: CallState): OpenBlock {
    const block = this.#log.startBlock(0, kind, facts);
    const open = { block, text: '', call, opaque: [] };
    this.#open.set(index, open);
    return open;
  }

  /** Returns false if no block with this index is open. */
  add(index: unknown, delta: Fields): boolean {
    const open = this.#open.get(index);
    if (!open) return false;
    if (delta.type === 'text_delta') this.#emitText(open, readText(delta.text));
    else if (delta.type === 'thinking_delta') this.#emitText(open, readText(delta.thinking));
    else if (delta.type === 'input_json_delta') this.#addArguments(open, readText(delta.partial_json));
    else if (delta.type === 'signature_delta') this.#seal(open, 'signature', readText(delta.signature));
    else if (delta.type !== 'citations_delta')
      this.#log.emit({ type: 'block-delta', candidate: 0, block: open.block, text: '', ...bag.keep(delta) });
    else if (isObject(delta.citation)) this.#cite(index, delta.citation);
    return true;
  }

  end(index: unknown): void {
    const open = this.#open.get(index);
    if (!open) return;
    this.#open.delete(index);
    if (open.call) this.#endCall(open, open.call);
    this.#log.endBlock(0, open.block, open.opaque);
  }

  endAll(): void {
    for (const index of this.#open.keys()) this.end(index);
  }

  /** Keeps the vendor's blocks for clients of this protocol. Only the input is emitted as text. */
  #startServerTool(index: unknown, wire: Fields): void {
    const { name, input } = wire;
    const hasInput = isObject(input) && Object.keys(input).length > 0;
    const open = this.#start(index, 'server-tool', {
      ...(typeof name === 'string' ? { name } : {}),
      ...bag.keep(hasInput ? { ...wire, input: {} } : wire),
    });
    if (hasInput) this.#emitText(open, JSON.stringify(input));
  }

  #startCall(index: unknown, wire: Fields): void {
    const { id, name, input } = wire;
    this.calls += 1;
    const tool = this.#findTool(readText(name));
    const custom = tool?.custom ?? false;
    const facts = {
      id: readText(id) || makeCallId(this.replyId, this.#log.blocks),
      name: tool?.name ?? readText(name),
      ...(custom ? { custom } : {}),
      ...bag.keep(pickStated(wire, callFields)),
    };
    this.#start(index, 'tool-call', facts, { pieces: new ArgumentPieces(), custom, input });
  }

  #addArguments(open: OpenBlock, piece: string): void {
    const { call } = open;
    open.text += piece;
    if (!call?.custom) this.#emitText(open, call ? call.pieces.add(piece) : piece);
  }

  #emitText({ block }: OpenBlock, text: string): void {
    this.#log.addText(0, block, text);
  }

  #seal({ opaque }: OpenBlock, kind: string, value: string): void {
    opaque.push({ vendor: nativeVendor, kind, value });
  }

  #cite(index: unknown, citation: Fields): void {
    const open = this.#open.get(index);
    if (open) this.#log.cite(0, open.block, decodeAnnotation(citation));
  }

  /** A call without arguments streams no text. In a JSON reply, its input is an empty object. */
  #endCall(open: OpenBlock, { input = null, custom, pieces }: CallState): void {
    const whole = open.text === '' && input !== null ? JSON.stringify(input) : undefined;
    this.#emitText(open, custom ? unwrapInput(whole ?? open.text) : (whole ?? pieces.end()));
  }
}

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #blocks: OpenBlocks;
  readonly #log = new ReplyLog();
  #usage: Fields = {};
  #lifetime: Lifetime | undefined;
  /** The stop reason of a message that has already stopped in `message_start`. */
  #stopped: Fields | undefined;
  #started = false;
  /** Whether an unreadable event was skipped. */
  #hasGap = false;
  #finished = false;

  constructor(call: ClientCall) {
    this.#call = call;
    this.#blocks = new OpenBlocks(call, this.#log);
  }

  push(wire: WireEvent): CanonicalEvent[] {
    if (!this.#log.isOver) this.#take(parseJson(wire.data), wire);
    return this.#log.take();
  }

  end(): CanonicalEvent[] {
    this.#log.isOver = true;
    return this.#log.take();
  }

  /** Decodes a message that is not streamed. Throws `upstream_failed` if the body is not a message. */
  decodeWhole(body: unknown, text = ''): CanonicalEvent[] {
    if (isObject(body) && isError(body)) {
      this.#fail(body);
      return this.#log.take();
    }
    const content: unknown = isObject(body) ? body.content : undefined;
    if (!isObject(body) || !Array.isArray(content))
      throw new GatewayError('upstream_failed', 'The provider sent a reply that is not a message.');
    this.#start(body);
    // With the digits that the model wrote in the input of tools.
    const exact = parseLongNumbers(
      text,
      content.map((block) => readMember(block, 'input')),
    );
    this.#addBlocks(exact === undefined ? content : readList(readMember(exact, 'content')));
    const { stop_reason: reason, stop_sequence, stop_details = null } = body;
    // Some relays omit the reason of a complete reply.
    this.#finish({
      stop_reason: readWord(reason) ?? 'end_turn',
      stop_sequence,
      stop_details,
    });
    this.#stop();
    return this.#log.take();
  }

  #take(event: unknown, wire: WireEvent): void {
    if (!isObject(event)) return this.#skip(wire);
    const { index, delta, usage, message, content_block: block } = event;
    switch (event.type) {
      case 'content_block_delta':
        return isObject(delta) ? this.#addDelta(index, delta) : undefined;
      case 'message_start':
        return isObject(message) ? this.#startStream(message) : undefined;
      case 'content_block_start':
        return isObject(block) ? this.#startBlock(index, block) : undefined;
      case 'content_block_stop':
        return this.#blocks.end(index);
      case 'message_delta':
        if (isObject(usage)) this.#readUsage(usage);
        return isObject(delta) ? this.#finish(delta) : undefined;
      case 'message_stop':
        return this.#stop();
      case 'ping':
        return void this.#log.emit({ type: 'ping' });
      default:
        return isError(event, wire.event) ? this.#fail(event) : undefined;
    }
  }

  /** After a programmatic tool call, `message_start` may already hold content and a stop reason. */
  #startStream(message: Fields): void {
    if (this.#started) return;
    const { content, stop_reason, stop_sequence, stop_details = null } = message;
    if (hasStopped(message)) this.#stopped = { stop_reason, stop_sequence, stop_details };
    this.#start(omitOutput(message));
    if (Array.isArray(content)) this.#addBlocks(content.filter((block) => !isEmptyText(block)));
  }

  #start(message: Fields): void {
    if (this.#started) return;
    this.#started = true;
    const { id, model, usage } = message;
    this.#blocks.replyId = readText(id);
    this.#log.begin(id, model, undefined, bag.keep(pickStated(message, messageFields)));
    if (isObject(usage)) this.#readUsage(usage);
  }

  #startBlock(index: unknown, block: Fields): void {
    this.#start({});
    this.#blocks.start(index, block);
  }

  #addBlocks(content: readonly unknown[]): void {
    for (const [index, block] of content.filter(isObject).entries()) this.#blocks.addWhole(index, block);
  }

  #addDelta(index: unknown, delta: Fields): void {
    // The skipped event may have opened this block.
    if (!this.#blocks.add(index, delta) && this.#hasGap) this.#fail({ error: unreadableEvent });
  }

  /** Skips an unreadable event, but fails if it may have held arguments of a call. */
  #skip(wire: WireEvent): void {
    this.#hasGap = !this.#blocks.hasCall && this.#log.skip(wire);
    if (!this.#hasGap) this.#fail({ error: unreadableEvent });
  }

  #readUsage(usage: Fields): void {
    // The end of a stream reports cache writes as one number: their split by lifetime is kept from its start.
    this.#usage = { ...this.#usage, ...pickStated(usage, nothing) };
    this.#lifetime ??= readLifetime(this.#call, usage);
    const counted = decodeUsage(this.#usage, this.#lifetime);
    if (!counted) return;
    const { speed, inference_geo } = this.#usage;
    const mode = readServedMode({ speed, inference_geo }, this.#call);
    this.#log.emit({ type: 'usage', usage: { ...counted, ...mode } });
  }

  #finish(delta: Fields): void {
    const { stop_reason: reason, stop_sequence: stopSequence } = delta;
    const raw = readWord(reason);
    if (raw === undefined || this.#finished) return;
    // Clients run a call when it ends, so the calls of a failed reply do not end.
    if (readFinish(raw) === 'error') return this.#fail({ error: `it ended with "${raw}".` });
    this.#blocks.endAll();
    const unified = considerCalls(readFinish(raw), { any: this.#blocks.calls > 0, cut: this.#log.isCut(0) });
    this.#finished = true;
    this.#log.emit({
      type: 'finish',
      candidate: 0,
      reason: { unified, raw },
      ...(typeof stopSequence === 'string' ? { stopSequence } : {}),
      // In a stream, this delta holds the container of code execution.
      ...bag.keep(pickStated(delta, finishFields)),
    });
  }

  #stop(): void {
    if (this.#stopped) this.#finish(this.#stopped);
    if (this.#finished) this.#blocks.endAll();
    this.#log.end(this.#finished);
  }

  #fail(event: Fields): void {
    this.#log.fail(readStreamError(event));
  }
}

const nothing: ReadonlySet<string> = new Set();
const finishFields = splitNames('stop_reason stop_sequence');
/** Fields of a message that have a canonical name, or that other canonical events carry. */
const messageFields = splitNames('id type role model content stop_reason stop_sequence stop_details usage');

/** Whether a message has a stop reason. Some relays send an empty one before the message has stopped. */
function hasStopped({ stop_reason: reason }: Fields): boolean {
  return typeof reason === 'string' && reason !== '';
}

/**
 * Removes the output tokens of a stream's start, a placeholder of one or two tokens. If the end reports no
 * tokens, they would become the charge. The figures of a message that has already stopped are final.
 */
function omitOutput({ usage, ...message }: Fields): Fields {
  if (!isObject(usage)) return message;
  if (hasStopped(message)) return { ...message, usage };
  const { output_tokens: _, ...figures } = usage;
  return { ...message, usage: figures };
}

/** Some relays start a message with an empty text block, and then send the block's own events. */
function isEmptyText(block: unknown): boolean {
  return isObject(block) && block.type === 'text' && (block.text === '' || block.text === undefined);
}
