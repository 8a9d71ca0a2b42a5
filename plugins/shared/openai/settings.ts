/**
 * The settings that OpenAI's two protocols have alike, in both directions, with the schemas of their fields.
 */
import { z } from 'zod';
import type { CanonicalRequest, Format, Reasoning } from '../../../core/index.ts';
import type { Encoding } from '../wire-kit/encoding.ts';
import type { FormatPlan } from '../wire-kit/json-mode.ts';
import { fitStrict } from '../wire-kit/object-schema.ts';
import { providerObject } from '../wire-kit/provider-object.ts';
import { findNearestEffort } from '../wire-kit/reasoning-effort.ts';
import { overlay, trackReads, type Bag, type Fields } from '../wire-kit/vendor-bag.ts';
import { allowInteger, allowNumber, modelId } from '../wire-kit/wire-check.ts';
import { metadataPairs } from './fields.ts';

const text = z.string().nullish();

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

/** Decodes these fields, but for the log probabilities. Without a user the safety identifier names it. */
export function decodeSettings(wire: z.output<typeof anySettings>) {
  const { user, safety_identifier: id, provider: _preferences } = wire;
  return {
    model: wire.model,
    stream: wire.stream ?? false,
    parallelToolCalls: wire.parallel_tool_calls ?? undefined,
    temperature: wire.temperature ?? undefined,
    topP: wire.top_p ?? undefined,
    user: user ?? id ?? undefined,
    metadata: wire.metadata ?? undefined,
    serviceTier: wire.service_tier ?? undefined,
    cacheKey: wire.prompt_cache_key ?? undefined,
  };
}

type Users = Pick<z.output<typeof anySettings>, 'user' | 'safety_identifier'>;

export function hasOnlySafetyIdentifier({ user, safety_identifier: id }: Users): boolean {
  return typeof user !== 'string' && typeof id === 'string';
}

/** The identifier of a request that also names the user. */
export function keepSafetyIdentifier({ user, safety_identifier: id }: Users): Fields {
  return typeof user === 'string' && typeof id === 'string' ? { safety_identifier: id } : {};
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
  const [{ name, description, schema, strict, type: _type }, pickRest] = trackReads(wire);
  return {
    type: 'schema',
    name,
    description: description ?? undefined,
    schema: schema ?? undefined,
    strict: strict ?? undefined,
    ...bag.keep(pickRest()),
  };
}

/** Encodes a format, with the members of its schema beside its type. */
export function encodeFormat(
  { format }: CanonicalRequest,
  { mode, schema }: FormatPlan,
  { inPlace, lose }: Encoding,
  bag: Bag,
): (Fields & { readonly type: string }) | undefined {
  if (format?.type === 'text') return { type: 'text' };
  if (mode === 'json') return { type: 'json_object' };
  if (mode !== 'schema' || format?.type !== 'schema') return undefined;
  const { name = 'answer', description } = format;
  const strict = inPlace ? format.strict : fitStrict(format, schema, 'format', lose);
  return { type: 'json_schema', ...overlay(bag.getFields(format), { name, description, schema, strict }) };
}

/** The effort nearest to the wanted one that the model takes. Reports a difference. */
export function fitEffort({ budget }: Reasoning, wanted: string, { model, lose }: Encoding): string {
  const sent = findNearestEffort(wanted, model.capabilities.reasoning.efforts);
  if (budget !== undefined && !(budget === 0 && sent === 'none'))
    lose('reasoning.budget', `sent as effort "${sent}"`, 'approximated');
  else if (sent !== wanted)
    lose(wanted === 'none' ? 'reasoning' : 'reasoning.effort', `sent as "${sent}"`, 'approximated');
  return sent;
}
