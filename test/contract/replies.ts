/** Replies as tests compare them: what was said, by whom and why it ended, in whatever pieces it arrived. */
import { createParser } from 'eventsource-parser';
import type { CanonicalEvent, EventDecoder, Usage, WireEvent } from '../../core/index.ts';

export interface SaidCall {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly custom: boolean;
  readonly sealed: unknown;
  arguments: string;
}

export interface Said {
  text: string;
  reasoning: string;
  refusal: string;
  readonly calls: SaidCall[];
  /** Everything else: pictures, sound, code, tools of the vendor's own. */
  readonly others: { kind: string; text: string }[];
  /** Sealed state of the reasoning blocks, in order. */
  readonly sealed: unknown[];
  readonly annotations: unknown[];
  readonly logprobs: unknown[];
  reason: string | undefined;
}

export interface Folded {
  readonly candidates: Record<number, Said>;
  usage: Usage;
  complete: boolean;
  error: string | undefined;
}

type Place = {
  readonly said: Said;
  readonly kind: string;
  readonly call: { -readonly [Key in keyof SaidCall]: SaidCall[Key] } | undefined;
  text: string;
};

/** What a reply says, all pieces joined. */
export function fold(events: readonly CanonicalEvent[]): Folded {
  const folded: Folded = { candidates: {}, usage: {}, complete: false, error: undefined };
  const places = new Map<number, Place>();
  const getSaid = (candidate: number): Said => {
    folded.candidates[candidate] ??= {
      text: '',
      reasoning: '',
      refusal: '',
      calls: [],
      others: [],
      sealed: [],
      annotations: [],
      logprobs: [],
      reason: undefined,
    };
    return folded.candidates[candidate];
  };
  for (const event of events) {
    if (event.type === 'block-start') {
      const call =
        event.kind === 'tool-call'
          ? {
              id: event.id,
              name: event.name,
              custom: event.custom ?? false,
              sealed: undefined,
              arguments: '',
            }
          : undefined;
      places.set(event.block, { said: getSaid(event.candidate), kind: event.kind, call, text: '' });
    } else if (event.type === 'block-delta') {
      const place = places.get(event.block);
      if (place) place.text += event.text;
    } else if (event.type === 'block-end') {
      const place = places.get(event.block);
      if (place) close(place, event.opaque);
    } else if (event.type === 'annotation') getSaid(event.candidate).annotations.push(event.annotation);
    else if (event.type === 'logprobs') getSaid(event.candidate).logprobs.push(...event.content);
    else if (event.type === 'usage') folded.usage = { ...folded.usage, ...event.usage };
    else if (event.type === 'finish') getSaid(event.candidate).reason = event.reason.unified;
    else if (event.type === 'error') folded.error = event.message;
    else if (event.type === 'response-end')
      folded.complete = events.every(({ type }) => type !== 'unreadable');
  }
  return folded;
}

function close({ said, kind, call, text }: Place, sealed: unknown): void {
  if (kind === 'text' || kind === 'reasoning' || kind === 'refusal') {
    said[kind] += text;
    if (sealed) said.sealed.push(sealed);
  } else if (call) {
    said.calls.push({ ...call, arguments: text, sealed });
  } else {
    said.others.push({ kind, text });
  }
}

/** The events in a stream's text, cut into two reads at `cut`. */
export function readStream(bytes: Uint8Array, cut = 0): WireEvent[] {
  const events: WireEvent[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => void events.push({ event, data }) });
  const decoder = new TextDecoder();
  parser.feed(decoder.decode(bytes.subarray(0, cut), { stream: true }));
  parser.feed(decoder.decode(bytes.subarray(cut)));
  return events;
}

/** All events of a stream, to its end. */
export function decodeAll(decoder: EventDecoder, events: readonly WireEvent[]): CanonicalEvent[] {
  return [...events.flatMap((event) => decoder.push(event)), ...decoder.end()];
}
