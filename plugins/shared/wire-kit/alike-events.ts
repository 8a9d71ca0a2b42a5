/**
 * The events of a stream often differ only in the piece of text that each brings. Once one was decoded that only added
 * its text to a block, others with the same JSON around their text need not be parsed. Parsing them would cost more than
 * everything else done with them.
 */
import { detached, type CanonicalEvent, type EventDecoder, type WireEvent } from '../../../core/index.ts';

type Delta = Extract<CanonicalEvent, { type: 'block-delta' }>;

/** Characters that JSON text never holds as they are: a backslash begins an escape, and line ends and tabs have to be escaped. */
const escaped = /[\\\p{Cc}]/u;

/** OpenAI's padding, whose length hides that of the text. It stands last and differs in each event. */
const padding = /(?<="obfuscation":")[^"\\]*"\}$/;

/** Wraps a decoder and asks it only about events that differ from the one before. Deltas of an open block must not change the decoder's state. */
export class AlikeEvents implements EventDecoder {
  readonly #decoder: EventDecoder;
  /** The block of text that began last. */
  #block: number | undefined;
  /** The last event that only added text to that block: its name, its delta, and the JSON around the text. */
  #known:
    | {
        readonly name: string | undefined;
        readonly delta: Delta;
        readonly before: string;
        readonly after: string;
        readonly padded: boolean;
      }
    | undefined;

  constructor(decoder: EventDecoder) {
    this.#decoder = decoder;
  }

  push(event: WireEvent): CanonicalEvent[] {
    const text = this.#textIn(event);
    if (text !== undefined && this.#known)
      return [
        { type: 'block-delta', candidate: this.#known.delta.candidate, block: this.#known.delta.block, text },
      ];
    const events = this.#decoder.push(event);
    this.#learn(event, events);
    return events;
  }

  end(): CanonicalEvent[] {
    return this.#decoder.end();
  }

  #textIn({ event, data }: WireEvent): string | undefined {
    const known = this.#known;
    // Slices are compared, since V8 compares them by words; `startsWith` compares character by character.
    if (!known || event !== known.name || data.slice(0, known.before.length) !== known.before)
      return undefined;
    const from = known.before.length;
    const to = data.indexOf('"', from);
    const rest = to + known.after.length;
    if (to === from || data.slice(to, rest) !== known.after) return undefined;
    const end = known.padded ? data.indexOf('"', rest) + 2 : rest;
    if (end !== data.length) return undefined;
    const text = data.slice(from, to);
    return escaped.test(text) ? undefined : text;
  }

  #learn({ event: name, data }: WireEvent, events: readonly CanonicalEvent[]): void {
    for (const each of events)
      if (each.type === 'block-start' && each.kind === 'text') this.#block = each.block;
    const [delta] = events;
    if (events.length !== 1 || delta?.type !== 'block-delta' || delta.block !== this.#block || delta.vendor) {
      this.#known = undefined;
      return;
    }
    const written = `"${delta.text}"`;
    const at = data.indexOf(written);
    // If the text also stands elsewhere in the event, or is escaped there, the parts around it are not certain.
    if (at < 0 || at !== data.lastIndexOf(written)) return;
    const behind = data.slice(at + written.length - 1);
    const after = behind.replace(padding, '');
    this.#known = {
      name: name && detached(name),
      delta,
      before: detached(data.slice(0, at + 1)),
      after: detached(after),
      padded: after !== behind,
    };
  }
}
