/** A call without arguments, which vendors write in several ways. Clients read arguments as a JSON object. */

export const noArguments = '{}';

/** Longer text is not trimmed to find out: it holds arguments. */
const longest = 64;

function bare(text: string): string | undefined {
  return text.length <= longest ? text.trim() : undefined;
}

/** Whether arguments so far may turn out to be none. The text is held back for as long as they may. */
export function mayBeNone(text: string): boolean {
  const start = bare(text);
  return start !== undefined && 'null'.startsWith(start);
}

/** Whether arguments are none: empty text, or the `null` that Groq writes. */
export function areNone(text: string): boolean {
  const whole = bare(text);
  return whole === '' || whole === 'null';
}

/** Arguments as they come, piece by piece. */
export class ArgumentPieces {
  #held = '';
  #told = false;

  /** Passed a piece; the answer is the text to pass on. */
  add(piece: string): string {
    if (this.#told) return piece;
    this.#held += piece;
    if (mayBeNone(this.#held)) return '';
    this.#told = true;
    return this.#held;
  }

  /** The answer is what is left to pass on. */
  end(): string {
    if (this.#told) return '';
    return areNone(this.#held) ? noArguments : this.#held;
  }
}
