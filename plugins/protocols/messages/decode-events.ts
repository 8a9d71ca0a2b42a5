/**
 * A vendor's reply to canonical events: event by event, or a whole message, which is taken as the stream that would
 * have made it. It runs on every event of every stream, for metering if for nothing else.
 */
import {
  GatewayError,
  type CanonicalEvent,
  type ClientCall,
  type EventDecoder,
  type Opaque,
  type WireEvent,
} from '../../../core/index.ts';
import { parsed, cannotBeRead, canSkip } from '../../shared/wire-kit/event-data.ts';
import { servedMode } from '../../shared/wire-kit/modes.ts';
import { unwrapInput, offeredOtherwise, type AskedTool } from '../../shared/wire-kit/offered-tools.ts';
import { ArgumentPieces } from '../../shared/wire-kit/tool-arguments.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { decodeAnnotation } from './annotations.ts';
import { bag, nativeVendor } from './bag.ts';
import { readStreamError } from './errors.ts';
import { decodeFinish } from './finish.ts';
import { lifetimeOf } from './lifetime.ts';
import { MessagesCall } from './read-request.ts';
import { decodeStart, hasStopped, isEmptyText, withoutOutput } from './reply-start.ts';
import { fitName, makeCallId } from './tool-names.ts';
import { decodeUsage, mergeUsage } from './usage.ts';

interface OpenBlock {
  readonly block: number;
  /** Whether the call's text has to be taken out of its arguments, at the end. */
  readonly disguised: boolean;
  /** Of a call. */
  readonly pieces: ArgumentPieces | undefined;
  /** Of a call: its arguments so far, which are said as they come unless they are in disguise. */
  text: string;
  /** Arguments that came whole with the block's start, as some relays send them. */
  readonly input: unknown;
  readonly opaque: Opaque[];
}

