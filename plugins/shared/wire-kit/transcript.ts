/**
 * What a reply has said so far, for code that needs it again at the end. It comes in very many small pieces. A string
 * that grows by `+=` would keep them apart, each at several times its size, so they are joined from time to time.
 */

import { detached } from '../../../core/index.ts';

/** How many pieces may stay apart. */
const mostApart = 50;

/**
 * Characters of an answer that are kept to find its citations in: five thousand words, a report. Without a bound, the
 * whole reply would stay in memory for every client that reads slowly.
 */
export const longestCited = 32 * 1024;

/** Characters of an answer that its citations repeat together. Thousands that cite all of it would make the reply a thousand times as long. */
export const longestPassages = 256 * 1024;

export class Transcript {
  readonly #limit: number;
  #joined = '';
  #pieces: string[] = [];
  /** Characters of the whole reply, kept or not. */
  length = 0;

  /** After `limit` characters, further text is counted but not kept. */
  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  /** The text that was kept: the beginning, where there was more than the limit. */
  get text(): string {
    this.#join();
    return this.#joined;
  }

  /** Whether all of the text was kept. */
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
