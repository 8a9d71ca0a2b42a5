/**
 * OpenAI refuses to be asked for JSON unless a message contains that word, and it only keeps to a schema whose root is
 * an object. A list, or a choice of words, can only be asked for in the text of a message.
 */
import type { CanonicalRequest } from '../../core/index.ts';
import type { Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

/** Whether the vendor can be made to keep to a format. */
export function isKept({ format }: CanonicalRequest, own: boolean): boolean {
  if (own || format?.type !== 'schema' || !isObject(format.schema)) return true;
  const { type = 'object' } = format.schema;
  return type === 'object';
}

/** A message to put before all others where another protocol's client asks for JSON. There is none where the word is already there. */
export function jsonMessage(request: CanonicalRequest, { own, lose }: { readonly own: boolean; readonly lose: Lose }): Fields[] {
  const { format, turns } = request;
  if (format?.type === 'schema' && !isKept(request, own)) {
    lose('format.schema', 'it is not of an object; asked for in words', 'approximated');
    return [{ role: 'system', content: `Answer with valid JSON alone, which keeps to this schema:\n${JSON.stringify(format.schema)}` }];
  }
  if (own || format?.type !== 'json') return [];
  if (turns.some(({ blocks }) => blocks.some((block) => block.type === 'text' && /json/i.test(block.text)))) return [];
  lose('format', 'asked for in words as well', 'approximated');
  return [{ role: 'system', content: 'Answer with one valid JSON object.' }];
}
