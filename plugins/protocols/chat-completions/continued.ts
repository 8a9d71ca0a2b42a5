/** An answer that Mistral continues: it wants a mark for it, and repeats it at the start of its reply. */
import type { ClientCall, Model } from '../../../core/index.ts';
import { chatFlags } from '../../shared/wire-kit/chat-flags.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';

/** Marks the last message if it is an answer to continue. */
export function markContinued(messages: readonly Fields[]): Fields[] {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || last.tool_calls !== undefined) return [...messages];
  return [...messages.slice(0, -1), { ...last, prefix: true }];
}

/** The answer that the model repeats; empty if there is none. */
export function findContinued(call: ClientCall, model: Model): string {
  if (!chatFlags(model.capabilities).prefix) return '';
  const last = call.decode().turns.at(-1);
  const texts = last?.role === 'assistant' ? last.blocks.filter(({ type }) => type === 'text') : [];
  return texts.map((block) => ('text' in block ? block.text : '')).join('');
}

/** Removes a repeated answer from the start of a text that comes in pieces. */
export class RepeatedStart {
  #rest: string;
  #held = '';

  constructor(start: string) {
    this.#rest = start;
  }

  /** Returns what follows the repeated answer, and all of the text if it does not begin with it. */
  remove(piece: string): string {
    if (this.#rest === '') return piece;
    if (piece.startsWith(this.#rest)) {
      const length = this.#rest.length;
      this.#rest = this.#held = '';
      return piece.slice(length);
    }
    this.#held += piece;
    if (!this.#rest.startsWith(piece)) return this.takeHeld();
    this.#rest = this.#rest.slice(piece.length);
    return '';
  }

  /** Returns the text that was held because it might have been a repeated answer. */
  takeHeld(): string {
    const held = this.#held;
    this.#rest = this.#held = '';
    return held;
  }
}
