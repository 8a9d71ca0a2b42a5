/**
 * Decodes the function calls of one candidate. A part usually holds a whole call. Vertex may spread a call
 * over several parts: the first has the name, and all but the last have `willContinue`.
 */
import type { Opaque } from '../../../core/index.ts';
import { unwrapInput } from '../../shared/wire-kit/offered-tools.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { makeCallId } from './call-id.ts';
import type { ReplyState } from './decode-candidate.ts';
import { PartialArguments } from './partial-args.ts';

interface OpenCall {
  readonly name: string;
  readonly id: string;
  readonly opaque: Opaque[];
  readonly pieces: PartialArguments;
  /** Arguments that came whole. */
  args: unknown;
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export class FunctionCalls {
  readonly #candidate: number;
  readonly #state: ReplyState;
  #open: OpenCall | undefined;
  #count = 0;

  constructor(candidate: number, state: ReplyState) {
    this.#candidate = candidate;
    this.#state = state;
  }

  get any(): boolean {
    return this.#count > 0;
  }

  /** Reads the `functionCall` of one part. */
  read(call: Fields, opaque: readonly Opaque[]): void {
    const name = asText(call.name);
    if (name !== '' || !this.#open) {
      this.end();
      if (name === '') return;
      this.#count += 1;
      this.#open = { name, id: asText(call.id), opaque: [], pieces: new PartialArguments(), args: undefined };
    }
    const open = this.#open;
    for (const state of opaque) open.opaque.push(state);
    open.args = call.args ?? open.args;
    const pieces: unknown[] = Array.isArray(call.partialArgs) ? call.partialArgs : [];
    for (const piece of pieces) open.pieces.add(piece);
    if (call.willContinue !== true) this.end();
  }

  /** Emits the open call, if there is one. */
  end(): void {
    if (!this.#open) return;
    const { name, id, opaque, pieces, args } = this.#open;
    this.#open = undefined;
    const candidate = this.#candidate;
    const { nextBlock, emit, key, offered } = this.#state;
    const tool = offered().get(name);
    const json = args === undefined ? pieces.toString() : JSON.stringify(args);
    const block = nextBlock();
    const sealed = opaque.length > 0 ? { opaque } : {};
    emit({
      type: 'block-start',
      candidate,
      block,
      kind: 'tool-call',
      id: id || makeCallId(key(), candidate, this.#count, name, json),
      name: tool?.name ?? name,
      ...(tool?.custom ? { custom: true } : {}),
      ...sealed,
    });
    emit({ type: 'block-delta', candidate, block, text: tool?.custom ? unwrapInput(json) : json });
    emit({ type: 'block-end', candidate, block, ...sealed });
  }
}
