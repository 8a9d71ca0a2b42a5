/** Tool calls: those of a message in both directions, and those of a reply, which come in fragments. */
import type { Opaque, Block, ToolCall } from '../../../core/index.ts';
import { decodeMark } from '../../shared/openai/cache-breakpoint.ts';
import { openMembers, placeMembers } from '../../shared/openai/dialect.ts';
import { parseJson } from '../../shared/wire-kit/event-data.ts';
import { JsonEnd } from '../../shared/wire-kit/json-end.ts';
import { loseSeal } from '../../shared/wire-kit/losses.ts';
import { unwrapInput, type FindTool, wrapInput } from '../../shared/wire-kit/offered-tools.ts';
import type { ReplyLog } from '../../shared/wire-kit/reply-log.ts';
import { ArgumentPieces, isEmptyArguments } from '../../shared/wire-kit/tool-arguments.ts';
import { Transcript } from '../../shared/wire-kit/transcript.ts';
import { readObject, readText } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields, nestFields, overlay, trackReads } from '../../shared/wire-kit/vendor-bag.ts';
import {
  makeCallId,
  type Encoding,
  bag,
  dialect,
  encodeForeignMark,
  type Placed,
  encodeCallId,
} from './encoding.ts';
import { readSignatures, writeSignatures } from './reasoning.ts';
import type * as Wire from './wire.ts';

export function decodeFunctionCall(
  call: NonNullable<Wire.AssistantMessage['function_call']>,
  id: string,
  at: string,
): Block {
  const { seen, pickRest } = trackReads(call);
  const { name, arguments: text } = seen;
  return { type: 'tool-call', id, name, arguments: text, at, ...bag.keep(pickRest()) };
}

export function decodeCall(wire: Wire.ToolCall): Block {
  const call = trackReads<Fields>(wire);
  const { id, type } = call.seen;
  const custom = type === 'custom';
  const seen = openMembers(call, custom ? 'custom' : 'function', dialect);
  const text = custom ? seen.input : seen.arguments;
  const { opaque, rest } = readSignatures(call.seen.extra_content);
  return {
    type: 'tool-call',
    id: readText(id),
    name: readText(seen.name),
    arguments: readText(text),
    ...(custom ? { custom } : {}),
    ...(opaque.length > 0 ? { opaque } : {}),
    ...decodeMark(call, dialect),
    ...bag.keep({ ...call.pickRest(), ...nestFields('extra_content', rest) }),
  };
}

export function encodeCall({ block, path }: Placed<ToolCall>, encoding: Encoding): Fields {
  const { marksLike, extras, lose } = encoding;
  const { arguments: text, custom, namespace } = block;
  const id = encodeCallId(block.id, encoding);
  const name = encoding.nameTool(block.name);
  if (namespace !== undefined) lose(`${path}.namespace`, 'chat-completions has no namespaces for tools');
  if (block.cache && marksLike === 'openai')
    lose(`${path}.cache`, 'chat-completions has no cache marks on calls');
  const marks = marksLike === 'anthropic' ? encodeForeignMark(block) : {};
  const extra = { ...encodeSignatures(block.opaque, path, encoding), ...marks };
  const json = custom ? wrapInput(text) : text;
  const called =
    custom && extras
      ? { type: 'custom', name, input: text }
      : { type: 'function', name, arguments: json || '{}' };
  return overlay(bag.getFields(block), { id, ...placeMembers(called, dialect), ...extra });
}

/**
 * Google seals calls and images. Clients of its protocol may put the state of reasoning there, as LangChain4j
 * does. Other vendors refuse the field.
 */
export function encodeSignatures(opaque: Opaque[] = [], path: string, { owner, lose }: Encoding): Fields {
  const kept = opaque.filter(
    ({ vendor, kind, value }) => (vendor === owner || vendor === '') && kind === 'signature' && value !== '',
  );
  if (kept.length < opaque.length) loseSeal(path, lose);
  return writeSignatures(kept, ({ value }) => value);
}

/** The reply that choices and tool calls are part of. */
export interface ReplySink {
  readonly log: ReplyLog;
  /** Identifies this reply, for call ids that have to be generated. */
  readonly replyId: () => string;
  /** Finds the client's tool if the gateway sent it under another name or in another form. */
  readonly findTool: FindTool;
  /** The empty seal for reasoning that comes without one. */
  readonly unsealed: readonly Opaque[];
  /** The media type of audio in the reply. */
  readonly soundType: string | undefined;
  /** The answer that the provider continues and repeats; empty if there is none. */
  readonly continued: string;
}