const callFields = new Set(['type', 'id', 'name', 'input']);

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #open = new Map<unknown, OpenBlock>();
  #events: CanonicalEvent[] = [];
  #blocks = 0;
  #calls = 0;
  #usage: Fields = {};
  #lifetime: '5m' | '1h' | undefined;
  #reply = '';
  /** A message whose start already has its end: Anthropic answers the result of a programmatic tool call like this. */
  #stopped: Fields | undefined;
  #started = false;
  #lost = false;
  #finished = false;
  #over = false;
  #otherwise: ReadonlyMap<string, AskedTool> | undefined;

  constructor(call: ClientCall) {
    this.#call = call;
  }

  push(wire: WireEvent): CanonicalEvent[] {
    this.#events = [];
    if (!this.#over) this.#take(parsed(wire.data), wire);
    return this.#events;
  }

  end(): CanonicalEvent[] {
    this.#events = [];
    if (!this.#over) this.#close();
    this.#over = true;
    return this.#events;
  }

  /** A whole message at once. Throws where it is none. */
  whole(body: unknown): CanonicalEvent[] {
    this.#events = [];
    if (isObject(body) && (body.type === 'error' || isObject(body.error))) {
      this.#fail(body);
      return this.#events;
    }
    const content: unknown = isObject(body) ? body.content : undefined;
    if (!isObject(body) || !Array.isArray(content))
      throw new GatewayError('upstream_failed', 'The provider sent a reply that is no message.');
    this.#start(body);
    this.#tellBlocks(content);
    const { stop_reason: reason, stop_sequence, stop_details = null } = body;
    // Some relays leave the reason out of a reply that is whole.
    this.#finish({
      stop_reason: typeof reason === 'string' ? reason : 'end_turn',
      stop_sequence,
      stop_details,
    });
    this.#stop();
    return this.#events;
  }

  #take(event: unknown, wire: WireEvent): void {
    if (!isObject(event)) return this.#lose(wire);
    const { index, delta, usage, message, content_block: block } = event;
    switch (event.type) {
      case 'content_block_delta':
        return isObject(delta) ? this.#add(index, delta) : undefined;
      case 'message_start':
        return isObject(message) ? this.#opening(message) : undefined;
      case 'content_block_start':
        return isObject(block) ? this.#begin(index, block) : undefined;
      case 'content_block_stop':
        return this.#end(index);
      case 'message_delta':
        if (isObject(usage)) this.#count(usage);
        return isObject(delta) ? this.#finish(delta) : undefined;
      case 'message_stop':
        return this.#stop();
      case 'ping':
        return void this.#events.push({ type: 'ping' });
      default:
        return event.type === 'error' || event.error ? this.#fail(event) : undefined;
    }
  }

  /** Blocks that come whole. */
  #tellBlocks(content: readonly unknown[]): void {
    for (const [index, block] of content.filter(isObject).entries()) {
      this.#begin(index, block);
      const citations: unknown[] = Array.isArray(block.citations) ? block.citations : [];
      for (const citation of citations) if (isObject(citation)) this.#cite(index, citation);
      this.#end(index);
    }
  }

  /** The start of a stream; its message may already hold content, and why it stopped. */
  #opening(message: Fields): void {
    if (this.#started) return;
    const { content, stop_reason, stop_sequence, stop_details = null } = message;
    if (hasStopped(message)) this.#stopped = { stop_reason, stop_sequence, stop_details };
    this.#start(withoutOutput(message));
    if (Array.isArray(content)) this.#tellBlocks(content.filter((block) => !isEmptyText(block)));
  }

  /** Skips an event, unless a call's arguments would lack it. */
  #lose(wire: WireEvent): void {
    this.#lost = canSkip(wire) && [...this.#open.values()].every(({ pieces }) => !pieces);
    return this.#lost
      ? void this.#events.push({ type: 'unreadable' })
      : this.#fail({ message: cannotBeRead });
  }

  #start(message: Fields): void {
    if (this.#started) return;
    this.#started = true;
    const { id, usage } = message;
    this.#reply = text(id);
    this.#events.push(decodeStart(message));
    if (isObject(usage)) this.#count(usage);
  }

  #count(usage: Fields): void {
    this.#usage = mergeUsage(this.#usage, usage);
    this.#lifetime ??= lifetimeOf(this.#call, usage);
    const counted = decodeUsage(this.#usage, this.#lifetime);
    const { speed, inference_geo } = this.#usage;
    if (counted)
      this.#events.push({
        type: 'usage',
        usage: { ...counted, ...servedMode({ speed, inference_geo }, this.#call) },
      });
  }

  #begin(index: unknown, wire: Fields): void {
    this.#start({});
    this.#end(index);
    const block = this.#blocks;
    const place = { type: 'block-start' as const, candidate: 0, block };
    const open = { block, pieces: undefined, disguised: false, text: '', input: undefined, opaque: [] };
    this.#blocks += 1;
    const { type } = wire;
    if (type === 'tool_use') return this.#beginCall(index, wire, block);
    this.#open.set(index, open);
    if (type === 'text' || type === 'thinking') {
      this.#events.push({ ...place, kind: type === 'text' ? 'text' : 'reasoning' });
      this.#say(open, text(wire[type]));
      if (text(wire.signature) !== '') this.#seal(open, 'signature', text(wire.signature));
    } else if (type === 'redacted_thinking') {
      this.#events.push({ ...place, kind: 'reasoning' });
      this.#seal(open, 'encrypted', text(wire.data));
    } else {
      this.#beginTool(open, wire);
    }
  }

  /** The vendor's own tools and their results: kept whole for clients of this protocol, but for the input, which is text. */
  #beginTool(open: OpenBlock, wire: Fields): void {
    const { name, input } = wire;
    const hasInput = isObject(input) && Object.keys(input).length > 0;
    const own = bag.keep(hasInput ? { ...wire, input: {} } : wire);
    const facts = typeof name === 'string' ? { name } : {};
    this.#events.push({
      type: 'block-start',
      candidate: 0,
      block: open.block,
      kind: 'server-tool',
      ...facts,
      ...own,
    });
    if (hasInput) this.#say(open, JSON.stringify(input));
  }

  #beginCall(index: unknown, wire: Fields, block: number): void {
    const { id, name, input } = wire;
    this.#calls += 1;
    const tool = this.#asked(text(name));
    const custom = tool?.custom ?? false;
    this.#open.set(index, {
      block,
      pieces: new ArgumentPieces(),
      disguised: custom,
      text: '',
      input,
      opaque: [],
    });
    this.#events.push({
      type: 'block-start',
      candidate: 0,
      block,
      kind: 'tool-call',
      id: text(id) || makeCallId(this.#reply, block),
      name: tool?.name ?? text(name),
      ...(custom ? { custom } : {}),
      ...bag.keep(
        Object.fromEntries(
          Object.entries(wire).filter(([field, value]) => value !== null && !callFields.has(field)),
        ),
      ),
    });
  }

  /** A tool the client knows under another name, or as one that takes free text; only where it speaks another protocol. */
  #asked(name: string): AskedTool | undefined {
    this.#otherwise ??= offeredOtherwise(
      this.#call instanceof MessagesCall ? [] : (this.#call.decode().tools ?? []),
      fitName,
    );
    return this.#otherwise.get(name);
  }

  #add(index: unknown, delta: Fields): void {
    const open = this.#open.get(index);
    if (!open) return this.#lost ? this.#fail({ message: cannotBeRead }) : undefined;
    switch (delta.type) {
      case 'text_delta':
        return this.#say(open, text(delta.text));
      case 'thinking_delta':
        return this.#say(open, text(delta.thinking));
      case 'input_json_delta':
        return this.#argue(open, text(delta.partial_json));
      case 'signature_delta':
        return this.#seal(open, 'signature', text(delta.signature));
      case 'citations_delta':
        return isObject(delta.citation) ? this.#cite(index, delta.citation) : undefined;
      default:
        return void this.#events.push({
          type: 'block-delta',
          candidate: 0,
          block: open.block,
          text: '',
          ...bag.keep(delta),
        });
    }
  }

  #argue(open: OpenBlock, piece: string): void {
    open.text += piece;
    if (!open.disguised) this.#say(open, open.pieces ? open.pieces.add(piece) : piece);
  }

  #say({ block }: OpenBlock, said: string): void {
    if (said !== '') this.#events.push({ type: 'block-delta', candidate: 0, block, text: said });
  }

  #seal({ opaque }: OpenBlock, kind: string, value: string): void {
    opaque.push({ vendor: nativeVendor, kind, value });
  }

  #cite(index: unknown, citation: Fields): void {
    const open = this.#open.get(index);
    if (open)
      this.#events.push({
        type: 'annotation',
        candidate: 0,
        block: open.block,
        annotation: decodeAnnotation(citation),
      });
  }

  #end(index: unknown): void {
    const open = this.#open.get(index);
    if (!open) return;
    this.#open.delete(index);
    if (open.pieces) this.#endCall(open, open.pieces);
    this.#events.push({
      type: 'block-end',
      candidate: 0,
      block: open.block,
      ...(open.opaque.length > 0 ? { opaque: open.opaque } : {}),
    });
  }

  /** A call without arguments has none at all in a stream, and an empty object elsewhere. */
  #endCall(open: OpenBlock, pieces: ArgumentPieces): void {
    const { input = null, disguised } = open;
    const whole = open.text === '' && input !== null ? JSON.stringify(input) : undefined;
    if (disguised) this.#say(open, unwrapInput(whole ?? open.text));
    else this.#say(open, whole ?? pieces.end());
  }

  #finish({ stop_reason: raw, stop_sequence: stopSequence, ...rest }: Fields): void {
    if (typeof raw !== 'string' || this.#finished) return;
    this.#close();
    this.#finished = true;
    this.#events.push({
      type: 'finish',
      candidate: 0,
      reason: { unified: decodeFinish(raw, this.#calls > 0), raw },
      ...(typeof stopSequence === 'string' ? { stopSequence } : {}),
      // A stream tells the container of its code here.
      ...bag.keep(Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null))),
    });
  }

  #stop(): void {
    if (this.#stopped) this.#finish(this.#stopped);
    this.#close();
    this.#over = true;
    if (this.#finished) this.#events.push({ type: 'response-end' });
  }

  #close(): void {
    for (const index of this.#open.keys()) this.#end(index);
  }

  #fail(event: Fields): void {
    if (this.#over) return;
    this.#over = true;
    this.#events.push(readStreamError(event));
  }
}
