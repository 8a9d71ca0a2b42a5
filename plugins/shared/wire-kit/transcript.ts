/**
 * Keeps the text of a reply, which arrives in very many small pieces. A string that grows by `+=` would keep
 * each piece at several times its size, so they are joined from time to time.
 */
import { detach } from '../../../core/index.ts';

const mostPieces = 50;

/**
 * Characters of an answer that are kept to find its citations in, about five thousand words. Without a limit,
 * the whole reply would stay in memory for every client that reads slowly.
 */
export const longestCited = 32 * 1024;

/** Characters that all citations may quote: thousands that quote a whole answer would multiply it. */
export const longestPassages = 256 * 1024;

export class Transcript {
  readonly #limit: number;
  #joined = '';
  #pieces: string[] = [];
  /** Characters of the whole reply, kept or not. */
  length = 0;

  /** After `limit` characters, the transcript counts further text but does not keep it. */
  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  /** The text that was kept: the start, if the reply is longer than the limit. */
  get text(): string {
    this.#join();
    return this.#joined;
  }

  get whole(): boolean {
    return this.length === this.text.length;
  }

  add(text: string): void {
    const kept = this.length < this.#limit;
    this.length += text.length;
    if (kept && this.#pieces.push(detach(text)) >= mostPieces) this.#join();
  }

  #join(): void {
    if (this.#pieces.length === 0) return;
    this.#joined += this.#pieces.join('');
    this.#pieces = [];
  }
}
