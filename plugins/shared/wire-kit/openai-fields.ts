/** Fields that both of OpenAI's protocols have, without a canonical name. They go from one to the other unchanged. */
import type { CanonicalRequest, ClientHeaders, Model } from '../../../core/index.ts';
import type { Lose } from './losses.ts';
import type { Fields } from './vendor-bag.ts';

const fields: ReadonlySet<string> = new Set(['safety_identifier', 'prompt_cache_retention', 'moderation']);
const cacheFields: ReadonlySet<string> = new Set([...fields, 'prompt_cache_options']);

/** The fields that a model takes: some models have no control over caching. */
export function openaiFieldsFor(cacheMarks: boolean): ReadonlySet<string> {
  return cacheMarks ? cacheFields : fields;
}

/** Whether the user was named in `safety_identifier`; the sibling wire then gets it in the same field. */
export function saysSafety({ form = {} }: CanonicalRequest, protocols: readonly string[]): boolean {
  return protocols.some((protocol) => form[protocol]?.includes('safety-identifier'));
}

/** The fields of a request that was read in the protocol `from`. */
export function openaiFieldsOf(
  { vendor }: CanonicalRequest,
  from: string,
  known: ReadonlySet<string>,
): Fields {
  return Object.fromEntries(
    Object.entries(vendor?.[from] ?? {}).filter(([name, value]) => known.has(name) && value !== null),
  );
}

/** How long an answer should be, if the model takes such a wish: OpenAI's models without reasoning only know the middle value. */
export function fitVerbosity(
  { verbosity }: CanonicalRequest,
  { capabilities }: Model,
  { own, lose }: { readonly own: boolean; readonly lose: Lose },
): string | undefined {
  if (verbosity === undefined || own || verbosity === 'medium' || capabilities.reasoning.style !== 'none')
    return verbosity;
  lose('verbosity', 'the model does not take it', 'model');
  return undefined;
}

const betaHeader = 'openai-beta';

/** The one header in which OpenAI's clients say more than in the body: the betas they want, whether known here or not. */
export function openaiHeaders(client: ClientHeaders): Record<string, string> {
  const betas = client[betaHeader];
  return betas === undefined ? {} : { [betaHeader]: String(betas) };
}
