/**
 * The function calls of one candidate. Mostly a part holds a whole call; Vertex spreads one over several, the first
 * with its name and the last without a promise of more.
 */
import type { CanonicalEvent, Opaque } from '../../../core/index.ts';
import { unwrapInput, type AskedTool } from '../../shared/wire-kit/offered-tools.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { makeCallId } from './call-id.ts';
import { PartialArguments } from './partial-args.ts';

/** What a call needs of the reply it stands in. */
export interface CallPlace {
  readonly candidate: number;
  nextBlock(): number;
  emit(event: CanonicalEvent): void;
  /** What tells this reply from others, for ids that have to be made. */
  reply(): string;
  /** By their names here, the tools that the client called otherwise. */
  readonly offered: ReadonlyMap<string, AskedTool>;
}

interface OpenCall {
  readonly name: string;
  readonly id: string;
  readonly opaque: Opaque[];
  readonly pieces: PartialArguments;
  /** Arguments that came whole. */
  args: unknown;
}

function word(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export class FunctionCalls {
  readonly #place: CallPlace;
  #open: OpenCall | undefined;
  #count = 0;

  constructor(place: CallPlace) {
    this.#place = place;
  }

  get any(): boolean {
    return this.#count > 0;
  }

  take(call: Fields, opaque: readonly Opaque[]): void {
    const name = word(call.name);
    if (name !== '' || !this.#open) {
      this.end();
      if (name === '') return;
      this.#count += 1;
      this.#open = { name, id: word(call.id), opaque: [], pieces: new PartialArguments(), args: undefined };
    }
    const open = this.#open;
    for (const state of opaque) open.opaque.push(state);
    open.args = call.args ?? open.args;
    const pieces: unknown[] = Array.isArray(call.partialArgs) ? call.partialArgs : [];
    for (const piece of pieces) open.pieces.add(piece);
    if (call.willContinue !== true) this.end();
  }

  /** Tells the call that is open, whole now or never. */
  end(): void {
    if (!this.#open) return;
    const { name, id, opaque, pieces, args } = this.#open;
    this.#open = undefined;
    const { candidate, nextBlock, emit, reply, offered } = this.#place;
    const asked = offered.get(name);
    const json = args === undefined ? pieces.toString() : JSON.stringify(args);
    const block = nextBlock();
    const made = id || makeCallId(reply(), candidate, this.#count, name, json);
    const sealed = opaque.length > 0 ? { opaque } : {};
    emit({
      type: 'block-start',
      candidate,
      block,
      kind: 'tool-call',
      id: made,
      name: asked?.name ?? name,
      ...(asked?.custom ? { custom: true } : {}),
      ...sealed,
    });
    emit({ type: 'block-delta', candidate, block, text: asked?.custom ? unwrapInput(json) : json });
    emit({ type: 'block-end', candidate, block, ...sealed });
  }
}
