/**
 * Applies stop sequences that the provider could not be given. It watches the text and ends a candidate
 * before the first complete sequence. The reply is read to its end, since only then the provider reports
 * usage. How the stream is cut into chunks makes no difference.
 */
import type { CanonicalEvent } from '../canonical/events.ts';

export async function* applyStopSequences(
  events: AsyncIterable<CanonicalEvent>,
  sequences: readonly string[],
): AsyncGenerator<CanonicalEvent> {
  const watchers = new Map<number, StopWatcher>();
  for await (const event of events) {
    if (!('candidate' in event)) {
      yield event;
      continue;
    }
    const watch = watchers.get(event.candidate) ?? new StopWatcher(sequences);
    watchers.set(event.candidate, watch);
    yield* watch.read(event);
  }
}

type Placed = Extract<CanonicalEvent, { candidate: number }>;

class StopWatcher {
  readonly #sequences: readonly string[];
  /** The open text block, and the end of its text that may begin a sequence. */
  #text: number | undefined;
  #held = '';
  readonly #open = new Set<number>();
  #stopped: string | undefined;

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences;
  }

  *read(event: Placed): Generator<CanonicalEvent> {
    if (event.type === 'finish')
      return yield this.#stopped === undefined ? event : createFinish(event, this.#stopped);
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
    const text = this.#held + event.text;
    const found = findFirst(this.#sequences, text);
    const shown = found
      ? text.slice(0, found.at)
      : text.slice(0, text.length - countHeld(this.#sequences, text));
    this.#held = text.slice(shown.length);
    if (shown !== '') yield { ...event, text: shown };
    if (!found) return;
    this.#stopped = found.sequence;
    for (const block of this.#open) yield { type: 'block-end', candidate: event.candidate, block };
  }

  /** The block ends, so the held text is no sequence. */
  *#release({ candidate, block }: Placed & { readonly block: number }): Generator<CanonicalEvent> {
    if (this.#held !== '') yield { type: 'block-delta', candidate, block, text: this.#held };
    this.#held = '';
    this.#text = undefined;
  }
}

function createFinish({ candidate }: Placed, stopSequence: string): CanonicalEvent {
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

/** The sequence that is complete first; the longest of those that end together. */
function findFirst(sequences: readonly string[], text: string): Found | undefined {
  let best: Found | undefined;
  for (const sequence of sequences) {
    const at = text.indexOf(sequence);
    if (at < 0 || sequence === '') continue;
    const sooner = best ? at + sequence.length - best.at - best.sequence.length : -1;
    if (!best || sooner < 0 || (sooner === 0 && at < best.at)) best = { sequence, at };
  }
  return best;
}

/** The number of characters at the end of a text that may begin a sequence. */
function countHeld(sequences: readonly string[], text: string): number {
  let held = 0;
  for (const sequence of sequences) {
    for (let length = Math.min(sequence.length - 1, text.length); length > held; length -= 1) {
      if (text.endsWith(sequence.slice(0, length))) held = length;
    }
  }
  return held;
}
