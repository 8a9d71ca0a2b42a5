/**
 * What a reply has said so far, for those who need it again at its end. It comes in very many small pieces, which a
 * string that grows by `+=` would keep apart, each at several times its size: here they are joined every so often.
 */

import { detached } from '../../core/index.ts';

/** Pieces that may stand apart. */
const mostApart = 50;

/**
 * Characters of an answer that are kept to find its citations in: five thousand words, a report. Without a bound every
 * client that reads slowly would cost as much as the vendor has said.
 */
export const longestCited = 32 * 1024;

export class Transcript {
  readonly #limit: number;
  #joined = '';
  #pieces: string[] = [];
  /** Characters that were said, kept or not. */
  length = 0;

  /** What comes after `limit` characters is counted and not kept. */
  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  /** All that is kept: the beginning, where there was more than the limit. */
  get text(): string {
    this.#join();
    return this.#joined;
  }

  /** Whether that is all there was. */
  get whole(): boolean {
    return this.length === this.text.length;
  }

  add(text: string): void {
    const kept = this.length < this.#limit;
    this.length += text.length;
    if (kept && this.#pieces.push(detached(text)) >= mostApart) this.#join();
  }

  #join(): void {
    if (this.#pieces.length === 0) return;
    this.#joined += this.#pieces.join('');
    this.#pieces = [];
  }
}
