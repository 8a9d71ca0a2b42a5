/** OpenAI refuses to be asked for JSON where no message says so in words. */
import type { CanonicalRequest } from '../../core/index.ts';
import type { Lose } from './losses.ts';
import type { Fields } from './vendor-bag.ts';

/** The message to put before all others of a request that another protocol read: none where the word is there. */
export function jsonMessage({ format, turns }: CanonicalRequest, { own, lose }: { readonly own: boolean; readonly lose: Lose }): Fields[] {
  if (own || format?.type !== 'json') return [];
  if (turns.some(({ blocks }) => blocks.some((block) => block.type === 'text' && /json/i.test(block.text)))) return [];
  lose('format', 'asked for in words as well', 'approximated');
  return [{ role: 'system', content: 'Answer with one valid JSON object.' }];
}
