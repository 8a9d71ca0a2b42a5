/**
 * How every vendor counts tokens: a word with the space before it is one, and so is a single sign; words in
 * pieces have one token for each piece, as a model emits them. No real tokeniser does this, but the count is
 * exact and never more than the bytes.
 */

/** Text given whole is cut into tokens; given in pieces, each is one token and one event of a stream. */
export type Words = string | readonly string[];

/** `'Hello there!'` → `['Hello', ' there', '!']`; joined again they are the text. */
function splitText(text: string): string[] {
  return text.match(/\s*(?:[\p{L}\p{N}]+|[^\s\p{L}\p{N}])|\s+$/gu) ?? [];
}

export function splitWords(words: Words | undefined): readonly string[] {
  return typeof words === 'string' ? splitText(words) : (words ?? []);
}

export function countWords(text: string | null | undefined): number {
  return text ? splitText(text).length : 0;
}

/** Tokens of all text anywhere in a request; a medium or anything else without words is 85. */
export function countAll(value: unknown): number {
  if (typeof value === 'string') return value.length > 200 && !/\s/.test(value) ? 85 : countWords(value);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, inner) => sum + countAll(inner), 0);
}
