/**
 * Unwraps answers in JSON. Some providers enforce only schemas of objects, so an encoder may ask for
 * `{"answer": …}`. The client gets the value of that member alone, as it comes.
 */
import type { CanonicalEvent } from '../canonical/events.ts';
import type { Batches } from './reply-events.ts';

/** Removes the wrapper from all texts, if the request asked for one. A text without it passes unchanged. */
export function unwrapAnswers(batches: Batches, member: string | undefined): Batches {
  return member === undefined ? batches : unwrapEach(batches, member);
}

async function* unwrapEach(batches: Batches, member: string): Batches {
  const texts = new Map<number, WrappedText>();
  for await (const events of batches) yield events.flatMap((event) => unwrapEvent(event, texts, member));
}

function unwrapEvent(
  event: CanonicalEvent,
  texts: Map<number, WrappedText>,
  member: string,
): readonly CanonicalEvent[] {
  if (event.type === 'block-start' && event.kind === 'text') texts.set(event.block, new WrappedText(member));
  const text = 'block' in event ? texts.get(event.block) : undefined;
  if (text && event.type === 'block-delta') {
    const shown = text.read(event.text);
    return shown === '' ? [] : [{ ...event, text: shown }];
  }
  if (!text || event.type !== 'block-end') return [event];
  const { candidate, block } = event;
  const rest = text.end();
  return rest === '' ? [event] : [{ type: 'block-delta', candidate, block, text: rest }, event];
}

const blank = /\s/;

class WrappedText {
  /** What the text begins with if it is wrapped, without blanks. */
  readonly #head: string;
  /** Characters of the head that were read, or undefined once the text turned out not to be wrapped. */
  #read: number | undefined = 0;
  /** A brace, and blanks after it, that end the wrapper if nothing follows. */
  #held = '';
  #begun = false;

  constructor(member: string) {
    this.#head = `{${JSON.stringify(member)}:`;
  }

  /** Returns what the client is shown of a piece. */
  read(piece: string): string {
    if (this.#read === undefined) return piece;
    let at = 0;
    for (; at < piece.length && this.#read < this.#head.length; at += 1) {
      const character = piece.charAt(at);
      if (character === this.#head[this.#read]) this.#read += 1;
      else if (!blank.test(character)) return this.#giveUp(piece.slice(at));
    }
    return this.#hold(piece.slice(at));
  }

  /** Returns what was held although it does not end a wrapper. */
  end(): string {
    return this.#read !== undefined && this.#read < this.#head.length ? this.#giveUp('') : '';
  }

  #giveUp(rest: string): string {
    const begun = this.#head.slice(0, this.#read);
    this.#read = undefined;
    return begun + rest;
  }

  #hold(piece: string): string {
    const text = this.#begun ? piece : piece.trimStart();
    const length = text.trimEnd().length;
    if (length === 0 && (!this.#begun || this.#held !== '')) {
      this.#held += text;
      return '';
    }
    this.#begun = true;
    const end = text.charAt(length - 1) === '}' ? length - 1 : text.length;
    const shown = this.#held + text.slice(0, end);
    this.#held = text.slice(end);
    return shown;
  }
}
