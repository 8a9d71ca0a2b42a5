/**
 * The field of OpenAI's calls that are no chats: a text, several, or the numbers of the tokens of one or of
 * several.
 */

import { z } from 'zod';

/** A text, or the numbers of its tokens. */
export type TextOrTokens = string | readonly number[];

/** OpenAI takes no more at once. All tokens together are limited so that they are quickly checked. */
export const mostTexts = 2048;
const mostTokens = 1_048_576;

const isTokens = (value: unknown): value is number[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= mostTokens &&
  value.every((token) => Number.isSafeInteger(token) && token >= 0);

const isAnyText = (value: unknown): value is string => typeof value === 'string';

/** The texts of a field; undefined if it holds none. */
export function readTexts(value: unknown, isText = isAnyText): readonly TextOrTokens[] | undefined {
  if (isText(value) || isTokens(value)) return [value];
  if (!Array.isArray(value) || value.length === 0 || value.length > mostTexts) return undefined;
  if (value.every(isText)) return value;
  const tokens = value.reduce(
    (sum: number, each: unknown) => sum + (Array.isArray(each) ? each.length : 0),
    0,
  );
  return tokens <= mostTokens && value.every(isTokens) ? value : undefined;
}

const [text, tokens] = [{ type: 'string' }, { type: 'array', items: { type: 'integer' } }];
const lists = [text, tokens].map((items) => ({ type: 'array', items }));

/** The schema of such a field. `one` names a text. A union of zod would read a million tokens twice. */
export function allowTexts(one: string, description: string, isText = isAnyText): z.ZodUnknown {
  const others = `an array of at most ${mostTexts} of them, the numbers of the tokens of one text`;
  return z
    .unknown()
    .refine(
      (value) => readTexts(value, isText) !== undefined,
      `${one}, ${others}, or an array of such arrays`,
    )
    .meta({ anyOf: [text, tokens, ...lists], description });
}
