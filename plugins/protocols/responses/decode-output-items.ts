/**
 * The output items of one reply as canonical blocks, put together from their events. Items and parts are told apart
 * by where they stand, never by their ids, which some relays change with every event. What an event already told is
 * countedFields, so that the whole item at the end only adds what was missing: some vendors send no deltas.
 */
import { knownCount, type BlockKind, type CanonicalEvent, type Opaque } from '../../../core/index.ts';
import { codeResult } from '../../shared/wire-kit/hosted-tools.ts';
import { ArgumentPieces } from '../../shared/wire-kit/tool-arguments.ts';
import { isObject, leftover, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { decodeAnnotation } from './annotations.ts';
import { bag } from './bag.ts';
import { partBreak } from './decode-items.ts';
import { headNames } from './item-flags.ts';
import { readSealed } from './sealed.ts';
import type { ToolNames } from './tool-names.ts';

interface Part {
  readonly block: number;
  sent: number;
  annotations: number;
  logprobs: number;
  over: boolean;
}

interface Item {
  readonly type: string;
  /** Of a message: its parts by their index. */
  readonly parts: Map<number, Part>;
  /** Of a message: the part that began last. The others are over. */
  latest: Part | undefined;
  /** Of reasoning: characters sent of each part, by its list and index. */
  readonly thoughts: Map<string, number>;
  /** Of a message: what it says of itself, to be told with its first part. */
  readonly head: Fields;
  /** Of reasoning and calls: their one block, once there is one. */
  block: number | undefined;
  sent: number;
  /** Of a call of a function. */
  readonly pieces: ArgumentPieces;
  callId: string | undefined;
  /** Of reasoning: its id, which its seal is bound to. */
  readonly own: Facts;
  over: boolean;
}

type Facts = Omit<Extract<CanonicalEvent, { type: 'block-start' }>, 'type' | 'candidate' | 'block' | 'kind'>;

const messageHead = new Set([...headNames, 'role', 'content']);

function word(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export class OutputItemDecoder {
  readonly #emit: (event: CanonicalEvent) => void;
  readonly #names: () => ToolNames;
  readonly #sealer: string;
  readonly #items = new Map<number, Item>();
  /** State of tool calls, which comes in an item of its own. */
  readonly #sealed = new Map<string, Opaque[]>();
  #latest = 0;
  /** The type of the item that began last. */
  #latestType = '';
  #blocks = 0;
  calls = false;
  refusal = false;
  /** Whether a piece of text was lost: what a part says as a whole is then no continuation of its pieces. */
  torn = false;

  /** `sealer` is whose sealed state it is that stands in no envelope. */
  constructor(emit: (event: CanonicalEvent) => void, names: () => ToolNames, sealer: string) {
    this.#emit = emit;
    this.#names = names;
    this.#sealer = sealer;
  }

  get any(): boolean {
    return this.#items.size > 0;
  }

  /** An item begins. */
  add(place: unknown, wire: Fields): Item {
    const index = typeof place === 'number' && Number.isSafeInteger(place) ? place : this.#latest;
    const known = this.#items.get(index);
    if (known) return known;
    this.#latest = index;
    const type = word(wire.type);
    const follows = this.#latestType === 'message';
    this.#latestType = type;
    const rest = type === 'message' ? leftover(wire, messageHead) : {};
    const head = follows || Object.keys(rest).length > 0 ? { item: rest } : {};
    const own = type === 'reasoning' && word(wire.id) !== '' ? bag.keep({ id: wire.id }) : {};
    const item: Item = {
      type,
      own,
      parts: new Map(),
      latest: undefined,
      thoughts: new Map(),
      head,
      block: undefined,
      sent: 0,
      pieces: new ArgumentPieces(),
      callId: undefined,
      over: false,
    };
    this.#items.set(index, item);
    if (isCall(type)) this.#startCall(item, wire);
    return item;
  }

  /** Text of a message's part, or of a refusal. */
  say(
    place: unknown,
    position: unknown,
    kind: 'text' | 'refusal',
    text: string,
    logprobs: readonly unknown[] = [],
  ): void {
    const item = this.add(place, { type: 'message' });
    const part = this.#part(item, Number(position) || 0, kind);
    this.#tell(part, text, logprobs);
  }

  annotate(place: unknown, position: unknown, wire: unknown): void {
    if (!isObject(wire)) return;
    const part = this.#part(this.add(place, { type: 'message' }), Number(position) || 0, 'text');
    part.annotations += 1;
    this.#emit({ type: 'annotation', candidate: 0, block: part.block, annotation: decodeAnnotation(wire) });
  }

  /** A part of a message, whole. */
  endPart(place: unknown, position: unknown, wire: Fields): void {
    const item = this.add(place, { type: 'message' });
    const refused = wire.type === 'refusal';
    const part = this.#part(item, Number(position) || 0, refused ? 'refusal' : 'text');
    if (part.over) return;
    this.#tell(
      part,
      this.torn && part.sent > 0 ? '' : word(wire[refused ? 'refusal' : 'text']).slice(part.sent),
      list(wire.logprobs).slice(part.logprobs),
    );
    for (const annotation of list(wire.annotations).slice(part.annotations))
      this.annotate(place, position, annotation);
    this.#endPart(part);
  }

  /** Text of a part of a summary, or of the reasoning itself. */
  reason(place: unknown, kind: 'summary' | 'content', position: unknown, text: string): void {
    const item = this.add(place, { type: 'reasoning' });
    const key = `${kind} ${Number(position) || 0}`;
    const told = item.thoughts.get(key);
    if (text === '' || item.over) return;
    const fresh = item.block === undefined;
    const block = (item.block ??= this.#start('reasoning', item.own));
    if (told === undefined && !fresh)
      this.#emit({ type: 'block-delta', candidate: 0, block, text: partBreak, ...bag.keep({ break: true }) });
    item.thoughts.set(key, (told ?? 0) + text.length);
    this.#emit({ type: 'block-delta', candidate: 0, block, text });
  }

  /** Arguments of a call, or the input of a custom one. */
  argue(place: unknown, custom: boolean, text: string): void {
    const item = this.add(place, { type: custom ? 'custom_tool_call' : 'function_call' });
    if (text === '' || item.block === undefined || item.over) return;
    item.sent += text.length;
    this.#pass(item.block, custom ? text : item.pieces.add(text));
  }

  #pass(block: number, text: string): void {
    if (text !== '') this.#emit({ type: 'block-delta', candidate: 0, block, text });
  }

  /** A picture as far as it is painted: its item comes when it is done. */
  paint({
    type: _type,
    sequence_number: _number,
    output_index: _index,
    partial_image_index: index,
    partial_image_b64: data,
    ...facts
  }: Fields): void {
    if (typeof data === 'string')
      this.#emit({
        type: 'partial-image',
        candidate: 0,
        index: knownCount(index) ?? 0,
        data,
        ...bag.keep(facts),
      });
  }

  /** An item, whole. */
  done(place: unknown, wire: Fields): void {
    const item = this.add(place, wire);
    if (item.over) return;
    if (item.type === 'message') this.#endMessage(place, item, wire);
    else if (item.type === 'reasoning') this.#endReasoning(place, item, wire);
    else if (isCall(item.type)) this.#endCall(place, item, wire);
    else this.#tellHosted(item.type, wire);
    item.over = true;
  }

  /** The reply stops here: ends what is still open. */
  close(): void {
    for (const item of this.#items.values()) {
      for (const part of item.parts.values()) this.#endPart(part);
      if (item.block !== undefined && !item.over) this.#end(item.block);
      item.over = true;
    }
  }

  #start(kind: BlockKind, facts: Facts = {}): number {
    const block = this.#blocks;
    this.#blocks += 1;
    this.#emit({ type: 'block-start', candidate: 0, block, kind, ...facts });
    return block;
  }

  #end(block: number, opaque: readonly Opaque[] = []): void {
    this.#emit({
      type: 'block-end',
      candidate: 0,
      block,
      ...(opaque.length > 0 ? { opaque: [...opaque] } : {}),
    });
  }

  #part(item: Item, position: number, kind: 'text' | 'refusal'): Part {
    const known = item.parts.get(position);
    if (known) return known;
    if (item.latest) this.#endPart(item.latest);
    if (kind === 'refusal') this.refusal = true;
    const block = this.#start(kind, item.parts.size === 0 ? bag.keep(item.head) : {});
    const part: Part = { block, sent: 0, annotations: 0, logprobs: 0, over: false };
    item.parts.set(position, part);
    item.latest = part;
    return part;
  }

  /** Log probabilities stand before the text they belong to. */
  #tell(part: Part, text: string, logprobs: readonly unknown[]): void {
    if (part.over) return;
    if (logprobs.length > 0)
      this.#emit({ type: 'logprobs', candidate: 0, block: part.block, content: [...logprobs] });
    if (text !== '') this.#emit({ type: 'block-delta', candidate: 0, block: part.block, text });
    part.logprobs += logprobs.length;
    part.sent += text.length;
  }

  #endPart(part: Part): void {
    if (!part.over) this.#end(part.block);
    part.over = true;
  }

  #endMessage(place: unknown, item: Item, wire: Fields): void {
    for (const [position, part] of list(wire.content).entries())
      if (isObject(part)) this.endPart(place, position, part);
    for (const part of item.parts.values()) this.#endPart(part);
  }

  #endReasoning(place: unknown, item: Item, wire: Fields): void {
    for (const kind of ['summary', 'content'] as const) {
      // The reasoning itself is told where there is no summary of it.
      if (kind === 'content' && list(wire.summary).length > 0) break;
      for (const [position, part] of list(wire[kind]).entries()) {
        const told = item.thoughts.get(`${kind} ${position}`) ?? 0;
        if (isObject(part) && !(this.torn && told > 0))
          this.reason(place, kind, position, word(part.text).slice(told));
      }
    }
    const encrypted = word(wire.encrypted_content);
    const sealed = encrypted === '' ? undefined : readSealed(encrypted, this.#sealer);
    if (sealed && typeof sealed.owner === 'object') this.#sealCall(sealed.owner.call, sealed.opaque);
    else if (sealed) this.#end(item.block ?? this.#start('reasoning', item.own), [sealed.opaque]);
    else if (item.block !== undefined) this.#end(item.block);
  }

  #sealCall(callId: string, state: Opaque): void {
    const states = this.#sealed.get(callId);
    if (states) states.push(state);
    else this.#sealed.set(callId, [state]);
  }

  #startCall(item: Item, wire: Fields): void {
    const name = word(wire.name);
    if (name === '') return;
    const namespace = word(wire.namespace) || undefined;
    item.callId = word(wire.call_id) || word(wire.id) || undefined;
    this.calls = true;
    const custom = item.type === 'custom_tool_call' ? { custom: true } : {};
    item.block = this.#start('tool-call', {
      id: item.callId,
      name: this.#names().toCanonical({ name, namespace }),
      ...custom,
    });
  }

  #endCall(place: unknown, item: Item, wire: Fields): void {
    if (item.block === undefined) this.#startCall(item, wire);
    if (item.block === undefined) return;
    const custom = item.type === 'custom_tool_call';
    this.argue(place, custom, word(wire[custom ? 'input' : 'arguments']).slice(item.sent));
    if (!custom) this.#pass(item.block, item.pieces.end());
    this.#end(item.block, this.#sealed.get(item.callId ?? ''));
  }

  /** What the vendor ran itself: its code, its pictures, its searches. */
  #tellHosted(type: string, wire: Fields): void {
    const { result, ...rest } = wire;
    const id = word(wire.id) || undefined;
    if (type === 'image_generation_call') {
      const block = this.#start('image', {
        id,
        mediaType: `image/${word(wire.output_format) || 'png'}`,
        ...bag.keep({ item: rest }),
      });
      return this.#tellWhole(block, word(result));
    }
    if (type === 'code_interpreter_call') return this.#tellCode(id, wire);
    const action: unknown = wire.action;
    this.#tellWhole(
      this.#start('server-tool', { id, name: type.replace(/_call$/, ''), ...bag.keep({ item: wire }) }),
      isObject(action) ? JSON.stringify(action) : '',
    );
  }

  /** Code that was run, and behind it what it wrote. */
  #tellCode(id: string | undefined, wire: Fields): void {
    this.#tellWhole(this.#start('code', { id, ...bag.keep({ item: wire }) }), word(wire.code));
    const logs = list(wire.outputs).flatMap((output) =>
      isObject(output) && output.type === 'logs' ? [word(output.logs)] : [],
    );
    if (logs.length > 0)
      this.#tellWhole(
        this.#start('server-tool', { name: codeResult, ...bag.keep({ told: true }) }),
        logs.join('\n'),
      );
  }

  #tellWhole(block: number, text: string): void {
    this.#pass(block, text);
    this.#end(block);
  }
}

function isCall(type: string): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}