class Call {
  readonly ordinal: number;
  readonly custom: boolean;
  /** Undefined until the name is known, since the start of a call's block holds it. */
  block: number | undefined;
  id = '';
  name = '';
  /** Whether a custom tool was offered as a function, so that its input is unwrapped at the end. */
  isWrapped = false;
  readonly transcript = new Transcript();
  /** The arguments of a function. "No arguments" wait until they are certain. */
  readonly pieces = new ArgumentPieces();
  /** What is to be emitted of the arguments. */
  pending = '';
  readonly opaque: Opaque[] = [];
  readonly #end = new JsonEnd();
  /** Whether the arguments are a complete object; undefined until `isWhole` parses them. */
  #isObject: boolean | undefined;

  constructor(ordinal: number, custom: boolean) {
    this.ordinal = ordinal;
    this.custom = custom;
  }

  addText(text: string): void {
    this.transcript.add(text);
    this.pending += this.custom ? text : this.pieces.add(text);
    this.#end.add(text);
    this.#isObject = undefined;
  }

  /** Whether the arguments are a complete object. Parses them only if all brackets are closed. */
  get isWhole(): boolean {
    return this.#end.closed && (this.#isObject ??= isObject(parseJson(this.transcript.text)));
  }
}

/** Arguments should be JSON text, but some providers send the object itself. */
function readArguments(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : readText(value);
}

/**
 * Assembles the tool calls of one candidate from their fragments. The index distinguishes the calls, if the
 * provider uses it as documented. Some providers send every call with index 0 and an id of its own, some send
 * no ids, and Google's chat endpoint sends empty ids. Calls stay open until the candidate ends, since more
 * fragments may come for each of them.
 */
export class ToolCalls {
  readonly #candidate: number;
  readonly #reply: ReplySink;
  /** Created with the first call. */
  #byIndex: Map<unknown, Call> | undefined;
  #calls: Call[] = [];
  #count = 0;

  constructor(candidate: number, reply: ReplySink) {
    this.#candidate = candidate;
    this.#reply = reply;
  }

  get any(): boolean {
    return this.#count > 0;
  }

  /** Whether the arguments of every open call look complete. */
  get whole(): boolean {
    return this.#calls.every((call) => call.custom || isEmptyArguments(call.transcript.text) || call.isWhole);
  }

  /** Adds a fragment to its call. The position in the chunk replaces a missing index. */
  take(fragment: Fields, position: number): void {
    const body = isObject(fragment.custom) ? fragment.custom : readObject(fragment.function);
    const index = fragment.index ?? position;
    const id = readText(fragment.id);
    const name = readText(body.name);
    const text = readArguments(body.arguments ?? body.input);
    let call = this.#byIndex?.get(index);
    // Snowflake and some relays send an empty call along with plain text.
    if (!call && id === '' && name === '' && text === '') return;
    if (!call || startsAnother(call, id, name, text)) {
      call = new Call(this.#count, isObject(fragment.custom));
      this.#count += 1;
      this.#calls.push(call);
      (this.#byIndex ??= new Map()).set(index, call);
    }
    call.id ||= id;
    call.name ||= name;
    if (text !== '') call.addText(text);
    if (fragment.extra_content !== undefined)
      for (const state of readSignatures(fragment.extra_content).opaque) call.opaque.push(state);
    if (call.name !== '') this.#emit(call);
  }

  end(): void {
    if (this.#calls.length === 0) return;
    for (const call of this.#calls) {
      if (call.isWrapped) call.pending = unwrapInput(call.transcript.text);
      // Other providers, and the examples of OpenAI's SDKs, parse arguments as JSON.
      else if (!call.custom) call.pending += call.pieces.end();
      this.#reply.log.endBlock(this.#candidate, this.#emit(call, true), call.opaque);
    }
    this.#calls = [];
    this.#byIndex = undefined;
  }

  /** Emits the pending arguments of a call, and returns its block. `last`: no more arguments follow. */
  #emit(call: Call, last = false): number {
    const block = call.block ?? this.#start(call);
    if (call.isWrapped && !last) return block;
    this.#reply.log.addText(this.#candidate, block, call.pending);
    call.pending = '';
    return block;
  }

  #start(call: Call): number {
    const { log, findTool, replyId } = this.#reply;
    const tool = findTool(call.name);
    call.isWrapped = !call.custom && (tool?.custom ?? false);
    call.block = log.startBlock(this.#candidate, 'tool-call', {
      id: call.id || makeCallId(replyId(), this.#candidate, call.ordinal),
      name: tool?.name ?? call.name,
      ...(call.custom || call.isWrapped ? { custom: true } : {}),
      ...(call.opaque.length > 0 ? { opaque: [...call.opaque] } : {}),
    });
    return call.block;
  }
}

/** Reads the call of providers that still send `function_call`. Snowflake sends an empty one with text. */
export function readFunctionCall(call: unknown): unknown[] {
  return isObject(call) ? [{ index: -1, function: call }] : [];
}

/** Whether a fragment begins another call: it has another id, or it follows complete arguments. */
function startsAnother(call: Call, id: string, name: string, text: string): boolean {
  if (id !== '' && call.id !== '') return id !== call.id;
  return name !== '' && (text !== '' || name !== call.name) && call.isWhole;
}
