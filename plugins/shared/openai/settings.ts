/**
 * Settings of a request as rows of a table, in both directions: how to read a setting, what members to send,
 * and the names by which losses report it. Rows that OpenAI's two protocols have alike are here, with the
 * schemas of their fields.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { CanonicalRequest, Format, Reasoning } from '../../../core/index.ts';
import { isUnpriced, unpriced } from '../wire-kit/modes.ts';
import { providerObject } from '../wire-kit/provider-object.ts';
import { findNearestEffort } from '../wire-kit/reasoning-effort.ts';
import { overlay, trackReads, type Bag, type Fields, type Tracked } from '../wire-kit/vendor-bag.ts';
import { allowInteger, allowNumber, modelId } from '../wire-kit/wire-check.ts';
import { placeMembers, type OpenaiEncoding, type Typed } from './dialect.ts';
import { fitStrict, type FormatPlan } from './formats.ts';

/** What the encoders of settings need to know. */
export interface SettingsEncoding extends OpenaiEncoding {
  /** Returns the name under which the model takes a field; undefined if it refuses the field. */
  readonly fitField: (field: string) => string | undefined;
  readonly plan: FormatPlan;
}

interface Setting<Value, Body extends object, To> {
  /** Where the body holds it. */
  readonly field?: string;
  /** The names of its parts, by their canonical paths. */
  readonly parts?: Readonly<Record<string, string>>;
  /** Whether the model reads it, so that a count of tokens takes it. */
  readonly isInput?: true;
  readonly decode?: (body: Tracked<Body>) => Value | null;
  /** Returns the members to send. Without it the value itself is sent. */
  readonly encode?: (request: CanonicalRequest, to: To) => Fields;
}

/** Losses are reported in the order of rows. */
export type Settings<Body extends object, To> = {
  readonly [Name in keyof CanonicalRequest]?: Setting<CanonicalRequest[Name], Body, To>;
};

type Name = keyof CanonicalRequest;

const listed = new WeakMap<object, readonly Name[]>();

/** The names of the rows, which are listed once for each table. */
function listNames<Body extends object, To>(settings: Settings<Body, To>): readonly Name[] {
  const known = listed.get(settings);
  if (known) return known;
  const names = Object.keys(settings).filter((name): name is Name => Object.hasOwn(settings, name));
  listed.set(settings, names);
  return names;
}

/** Adds the settings to a request. */
export function decodeSettings<Body extends object, To>(
  settings: Settings<Body, To>,
  body: Tracked<Body>,
  request: CanonicalRequest,
): void {
  const decode = <Each extends Name>(name: Each): void => {
    const value = settings[name]?.decode?.(body);
    if (value !== undefined && value !== null) request[name] = value;
  };
  for (const name of listNames(settings)) decode(name);
}

export const refused = 'the model does not accept it';

export function encodeSettings<Body extends object, To extends SettingsEncoding>(
  settings: Settings<Body, To>,
  request: CanonicalRequest,
  to: To,
): Fields {
  const sent: Record<string, unknown> = {};
  for (const name of listNames(settings)) {
    const { field = '', parts = {}, encode } = settings[name] ?? {};
    if (!encode && request[name] === undefined) continue;
    const members: Fields = encode ? encode(request, to) : { [field]: request[name] };
    for (const member in members) {
      const value = members[member];
      const fitted = value === undefined ? '' : to.fitField(member);
      if (fitted) sent[fitted] = value;
      else if (fitted === undefined)
        to.lose(Object.keys(parts).find((part) => parts[part] === member) ?? name, refused, 'model');
    }
  }
  return sent;
}

/** The protocol's names of canonical fields, where they differ, for the paths of losses. */
export function listFieldNames<Body extends object, To>(
  settings: Settings<Body, To>,
): Record<string, string> {
  const names: Record<string, string> = {};
  for (const name of listNames(settings)) {
    const { field = name, parts } = settings[name] ?? {};
    if (field !== name) names[name] = field;
    Object.assign(names, parts);
  }
  return names;
}

