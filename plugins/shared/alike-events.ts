/**
 * The events of a stream are alike but for the piece of text each brings. Once one was read that did nothing but add its
 * text to a block, those that hold the same around theirs are known without being parsed: to parse them costs more than
 * everything else that is done with them.
 */
import { detached, type CanonicalEvent, type EventDecoder, type WireEvent } from '../../core/index.ts';

type Delta = Extract<CanonicalEvent, { type: 'block-delta' }>;

/** What JSON text cannot hold as it is: a backslash begins an escape, and line ends and tabs have to be escaped. */
const escaped = /[\\\p{Cc}]/u;

/** OpenAI's padding, which is as long as the text is not: it stands last, and differs. */
const padding = /(?<="obfuscation":")[^"\\]*"\}$/;

/** A decoder of which only what is unlike the event before is asked. Blocks of text have to mean nothing to it once they are open. */
export class AlikeEvents implements EventDecoder {
  readonly #decoder: EventDecoder;
  /** The block of text that was begun last. */
  #block: number | undefined;
  /** An event that added text to it and nothing else: its name, what it came to, and what stood around the text. */
  #known: { readonly name: string | undefined; readonly delta: Delta; readonly before: string; readonly after: string; readonly padded: boolean } | undefined;

  constructor(decoder: EventDecoder) {
    this.#decoder = decoder;
  }

  push(event: WireEvent): CanonicalEvent[] {
    const text = this.#textIn(event);
    if (text !== undefined && this.#known) return [{ type: 'block-delta', candidate: this.#known.delta.candidate, block: this.#known.delta.block, text }];
    const events = this.#decoder.push(event);
    this.#learn(event, events);
    return events;
  }

  end(): CanonicalEvent[] {
    return this.#decoder.end();
  }

  #textIn({ event, data }: WireEvent): string | undefined {
    const known = this.#known;
    // By slices: V8 compares these by words, and what `startsWith` is passed by characters.
    if (!known || event !== known.name || data.slice(0, known.before.length) !== known.before) return undefined;
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
    for (const each of events) if (each.type === 'block-start' && each.kind === 'text') this.#block = each.block;
    const [delta] = events;
    if (events.length !== 1 || delta?.type !== 'block-delta' || delta.block !== this.#block || delta.vendor) {
      this.#known = undefined;
      return;
    }
    const written = `"${delta.text}"`;
    const at = data.indexOf(written);
    // The same words may stand elsewhere in the event, or be written otherwise in it: then it says nothing of the others.
    if (at < 0 || at !== data.lastIndexOf(written)) return;
    const behind = data.slice(at + written.length - 1);
    const after = behind.replace(padding, '');
    this.#known = { name: name && detached(name), delta, before: detached(data.slice(0, at + 1)), after: detached(after), padded: after !== behind };
  }
}
