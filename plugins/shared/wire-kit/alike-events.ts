/**
 * Skips JSON parsing for events that differ from the one before only in their piece of text, as most events
 * of a stream do. Parsing them would cost more than everything else done with them.
 */
import { detach, type CanonicalEvent, type EventDecoder, type WireEvent } from '../../../core/index.ts';

/** Characters that JSON text only contains in escapes. */
const escaped = /[\\\p{Cc}]/u;

/** An event that only added text to an open block: its JSON before and after the text. */
interface AlikeEvent {
  readonly name: string | undefined;
  readonly before: string;
  readonly after: string;
  /** Whether a string of padding follows `after`, and ends the event. */
  readonly padded: boolean;
  /** What the decoder made of it. */
  readonly delta: Extract<CanonicalEvent, { type: 'block-delta' }>;
}

/**
 * Wraps a decoder and passes it only the events that need parsing. Deltas of an open block must not change
 * its state.
 */
export class AlikeEvents implements EventDecoder {
  readonly #decoder: EventDecoder;
  readonly #padding: RegExp | undefined;
  /** The text block that started last. */
  #block: number | undefined;
  /** The last event that only added text to that block. */
  #known: AlikeEvent | undefined;

  /** `padding`: a last string of an event that differs in each, with what follows it. */
  constructor(decoder: EventDecoder, padding?: RegExp) {
    this.#decoder = decoder;
    this.#padding = padding;
  }

  push(event: WireEvent): CanonicalEvent[] {
    const text = this.#extractText(event);
    if (text !== undefined && this.#known) return [{ ...this.#known.delta, text }];
    const events = this.#decoder.push(event);
    this.#learn(event, events);
    return events;
  }

  end(): CanonicalEvent[] {
    return this.#decoder.end();
  }

  #extractText({ event, data }: WireEvent): string | undefined {
    const known = this.#known;
    // V8 compares slices word by word, but `startsWith` character by character.
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
    // If the text occurs twice, or is escaped, it is not certain what surrounds it.
    if (at < 0 || at !== data.lastIndexOf(written)) return;
    const behind = data.slice(at + written.length - 1);
    const after = this.#padding ? behind.replace(this.#padding, '') : behind;
    this.#known = {
      name: name && detach(name),
      delta,
      before: detach(data.slice(0, at + 1)),
      after: detach(after),
      padded: after !== behind,
    };
  }
}
