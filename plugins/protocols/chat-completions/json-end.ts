/**
 * Follows JSON that comes in pieces to the end of its first value, by its brackets and strings. Each piece is looked at
 * once: parsing all that there is with every piece would take quadratic time.
 */

/** What the scan looks for next: in a string its end or an escape, elsewhere a string or a bracket. */
const inString = /["\\]/g;
const outside = /["{}[\]]/g;

export class JsonEnd {
  #depth = 0;
  #inString = false;
  #escaped = false;
  #closed = false;
  #more = false;

  /** Whether every bracket is closed, and nothing but white space followed. */
  get closed(): boolean {
    return this.#closed && !this.#more;
  }

  add(piece: string): void {
    let at = 0;
    if (this.#escaped && piece !== '') {
      at = 1;
      this.#escaped = false;
    }
    while (at < piece.length && !this.#more) {
      if (this.#closed) {
        this.#more = piece.slice(at).trim() !== '';
        return;
      }
      const sought = this.#inString ? inString : outside;
      sought.lastIndex = at;
      if (!sought.test(piece)) return;
      at = this.#meet(piece, sought.lastIndex);
    }
  }

  /** Takes the character before `at`. Returns where the scan goes on. */
  #meet(piece: string, at: number): number {
    const code = piece.charCodeAt(at - 1);
    if (code === 92) {
      this.#escaped = at === piece.length;
      return at + 1;
    }
    if (code === 34) this.#inString = !this.#inString;
    else this.#depth += code === 123 || code === 91 ? 1 : -1;
    this.#closed = this.#depth <= 0 && !this.#inString;
    return at;
  }
}
