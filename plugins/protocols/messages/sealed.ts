/**
 * Another vendor's sealed state in this wire's one slot for it, the `data` of a redacted_thinking block. State that
 * belongs to another block says so in its envelope: to a tool call by its id, wherever that stands in the message, for
 * Claude Code sends its calls back behind all else; to the last thoughts or the last text before it, or to the next text.
 * Otherwise it is all there is of some reasoning.
 */
import type { Block, Opaque } from '../../../core/index.ts';
import { seal, unsealOwned } from '../../shared/wire-kit/envelope.ts';

const ofCall = 'call ';
const nextText = 'next text';

/** What the state belongs to. */
export type Owner = 'reasoning' | 'text' | typeof nextText | { readonly call: string };

export function writeEnvelope(opaque: Opaque, owner: Owner | undefined): string {
  return seal(opaque, typeof owner === 'object' ? ofCall + owner.call : owner);
}

/** The blocks of a message, and by name those that state may belong to: a search for each envelope would take quadratic time. */
export class UnsealedBlocks {
  readonly blocks: Block[] = [];
  readonly #owners = new Map<string, Extract<Block, { opaque?: unknown }>>();
  /** State of calls and texts that are yet to come. */
  readonly #early = new Map<string, Opaque[]>();

  add(block: Block): void {
    this.blocks.push(block);
    if (block.type === 'text' || block.type === 'reasoning') this.#owners.set(block.type, block);
    if (block.type === 'text') this.#claim(nextText, block);
    if (block.type !== 'tool-call' || this.#owners.has(ofCall + block.id)) return;
    this.#owners.set(ofCall + block.id, block);
    this.#claim(ofCall + block.id, block);
  }

  #claim(owner: string, block: Extract<Block, { opaque?: unknown }>): void {
    const early = this.#early.get(owner);
    if (!early) return;
    block.opaque = early;
    this.#early.delete(owner);
  }

  /** Gives the state of an envelope, which stood at `at`, back to the block that it belongs to. Answers whether it was one. */
  open(data: string, at: string): boolean {
    const sealed = unsealOwned(data);
    if (!sealed) return false;
    const { opaque, owner } = sealed;
    // Clients send back the seal of thoughts without the thoughts: it is then all there is of them.
    if (owner === undefined || (owner === 'reasoning' && !this.#owners.has(owner))) {
      this.add({ type: 'reasoning', text: '', opaque: [opaque], at });
    } else {
      this.#statesOf(owner).push(opaque);
    }
    return true;
  }

  #statesOf(owner: string): Opaque[] {
    const block = this.#owners.get(owner);
    const states = block ? (block.opaque ??= []) : (this.#early.get(owner) ?? []);
    if (!block) this.#early.set(owner, states);
    return states;
  }
}
