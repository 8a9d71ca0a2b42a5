/** Copies a reply for `replay`, up to a limit. It takes only memory that other replies can spare. */
import { ReplyMemory, type ReplyBudget } from './reply-memory.ts';

/** The memory that each piece takes beyond its bytes. */
const perPiece = 100;

export class Tape {
  readonly #memory: ReplyMemory;
  #pieces: Buffer[] = [];
  #room: number;
  #whole = true;
  #stopped = false;

  constructor(budget: ReplyBudget, limit: number) {
    this.#memory = new ReplyMemory(budget);
    this.#room = limit;
  }

  /** Keeps a piece, unless one did not fit before. Without memory it drops the earlier pieces too. */
  add(text: string | Uint8Array): void {
    if (this.#stopped || !this.#whole) return;
    const bytes = Buffer.from(text);
    this.#room -= bytes.length;
    const hasMemory = this.#memory.addSpare(bytes.length + perPiece);
    this.#whole = hasMemory && this.#room >= 0;
    if (this.#whole) this.#pieces.push(bytes);
    if (hasMemory) return;
    this.#pieces = [];
    this.release();
  }

  /** Ends the copy and returns it. */
  stop(): { readonly body: Buffer; readonly whole: boolean } {
    this.#stopped = true;
    const body = Buffer.concat(this.#pieces);
    this.#pieces = [];
    return { body, whole: this.#whole };
  }

  /** Releases the memory. Call it once the copy is stored. */
  release(): void {
    this.#memory.release();
  }
}
