/**
 * Cuts what is said into pieces, and ends it at the request's stop sequences or output limit, so that a
 * lowered limit shows in the reply as with a real model.
 */
import type { Citation, Picture, Said, Sound } from './scenario.ts';
import { splitWords } from './words.ts';

export interface SpokenCall {
  readonly id: string;
  readonly name: string;
  readonly freeform: boolean;
  readonly fragments: readonly string[];
}

export interface Speech {
  readonly reasoning: readonly string[];
  readonly sealed: boolean;
  readonly text: readonly string[] | undefined;
  readonly refusal: readonly string[];
  readonly calls: readonly SpokenCall[];
  readonly search: string | undefined;
  readonly citations: readonly Citation[];
  readonly pictures: readonly Picture[];
  readonly sound: Sound | undefined;
  readonly code: Said['code'];
  /** Why it ended, before any wire names it. */
  readonly reason: 'end' | 'stop-sequence' | 'limit' | 'calls' | 'refusal';
  readonly stopSequence: string | undefined;
  /** The wire's own word, if the scenario has one. */
  readonly finish: string | undefined;
}

export interface Bounds {
  readonly limit: number;
  readonly stops: readonly string[];
  /** Makes the id of a call from its place. */
  readonly callId: (index: number) => string;
}

/** The pieces up to the first stop sequence, and which it was. */
function cutAtStop(
  words: readonly string[],
  stops: readonly string[],
): { readonly words: readonly string[]; readonly stop?: string } {
  const text = words.join('');
  const found = stops
    .map((stop) => ({ stop, at: text.indexOf(stop) }))
    .filter(({ at, stop }) => at >= 0 && stop);
  const [first] = found.toSorted((one, other) => one.at - other.at);
  if (!first) return { words };
  const kept: string[] = [];
  let left = first.at;
  for (const word of words) {
    if (left <= 0) break;
    kept.push(word.slice(0, left));
    left -= word.length;
  }
  return { words: kept, stop: first.stop };
}

export function speak(said: Said, { limit, stops, callId }: Bounds): Speech {
  let left = limit;
  let cut = false;
  const take = (words: readonly string[]): readonly string[] => {
    const kept = words.slice(0, left);
    left -= kept.length;
    cut ||= kept.length < words.length;
    return kept;
  };
  const reasoning = take(splitWords(said.reasoning));
  const stopped = cutAtStop(splitWords(said.text), stops);
  const text = said.text === undefined ? undefined : take(stopped.words);
  const refusal = take(splitWords(said.refusal));
  const calls = (stopped.stop === undefined ? (said.toolCalls ?? []) : []).flatMap(
    ({ name, id, freeform = false, arguments: words = '{}' }, index) =>
      take([name]).length
        ? [{ id: id ?? callId(index), name, freeform, fragments: take(splitWords(words)) }]
        : [],
  );
  const natural = calls.length ? 'calls' : refusal.length ? 'refusal' : 'end';
  const reason = cut ? 'limit' : stopped.stop === undefined ? natural : 'stop-sequence';
  return {
    reasoning,
    text,
    refusal,
    calls,
    reason,
    sealed: said.sealed ?? false,
    search: said.search,
    citations: said.citations ?? [],
    pictures: said.pictures ?? [],
    sound: said.sound,
    code: said.code,
    stopSequence: cut ? undefined : stopped.stop,
    finish: said.finish,
  };
}

/** Tokens of a piece of sound. */
export const perSound = 25;

export function countSoundTokens({ sound }: Speech): number {
  return (sound?.data.length ?? 0) * perSound;
}

export function countSpeechTokens(speech: Speech): number {
  const { reasoning, text, refusal, calls } = speech;
  const called = calls.reduce((sum, { fragments }) => sum + 1 + fragments.length, 0);
  return reasoning.length + (text?.length ?? 0) + refusal.length + called + countSoundTokens(speech);
}

/** Its citations, with the place of the words that each follows. */
export function placeCitations({ text, citations }: Speech) {
  const all = (text ?? []).join('');
  return citations.map(({ url, title, text: part = all }) => {
    const start = Math.max(all.indexOf(part), 0);
    return { part, cited: { url, title, start_index: start, end_index: start + part.length } };
  });
}

/**
 * The fragments of all calls in the order they are sent: one call after the other, or a round of each in
 * turn.
 */
export function* streamCallFragments(
  calls: readonly SpokenCall[],
  interleaved: boolean,
): Generator<{ readonly index: number; readonly fragment: string }> {
  const rounds = Math.max(0, ...calls.map(({ fragments }) => fragments.length));
  const places = interleaved
    ? Array.from({ length: rounds }, (_, round) => calls.map((_call, index) => ({ index, round }))).flat()
    : calls.flatMap(({ fragments }, index) => fragments.map((_, round) => ({ index, round })));
  for (const { index, round } of places) {
    const fragment = calls[index]?.fragments[round];
    if (fragment !== undefined) yield { index, fragment };
  }
}
