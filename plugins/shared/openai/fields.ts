/**
 * Fields without a canonical name that both of OpenAI's protocols have. They pass between the two unchanged.
 */
import type { CanonicalRequest, ClientHeaders } from '../../../core/index.ts';
import type { Fields } from '../wire-kit/vendor-bag.ts';
import type { OpenaiEncoding } from './dialect.ts';

const none: ReadonlySet<string> = new Set();
const fields: ReadonlySet<string> = new Set(['safety_identifier', 'prompt_cache_retention', 'moderation']);
const cacheFields: ReadonlySet<string> = new Set([...fields, 'prompt_cache_options']);

/** The fields that a model accepts: none at other vendors, and some models cannot control caching. */
export function selectOpenaiFields({ isOpenai, marks }: OpenaiEncoding): ReadonlySet<string> {
  if (!isOpenai) return none;
  return marks ? cacheFields : fields;
}

/** These fields of a request that came in the protocol `from`. */
export function readOpenaiFields(
  { vendor }: CanonicalRequest,
  from: string,
  known: ReadonlySet<string>,
): Fields {
  return Object.fromEntries(
    Object.entries(vendor?.[from] ?? {}).filter(([name, value]) => known.has(name) && value !== null),
  );
}

const betaHeader = 'openai-beta';

/** The header with which OpenAI's clients request betas, known to us or not. */
export function selectOpenaiHeaders(client: ClientHeaders): Record<string, string> {
  const betas = client[betaHeader];
  return betas === undefined ? {} : { [betaHeader]: String(betas) };
}
