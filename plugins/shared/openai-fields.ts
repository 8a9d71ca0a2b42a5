/** Fields that stand alike in both of OpenAI's protocols, have no canonical name, and go from one to the other as they are. */
import type { CanonicalRequest, ClientHeaders, Model } from '../../core/index.ts';
import type { Lose } from './losses.ts';
import type { Fields } from './vendor-bag.ts';

const fields: ReadonlySet<string> = new Set(['safety_identifier', 'prompt_cache_retention', 'moderation']);
const cacheFields: ReadonlySet<string> = new Set([...fields, 'prompt_cache_options']);

/** Those that a model takes: some have no say in what is cached. */
export function openaiFieldsFor({ capabilities }: Model): ReadonlySet<string> {
  return capabilities.cacheMarks ? cacheFields : fields;
}

/** Whether the user was named as a safety identifier; on the sibling wire, where it is one. */
export function saysSafety({ form = {} }: CanonicalRequest, protocols: readonly string[]): boolean {
  return protocols.some((protocol) => form[protocol]?.includes('safety-identifier'));
}

/** Those of a request that was read in the protocol `from`. */
export function openaiFieldsOf({ vendor }: CanonicalRequest, from: string, known: ReadonlySet<string>): Fields {
  return Object.fromEntries(Object.entries(vendor?.[from] ?? {}).filter(([name, value]) => known.has(name) && value !== null));
}

/** How wordy an answer is to be, as far as a model takes it: OpenAI's that do not reason are of the middle kind alone. */
export function fitVerbosity({ verbosity }: CanonicalRequest, { capabilities }: Model, { own, lose }: { readonly own: boolean; readonly lose: Lose }): string | undefined {
  if (verbosity === undefined || own || verbosity === 'medium' || capabilities.reasoning.style !== 'none') return verbosity;
  lose('verbosity', 'the model does not take it', 'model');
  return undefined;
}

const betaHeader = 'openai-beta';

/** The one header by which a client of OpenAI's says more than its body does: what it wants to try, known here or not. */
export function openaiHeaders(client: ClientHeaders): Record<string, string> {
  const betas = client[betaHeader];
  return betas === undefined ? {} : { [betaHeader]: String(betas) };
}