/** The members of a body that a count of tokens takes. */
export function listInputFields<Body extends object, To>(settings: Settings<Body, To>): string[] {
  return listNames(settings).flatMap((name) => {
    const { field, isInput } = settings[name] ?? {};
    return field !== undefined && isInput ? field.split('.', 1) : [];
  });
}

/** A setting that a protocol lacks. */
export function buildLost(
  name: Name,
  reason: string,
  isStated: (request: CanonicalRequest) => boolean = (request) => request[name] !== undefined,
): { readonly encode: (request: CanonicalRequest, to: OpenaiEncoding) => Fields } {
  return {
    encode(request, { lose }) {
      if (isStated(request)) lose(name, reason);
      return {};
    },
  };
}

const text = z.string().nullish();

const pairs = 'an object of at most 16 pairs, with names of at most 64 characters';
const metadataPairs = z
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
  parallelToolCalls: {
    field: 'parallel_tool_calls',
    isInput: true,
    decode: ({ seen }) => seen.parallel_tool_calls,
    // Sent with the tools.
    encode: () => ({}),
  },
  temperature: { field: 'temperature', decode: ({ seen }) => seen.temperature },
  topP: { field: 'top_p', decode: ({ seen }) => seen.top_p },
  user: {
    field: 'user',
    /** Without a user the safety identifier names it. */
    decode: ({ seen: { user, [safetyIdentifier]: id } }) => user ?? id,
    /** The field is that of the client, if the provider has both. */
    encode({ user, names }, { isOpenai }) {
      const field = isOpenai && names?.user === safetyIdentifier ? safetyIdentifier : 'user';
      return { [field]: fitUser(user) };
    },
  },
  metadata: { field: 'metadata', decode: ({ seen }) => seen.metadata },
  serviceTier: { field: 'service_tier', decode: ({ seen }) => seen.service_tier },
  cacheKey: { field: 'prompt_cache_key', decode: ({ seen }) => seen.prompt_cache_key },
} satisfies Settings<SharedBody, OpenaiEncoding>;

const longestUser = 64;

/** OpenAI accepts 64 characters. A longer name is hashed, so that it still identifies the user. */
function fitUser(user: string | undefined): string | undefined {
  return user === undefined || user.length <= longestUser
    ? user
    : createHash('sha256').update(user).digest('hex');
}

export function hasOnlySafetyIdentifier({ user, [safetyIdentifier]: id }: SharedBody): boolean {
  return typeof user !== 'string' && typeof id === 'string';
}

/** The identifier of a request that also names the user. */
export function keepSafetyIdentifier({ user, [safetyIdentifier]: id }: SharedBody): Fields {
  return typeof user === 'string' && typeof id === 'string' ? { [safetyIdentifier]: id } : {};
}

/** The verbosity, if the model accepts it: OpenAI's models without reasoning only accept "medium". */
export function fitVerbosity(
  { verbosity }: CanonicalRequest,
  { model, lose }: OpenaiEncoding,
): string | undefined {
  const reasons = model.capabilities.reasoning.style !== 'none';
  if (verbosity === undefined || verbosity === 'medium' || reasons) return verbosity;
  lose('verbosity', refused, 'model');
  return undefined;
}

/** The service tier, if its price is known. */
export function fitTier(tier: string | undefined, { model, lose }: OpenaiEncoding): string | undefined {
  if (!isUnpriced(tier, model)) return tier;
  lose('serviceTier', unpriced, 'model');
  return undefined;
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

/** Encodes a format as the plan says. An instruction may ask for it instead. */
export function encodeFormat({ format }: CanonicalRequest, to: SettingsEncoding): Typed | undefined {
  const { plan, dialect, inPlace, lose } = to;
  if (format?.type === 'text') return { type: 'text' };
  if (plan.mode === 'json') return { type: 'json_object' };
  if (plan.mode !== 'schema' || format?.type !== 'schema') return undefined;
  const { name = 'answer', description } = format;
  // A schema is required in responses.
  const { schema = dialect.nests ? undefined : { type: 'object' } } = plan;
  const strict = inPlace ? format.strict : fitStrict(format, plan.schema, 'format', lose);
  const members = overlay(dialect.bag.getFields(format), { name, description, schema, strict });
  return placeMembers({ type: 'json_schema', ...members }, dialect);
}
