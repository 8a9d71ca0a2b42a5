/**
 * OpenAI refuses to be asked for JSON where no message says so in words, and keeps to a schema only where that is an
 * object's: a list, or a choice of words, can be asked for in words alone.
 */
import type { CanonicalRequest } from '../../core/index.ts';
import type { Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

/** Whether a reply can be held to a format. */
export function isKept({ format }: CanonicalRequest, own: boolean): boolean {
  if (own || format?.type !== 'schema' || !isObject(format.schema)) return true;
  const { type = 'object' } = format.schema;
  return type === 'object';
}

/** The message to put before all others of a request that another protocol read: none where the word is there. */
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
