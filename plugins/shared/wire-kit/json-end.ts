/**
 * Finds the end of the first JSON value in text that comes in pieces, by its brackets and strings. Each piece
 * is scanned only once: to parse all of the text after every piece would take quadratic time.
 */

/** Where the scan stops: inside a string at its end or an escape, elsewhere at a quote or a bracket. */
const inString = /["\\]/g;
const outside = /["{}[\]]/g;

export class JsonEnd {
  #depth = 0;
  #inString = false;
  #escaped = false;
  #closed = false;
  #more = false;

  /** Whether every bracket is closed and only white space followed. */
  get closed(): boolean {
    return this.#closed && !this.#more;
  }

  /** Whether a bracket or a string is open. */
  get isOpen(): boolean {
    return this.#depth > 0 || this.#inString;
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
      const pattern = this.#inString ? inString : outside;
      pattern.lastIndex = at;
      if (!pattern.test(piece)) return;
      at = this.#handle(piece, pattern.lastIndex);
    }
  }

  /** Handles the character before `at`. Returns where the scan continues. */
  #handle(piece: string, at: number): number {
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
