/** Rows of settings that OpenAI's two protocols have alike, with the schemas of their fields. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { CanonicalRequest, Format, Reasoning } from '../../../core/index.ts';
import { loseSettings } from '../wire-kit/image-settings.ts';
import { isUnpriced, unpriced } from '../wire-kit/modes.ts';
import { providerObject } from '../wire-kit/provider-object.ts';
import { findNearestEffort } from '../wire-kit/reasoning-effort.ts';
import { refused, sendUnchanged, type Fit, type SettingRows } from '../wire-kit/settings.ts';
import { overlay, trackReads, type Bag, type Fields, type Tracked } from '../wire-kit/vendor-bag.ts';
import { allowInteger, allowNumber, modelId } from '../wire-kit/wire-check.ts';
import { placeMembers, type OpenaiEncoding, type Typed } from './dialect.ts';
import { fitStrict, type FormatPlan } from './formats.ts';

/** What the encoders of settings need to know. */
export interface SettingsEncoding extends OpenaiEncoding {
  readonly request: CanonicalRequest;
  readonly plan: FormatPlan;
}

const text = z.string().nullish();

const pairs = 'an object of at most 16 pairs, with names of at most 64 characters';
export const metadataPairs = z
  .record(z.string().max(64), z.string().max(512), pairs)
  .refine((all) => Object.keys(all).length <= 16, pairs);

/** The fields of a request that both protocols have, but for the model. */
export const settingFields = {
  temperature: allowNumber(0, 2).nullish(),
  top_p: allowNumber(0, 1).nullish(),
  top_logprobs: allowInteger(0, 20).nullish(),
  stream: z.boolean().nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  metadata: metadataPairs.nullish(),
  user: text,
  safety_identifier: text,
  service_tier: text,
  store: z.boolean().nullish(),
  prompt_cache_key: text,
  prompt_cache_retention: text,
  provider: providerObject.nullish(),
};
const anySettings = z.looseObject({ model: modelId, ...settingFields });
type SharedBody = z.output<typeof anySettings>;

const safetyIdentifier = 'safety_identifier';

export const sharedSettings = {
  toolChoice: { field: 'tool_choice' },
  // Sent with the tools.
  parallelToolCalls: { field: 'parallel_tool_calls', decode: ({ seen }) => seen.parallel_tool_calls },
  temperature: { field: 'temperature', decode: ({ seen }) => seen.temperature, fit: sendUnchanged },
  topP: { field: 'top_p', decode: ({ seen }) => seen.top_p, fit: sendUnchanged },
  user: {
    field: 'user',
    place: '',
    /** Without a user the safety identifier names it. */
    decode: ({ seen: { user, [safetyIdentifier]: id } }) => user ?? id,
    /** The field is that of the client, if the provider has both. */
    fit(user, { isOpenai, request }) {
      const field = isOpenai && request.names?.user === safetyIdentifier ? safetyIdentifier : 'user';
      return [{ [field]: fitUser(user) }];
    },
  },
  metadata: { field: 'metadata', decode: ({ seen }) => seen.metadata, fit: sendUnchanged },
  serviceTier: { field: 'service_tier', decode: ({ seen }) => seen.service_tier },
  cacheKey: { field: 'prompt_cache_key', decode: ({ seen }) => seen.prompt_cache_key, fit: sendUnchanged },
  image: { fit: (image, { lose }) => [void loseSettings(image, [], lose)] },
} satisfies Partial<SettingRows<Tracked<SharedBody>, SettingsEncoding>>;

const longestUser = 64;

/** OpenAI accepts 64 characters. A longer name is hashed, so that it still identifies the user. */
function fitUser(user: string): string {
  return user.length <= longestUser ? user : createHash('sha256').update(user).digest('hex');
}

export function hasOnlySafetyIdentifier({ user, [safetyIdentifier]: id }: SharedBody): boolean {
  return typeof user !== 'string' && typeof id === 'string';
}

/** The identifier of a request that also names the user. */
export function keepSafetyIdentifier({ user, [safetyIdentifier]: id }: SharedBody): Fields {
  return typeof user === 'string' && typeof id === 'string' ? { [safetyIdentifier]: id } : {};
}

/** The verbosity, if the model accepts it: OpenAI's models without reasoning only accept "medium". */
export function fitVerbosity(verbosity: string, { model }: OpenaiEncoding): Fit {
  const reasons = model.capabilities.reasoning.style !== 'none';
  return verbosity === 'medium' || reasons ? [verbosity] : refused;
}

/** The service tier, if its price is known. */
export function fitTier(tier: string, { model }: Pick<OpenaiEncoding, 'model'>): Fit {
  return isUnpriced(tier, model) ? [undefined, unpriced, 'model'] : [tier];
}

/** The effort nearest to the wanted one that the model takes. Reports a difference. */
export function fitEffort({ budget }: Reasoning, wanted: string, { model, lose }: OpenaiEncoding): string {
  const sent = findNearestEffort(wanted, model.capabilities.reasoning.efforts);
  if (budget !== undefined && !(budget === 0 && sent === 'none'))
    lose('reasoning.budget', `sent as effort "${sent}"`, 'approximated');
  else if (sent !== wanted)
    lose(wanted === 'none' ? 'reasoning' : 'reasoning.effort', `sent as "${sent}"`, 'approximated');
  return sent;
}

/** The members that describe a format's schema. */
export const schemaFields = {
  name: z.string().min(1).max(64),
  description: text,
  schema: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
};

const schemaFormat = z.looseObject(schemaFields);

/** Decodes a format with a schema. `wire` is the object with the schema's name. */
export function decodeSchemaFormat(
  wire: z.output<typeof schemaFormat> & { type?: unknown },
  bag: Bag,
): Format {
  const { seen, pickRest } = trackReads(wire);
  const { name, description, schema, strict, type: _type } = seen;
  return {
    type: 'schema',
    name,
    description: description ?? undefined,
    schema: schema ?? undefined,
    strict: strict ?? undefined,
    ...bag.keep(pickRest()),
  };
}

/** Encodes a format as the plan says. An instruction may ask for it instead. */
export function encodeFormat(format: Format, to: SettingsEncoding): Typed | undefined {
  const { plan, dialect, inPlace, lose } = to;
  if (format.type === 'text') return { type: 'text' };
  if (plan.mode === 'json') return { type: 'json_object' };
  if (plan.mode !== 'schema' || format.type !== 'schema') return undefined;
  const { name = 'answer', description } = format;
  // A schema is required in responses.
  const { schema = dialect.nests ? undefined : { type: 'object' } } = plan;
  const strict = inPlace ? format.strict : fitStrict(format, plan.schema, 'format', lose);
  const members = overlay(dialect.bag.getFields(format), { name, description, schema, strict });
  return placeMembers({ type: 'json_schema', ...members }, dialect);
}
