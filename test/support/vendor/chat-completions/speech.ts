/**
 * What the model says: the words of a scenario cut into pieces, and cut off where the request's output limit
 * ends them, so that a lowered limit shows in the reply as it would with a real model.
 */
import { pieces } from './tokens.ts';

/** Text given whole is cut into tokens; given in pieces, each is one token and one event of a stream. */
export type Words = string | readonly string[];

export interface SaidCall {
  readonly name: string;
  /** Made up unless given; some vendors leave it empty. */
  readonly id?: string;
  readonly type?: 'function' | 'custom';
  /** The arguments as JSON text, or the input of a custom tool. */
  readonly arguments?: Words;
}

/** What one candidate says. */
export interface Said {
  readonly text?: Words;
  readonly reasoning?: Words;
  readonly refusal?: Words;
  readonly toolCalls?: readonly SaidCall[];
  readonly annotations?: readonly unknown[];
  /** Its finish reason, where not the one that follows from what was said. */
  readonly finish?: string;
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
  readonly finish: string;
}

function spoken(words: Words | undefined): readonly string[] {
  return typeof words === 'string' ? pieces(words) : (words ?? []);
}

/** Passed what is said, a prefix for made-up ids and the most tokens it may take. */
export function speak(said: Said, idPrefix: string, limit: number): Speech {
  let left = limit;
  let cut = false;
  const take = (words: readonly string[]): readonly string[] => {
    const kept = words.slice(0, left);
    left -= kept.length;
    cut ||= kept.length < words.length;
    return kept;
  };
  const reasoning = take(spoken(said.reasoning));
  const text = said.text === undefined ? undefined : take(spoken(said.text));
  const refusal = take(spoken(said.refusal));
  const calls = (said.toolCalls ?? []).flatMap(({ name, id, type = 'function', arguments: words = '{}' }, index): Call[] => {
    if (!take([name]).length) return [];
    return [{ id: id ?? `${idPrefix}${index}`, type, name, fragments: take(spoken(words)) }];
  });
  const natural = calls.length ? 'tool_calls' : 'stop';
  return { reasoning, text, refusal, calls, annotations: said.annotations ?? [], finish: cut ? 'length' : (said.finish ?? natural) };
}

export function speechTokens({ reasoning, text, refusal, calls }: Speech): number {
  const called = calls.reduce((sum, { fragments }) => sum + 1 + fragments.length, 0);
  return reasoning.length + (text?.length ?? 0) + refusal.length + called;
}
