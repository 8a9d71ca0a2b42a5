/** The content blocks of a provider's reply while they are open, as canonical events. */
import type { CanonicalEvent, ClientCall, Opaque } from '../../../core/index.ts';
import { unwrapInput, mapRenamedTools, type ClientTool } from '../../shared/wire-kit/offered-tools.ts';
import { ArgumentPieces } from '../../shared/wire-kit/tool-arguments.ts';
import { readText } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { decodeAnnotation } from './annotations.ts';
import { bag, nativeVendor } from './bag.ts';
import { MessagesCall } from './read-request.ts';
import { fitName, makeCallId } from './tool-names.ts';

interface OpenBlock {
  readonly block: number;
  /** True for a custom tool offered as a function: at the end, its text is unwrapped from the arguments. */
  readonly custom: boolean;
  /** The arguments of a call; undefined for other blocks. */
  readonly pieces: ArgumentPieces | undefined;
  /** All argument text so far. */
  text: string;
  /** Complete arguments in the block's start, as some relays send them. */
  readonly input: unknown;
  readonly opaque: Opaque[];
}

const callFields = new Set(['type', 'id', 'name', 'input']);

export class OpenBlocks {
  readonly #call: ClientCall;
  readonly #emit: (event: CanonicalEvent) => void;
  readonly #open = new Map<unknown, OpenBlock>();
  #blocks = 0;
  #renamedTools: ReadonlyMap<string, ClientTool> | undefined;
  /** The id of the reply, from which calls without an id get one. */
  replyId = '';
  /** The number of tool calls so far. */
  calls = 0;

  constructor(call: ClientCall, emit: (event: CanonicalEvent) => void) {
    this.#call = call;
    this.#emit = emit;
  }

  /** True while a tool call is open, whose arguments need every event. */
  get hasCall(): boolean {
    return [...this.#open.values()].some(({ pieces }) => pieces);
  }

  /** Handles a block that arrives in one piece. */
  addWhole(index: number, wire: Fields): void {
    this.start(index, wire);
    const citations: unknown[] = Array.isArray(wire.citations) ? wire.citations : [];
    for (const citation of citations) if (isObject(citation)) this.#cite(index, citation);
    this.end(index);
  }

  start(index: unknown, wire: Fields): void {
    this.end(index);
    const block = this.#blocks;
    this.#blocks += 1;
    const { type } = wire;
    if (type === 'tool_use') return this.#startCall(index, wire, block);
    const open = { block, pieces: undefined, custom: false, text: '', input: undefined, opaque: [] };
    this.#open.set(index, open);
    const start = { type: 'block-start' as const, candidate: 0, block };
    if (type === 'text' || type === 'thinking') {
      this.#emit({ ...start, kind: type === 'text' ? 'text' : 'reasoning' });
      this.#emitText(open, readText(wire[type]));
      if (readText(wire.signature) !== '') this.#seal(open, 'signature', readText(wire.signature));
    } else if (type === 'redacted_thinking') {
      this.#emit({ ...start, kind: 'reasoning' });
      this.#seal(open, 'encrypted', readText(wire.data));
    } else {
      this.#startServerTool(open, wire);
    }
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
      this.#emit({ type: 'block-delta', candidate: 0, block: open.block, text: '', ...bag.keep(delta) });
    else if (isObject(delta.citation)) this.#cite(index, delta.citation);
    return true;
  }

  end(index: unknown): void {
    const open = this.#open.get(index);
    if (!open) return;
    this.#open.delete(index);
    if (open.pieces) this.#endCall(open, open.pieces);
    this.#emit({
      type: 'block-end',
      candidate: 0,
      block: open.block,
      ...(open.opaque.length > 0 ? { opaque: open.opaque } : {}),
    });
  }

  endAll(): void {
    for (const index of this.#open.keys()) this.end(index);
  }

  /** The vendor's tools and their results stay whole for its clients, except the input, which is text. */
  #startServerTool(open: OpenBlock, wire: Fields): void {
    const { name, input } = wire;
    const hasInput = isObject(input) && Object.keys(input).length > 0;
    this.#emit({
      type: 'block-start',
      candidate: 0,
      block: open.block,
      kind: 'server-tool',
      ...(typeof name === 'string' ? { name } : {}),
      ...bag.keep(hasInput ? { ...wire, input: {} } : wire),
    });
    if (hasInput) this.#emitText(open, JSON.stringify(input));
  }

  #startCall(index: unknown, wire: Fields, block: number): void {
    const { id, name, input } = wire;
    this.calls += 1;
    const tool = this.#findClientTool(readText(name));
    const custom = tool?.custom ?? false;
    this.#open.set(index, { block, pieces: new ArgumentPieces(), custom, text: '', input, opaque: [] });
    const rest = Object.entries(wire).filter(([field, value]) => value !== null && !callFields.has(field));
    this.#emit({
      type: 'block-start',
      candidate: 0,
      block,
      kind: 'tool-call',
      id: readText(id) || makeCallId(this.replyId, block),
      name: tool?.name ?? readText(name),
      ...(custom ? { custom } : {}),
      ...bag.keep(Object.fromEntries(rest)),
    });
  }

  /** The tool of a client of another protocol that has another name there, or takes free text. */
  #findClientTool(name: string): ClientTool | undefined {
    this.#renamedTools ??= mapRenamedTools(
      this.#call instanceof MessagesCall ? [] : (this.#call.decode().tools ?? []),
      fitName,
    );
    return this.#renamedTools.get(name);
  }

  #addArguments(open: OpenBlock, piece: string): void {
    open.text += piece;
    if (!open.custom) this.#emitText(open, open.pieces ? open.pieces.add(piece) : piece);
  }

  #emitText({ block }: OpenBlock, text: string): void {
    if (text !== '') this.#emit({ type: 'block-delta', candidate: 0, block, text });
  }

  #seal({ opaque }: OpenBlock, kind: string, value: string): void {
    opaque.push({ vendor: nativeVendor, kind, value });
  }

  #cite(index: unknown, citation: Fields): void {
    const open = this.#open.get(index);
    if (!open) return;
    this.#emit({
      type: 'annotation',
      candidate: 0,
      block: open.block,
      annotation: decodeAnnotation(citation),
    });
  }

  /** A call without arguments streams no text at all; in a whole reply it has an empty object. */
  #endCall(open: OpenBlock, pieces: ArgumentPieces): void {
    const { input = null, custom } = open;
    const whole = open.text === '' && input !== null ? JSON.stringify(input) : undefined;
    this.#emitText(open, custom ? unwrapInput(whole ?? open.text) : (whole ?? pieces.end()));
  }
}
