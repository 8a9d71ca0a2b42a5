/**
 * What the model says: the words of a scenario cut into pieces, and cut off at the request's output limit, so
 * that a lowered limit shows in the reply as it would with a real model.
 */
import type { Citation, Said as AnySaid, SaidCall as AnyCall, Sound } from '../scenario.ts';
import { splitWords } from '../words.ts';

interface SaidCall extends AnyCall {
  readonly type?: 'function' | 'custom';
}

/** What one candidate says; a call's id is made up unless given, and some vendors leave it empty. */
export interface Said extends Omit<AnySaid, 'toolCalls'> {
  readonly toolCalls?: readonly SaidCall[];
  /** Annotations to send unchanged, beside those of its citations. */
  readonly annotations?: readonly unknown[];
}

export interface Call {
  readonly id: string;
  readonly type: 'function' | 'custom';
  readonly name: string;
  readonly fragments: readonly string[];
}

export interface Speech {
  readonly reasoning: readonly string[];
  readonly text: readonly string[] | undefined;
  readonly refusal: readonly string[];
  readonly calls: readonly Call[];
  readonly annotations: readonly unknown[];
  readonly sound: Sound | undefined;
  readonly finish: string;
}

function buildAnnotation({ url, title, text: part }: Citation, all: string): object {
  const cited = part ?? all;
  const start = Math.max(all.indexOf(cited), 0);
  return {
    type: 'url_citation',
    url_citation: { url, title, start_index: start, end_index: start + cited.length },
  };
}

/** The words up to the first stop sequence, which is omitted; the reply does not mention it either. */
function cutAtStop(words: readonly string[], stops: readonly string[]): readonly string[] {
  const text = words.join('');
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
  if (!found.length) return words;
  let left = Math.min(...found);
  return words.flatMap((word) => {
    const kept = word.slice(0, Math.max(left, 0));
    left -= word.length;
    return kept ? [kept] : [];
  });
}

/** Takes the text, a prefix for made-up ids, the most tokens it may take, and what ends it early. */
export function speak(said: Said, idPrefix: string, limit: number, stops: readonly string[] = []): Speech {
  let left = limit;
  let cut = false;
  const take = (words: readonly string[]): readonly string[] => {
    const kept = words.slice(0, left);
    left -= kept.length;
    cut ||= kept.length < words.length;
    return kept;
  };
  const reasoning = take(splitWords(said.reasoning));
  const text = said.text === undefined ? undefined : take(cutAtStop(splitWords(said.text), stops));
  const refusal = take(splitWords(said.refusal));
  const calls = (said.toolCalls ?? []).flatMap(
    (
      { name, id, freeform, type = freeform ? 'custom' : 'function', arguments: words = '{}' },
      index,
    ): Call[] => {
      if (!take([name]).length) return [];
      return [{ id: id ?? `${idPrefix}${index}`, type, name, fragments: take(splitWords(words)) }];
    },
  );
  const natural = calls.length ? 'tool_calls' : 'stop';
  const cited = (said.citations ?? []).map((citation) => buildAnnotation(citation, (text ?? []).join('')));
  return {
    reasoning,
    text,
    refusal,
    calls,
    sound: said.sound,
    annotations: [...(said.annotations ?? []), ...cited],
    finish: cut ? 'length' : (said.finish ?? natural),
  };
}

const perSound = 25;

export function countSoundTokens({ sound }: Speech): number {
  return (sound?.data.length ?? 0) * perSound;
}

export function countSpeechTokens(speech: Speech): number {
  const { reasoning, text, refusal, calls } = speech;
  const called = calls.reduce((sum, { fragments }) => sum + 1 + fragments.length, 0);
  return reasoning.length + (text?.length ?? 0) + refusal.length + called + countSoundTokens(speech);
}
