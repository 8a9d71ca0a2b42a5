/**
 * Carries another vendor's sealed state in the `data` of redacted_thinking blocks. The envelope names the
 * owner of the state. This is a tool call by its id, anywhere in the message, because Claude Code moves calls
 * to the end; the last reasoning or text before the envelope; or the next text. State without an owner is a
 * reasoning block of its own.
 */
import type { Block, Opaque } from '../../../core/index.ts';
import { seal, unsealOwned } from '../../shared/wire-kit/envelope.ts';

const ofCall = 'call ';
const nextText = 'next text';

/** The block that sealed state belongs to. */
export type Owner = 'reasoning' | 'text' | typeof nextText | { readonly call: string };

export function writeEnvelope(opaque: Opaque, owner: Owner | undefined): string {
  return seal(opaque, typeof owner === 'object' ? ofCall + owner.call : owner);
}

/** The blocks of a message, indexed by owner: a search for every envelope would take quadratic time. */
export class UnsealedBlocks {
  readonly blocks: Block[] = [];
  readonly #owners = new Map<string, Extract<Block, { opaque?: unknown }>>();
  /** State of calls and texts that follow after it. */
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

  /** Attaches the state in an envelope to its owner. Returns false if `data` is not an envelope. */
  open(data: string, at: string): boolean {
    const sealed = unsealOwned(data);
    if (!sealed) return false;
    const { opaque, owner } = sealed;
    // Some clients send the seal of reasoning back without its text.
    if (owner === undefined || (owner === 'reasoning' && !this.#owners.has(owner))) {
      this.add({ type: 'reasoning', text: '', opaque: [opaque], at });
    } else {
      this.#findStates(owner).push(opaque);
    }
    return true;
  }

  #findStates(owner: string): Opaque[] {
    const block = this.#owners.get(owner);
    const states = block ? (block.opaque ??= []) : (this.#early.get(owner) ?? []);
    if (!block) this.#early.set(owner, states);
    return states;
  }
}
