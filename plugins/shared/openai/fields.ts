/**
 * Fields without a canonical name that both of OpenAI's protocols have. They pass between the two unchanged.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { CanonicalRequest, ClientHeaders } from '../../../core/index.ts';
import type { Encoding } from '../wire-kit/encoding.ts';
import type { Fields } from '../wire-kit/vendor-bag.ts';

const safetyIdentifier = 'safety_identifier';
const fields: ReadonlySet<string> = new Set([safetyIdentifier, 'prompt_cache_retention', 'moderation']);
const cacheFields: ReadonlySet<string> = new Set([...fields, 'prompt_cache_options']);

const pairs = 'an object of at most 16 pairs, with names of at most 64 characters';
export const metadataPairs = z
  .record(z.string().max(64), z.string().max(512), pairs)
  .refine((all) => Object.keys(all).length <= 16, pairs);

/** The fields that a model accepts: some models have no control over caching. */
export function selectOpenaiFields(cacheMarks: boolean): ReadonlySet<string> {
  return cacheMarks ? cacheFields : fields;
}

/** The field that names the user: that of the client, if the provider has both. */
export function selectUserField({ names }: CanonicalRequest, hasBoth: boolean): string {
  return hasBoth && names?.user === safetyIdentifier ? safetyIdentifier : 'user';
}

const longestUser = 64;

/** OpenAI accepts 64 characters. A longer name is hashed, so that it still identifies the user. */
export function fitUser(user: string | undefined): string | undefined {
  return user === undefined || user.length <= longestUser
    ? user
    : createHash('sha256').update(user).digest('hex');
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

/** The verbosity, if the model accepts it: OpenAI's models without reasoning only accept "medium". */
export function fitVerbosity({ verbosity }: CanonicalRequest, { model, lose }: Encoding): string | undefined {
  const reasons = model.capabilities.reasoning.style !== 'none';
  if (verbosity === undefined || verbosity === 'medium' || reasons) return verbosity;
  lose('verbosity', 'the model does not accept it', 'model');
  return undefined;
}

const betaHeader = 'openai-beta';

/** The header with which OpenAI's clients request betas, known to us or not. */
export function selectOpenaiHeaders(client: ClientHeaders): Record<string, string> {
  const betas = client[betaHeader];
  return betas === undefined ? {} : { [betaHeader]: String(betas) };
}
