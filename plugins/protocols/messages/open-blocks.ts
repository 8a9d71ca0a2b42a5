/** Turns the open content blocks of a provider's reply into canonical events. */
import type { BlockKind, ClientCall, Opaque } from '../../../core/index.ts';
import { createToolFinder, unwrapInput, type FindTool } from '../../shared/wire-kit/offered-tools.ts';
import type { BlockFacts, ReplyLog } from '../../shared/wire-kit/reply-log.ts';
import { ArgumentPieces } from '../../shared/wire-kit/tool-arguments.ts';
import { readObjects, readText } from '../../shared/wire-kit/values.ts';
import { isObject, pickStated, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { decodeAnnotation } from './annotations.ts';
import { bag, nativeVendor } from './bag.ts';
import { MessagesCall } from './read-request.ts';
import { fitName, makeCallId } from './tool-names.ts';

interface OpenBlock {
  readonly block: number;
  /** Whether a custom tool was offered as a function: its text is unwrapped from the arguments at the end. */
  readonly custom: boolean;
  /** The arguments of a call; undefined for other blocks. */
  readonly pieces: ArgumentPieces | undefined;
  text: string;
  /** Complete arguments in the block's start. Some relays send them there. */
  readonly input: unknown;
  readonly opaque: Opaque[];
}

const callFields = new Set(['type', 'id', 'name', 'input']);

export class OpenBlocks {
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
    return [...this.#open.values()].some(({ pieces }) => pieces);
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

  #start(index: unknown, kind: BlockKind, facts?: BlockFacts): OpenBlock {
    const block = this.#log.startBlock(0, kind, facts);
    const open = { block, pieces: undefined, custom: false, text: '', input: undefined, opaque: [] };
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
    if (open.pieces) this.#endCall(open, open.pieces);
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
    const block = this.#log.startBlock(0, 'tool-call', {
      id: readText(id) || makeCallId(this.replyId, this.#log.blocks),
      name: tool?.name ?? readText(name),
      ...(custom ? { custom } : {}),
      ...bag.keep(pickStated(wire, callFields)),
    });
    this.#open.set(index, { block, pieces: new ArgumentPieces(), custom, text: '', input, opaque: [] });
  }

  #addArguments(open: OpenBlock, piece: string): void {
    open.text += piece;
    if (!open.custom) this.#emitText(open, open.pieces ? open.pieces.add(piece) : piece);
  }

  #emitText({ block }: OpenBlock, text: string): void {
    this.#log.addText(0, block, text);
  }

  #seal({ opaque }: OpenBlock, kind: string, value: string): void {
    opaque.push({ vendor: nativeVendor, kind, value });
  }

  #cite(index: unknown, citation: Fields): void {
    const open = this.#open.get(index);
    if (!open) return;
    this.#log.emit({
      type: 'annotation',
      candidate: 0,
      block: open.block,
      annotation: decodeAnnotation(citation),
    });
  }

  /** A call without arguments streams no text. In a JSON reply, its input is an empty object. */
  #endCall(open: OpenBlock, pieces: ArgumentPieces): void {
    const { input = null, custom } = open;
    const whole = open.text === '' && input !== null ? JSON.stringify(input) : undefined;
    this.#emitText(open, custom ? unwrapInput(whole ?? open.text) : (whole ?? pieces.end()));
  }
}
