/**
 * Stop sequences that a vendor's wire could not be given: its text is watched for them as it goes by, and a candidate
 * ends before the first one that is complete. The vendor is read to its end all the same, since only then it tells
 * what it used; how its stream is cut into pieces changes nothing.
 */
import type { CanonicalEvent } from '../canonical/events.ts';

/** The events of a reply, each candidate up to the first of the sequences in its text. */
export async function* stopAt(
  events: AsyncIterable<CanonicalEvent>,
  sequences: readonly string[],
): AsyncGenerator<CanonicalEvent> {
  const watches = new Map<number, Watch>();
  for await (const event of events) {
    if (!('candidate' in event)) {
      yield event;
      continue;
    }
    const watch = watches.get(event.candidate) ?? new Watch(sequences);
    watches.set(event.candidate, watch);
    yield* watch.read(event);
  }
}

type Placed = Extract<CanonicalEvent, { candidate: number }>;

class Watch {
  readonly #sequences: readonly string[];
  /** The block of text that is open, and what of it may be the beginning of a sequence. */
  #text: number | undefined;
  #held = '';
  readonly #open = new Set<number>();
  #stopped: string | undefined;

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences;
  }

  *read(event: Placed): Generator<CanonicalEvent> {
    if (event.type === 'finish')
      return yield this.#stopped === undefined ? event : stoppedAt(event, this.#stopped);
    if (this.#stopped !== undefined) return;
    if (event.type === 'block-delta' && event.block === this.#text) return yield* this.#watch(event);
    if (event.type === 'block-start') {
      this.#open.add(event.block);
      if (event.kind === 'text') this.#text = event.block;
    } else if (event.type === 'block-end') {
      this.#open.delete(event.block);
      if (event.block === this.#text) yield* this.#release(event);
    }
    yield event;
  }

  *#watch(event: Extract<Placed, { type: 'block-delta' }>): Generator<CanonicalEvent> {
    const said = this.#held + event.text;
    const found = firstOf(this.#sequences, said);
    const shown = found
      ? said.slice(0, found.at)
      : said.slice(0, said.length - heldBack(this.#sequences, said));
    this.#held = said.slice(shown.length);
    if (shown !== '') yield { ...event, text: shown };
    if (!found) return;
    this.#stopped = found.sequence;
    for (const block of this.#open) yield { type: 'block-end', candidate: event.candidate, block };
  }

  /** The block ends: what was held back is no sequence. */
  *#release({ candidate, block }: Placed & { readonly block: number }): Generator<CanonicalEvent> {
    if (this.#held !== '') yield { type: 'block-delta', candidate, block, text: this.#held };
    this.#held = '';
    this.#text = undefined;
  }
}

function stoppedAt({ candidate }: Placed, stopSequence: string): CanonicalEvent {
  return {
    type: 'finish',
    candidate,
    reason: { unified: 'stop-sequence', raw: 'stop_sequence' },
    stopSequence,
  };
}

interface Found {
  readonly sequence: string;
  readonly at: number;
}

/** The sequence that is complete first; of those that end alike the longest. */
function firstOf(sequences: readonly string[], text: string): Found | undefined {
  let best: Found | undefined;
  for (const sequence of sequences) {
    const at = text.indexOf(sequence);
    if (at < 0 || sequence === '') continue;
    const sooner = best ? at + sequence.length - best.at - best.sequence.length : -1;
    if (!best || sooner < 0 || (sooner === 0 && at < best.at)) best = { sequence, at };
  }
  return best;
}

/** Characters at the end of a text that may be the beginning of a sequence. */
function heldBack(sequences: readonly string[], text: string): number {
  let held = 0;
  for (const sequence of sequences) {
    for (let length = Math.min(sequence.length - 1, text.length); length > held; length -= 1) {
      if (text.endsWith(sequence.slice(0, length))) held = length;
    }
  }
  return held;
}
