/**
 * Collects the chunks of a body. Its sender decides how small they are, and a chunk of one byte takes some
 * 400 bytes of memory, so small chunks are joined as they come.
 */
const mostLoose = 1024;

export class Chunks<Chunk extends Uint8Array> {
  readonly #chunks: (Chunk | Buffer)[] = [];
  /** How many chunks at the beginning are joined ones. */
  #joined = 0;

  push(chunk: Chunk): void {
    if (this.#chunks.push(chunk) - this.#joined < mostLoose) return;
    this.#chunks.push(Buffer.concat(this.#chunks.splice(this.#joined)));
    this.#joined += 1;
  }

  [Symbol.iterator](): Iterator<Chunk | Buffer> {
    return this.#chunks.values();
  }

  join(): Chunk | Buffer {
    const [only] = this.#chunks;
    return only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks);
  }
}
