/** Fields that stand alike in both of OpenAI's protocols, have no canonical name, and go from one to the other as they are. */
import type { CanonicalRequest } from '../../core/index.ts';
import type { Fields } from './vendor-bag.ts';

export const openaiFields: ReadonlySet<string> = new Set(['safety_identifier', 'prompt_cache_retention', 'prompt_cache_options', 'moderation']);

/** Whether the user was named as a safety identifier; on the sibling wire, where it is one. */
export function saysSafety({ form = {} }: CanonicalRequest, protocols: readonly string[]): boolean {
  return protocols.some((protocol) => form[protocol]?.includes('safety-identifier'));
}

/** Those of a request that was read in the protocol `from`. */
export function openaiFieldsOf({ vendor }: CanonicalRequest, from: string): Fields {
  return Object.fromEntries(Object.entries(vendor?.[from] ?? {}).filter(([name, value]) => openaiFields.has(name) && value !== null));
}
