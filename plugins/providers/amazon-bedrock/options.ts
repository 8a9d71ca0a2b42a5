/** Bedrock's options: the region, the credentials, and which regions may answer. */
import { z } from 'zod';
import { readEnvironment, type Model } from '../../../core/index.ts';
import { cloudOptions } from '../../shared/cloud/offer.ts';
import { addressSchema, keySchema, secretSchema } from '../../shared/provider/options.ts';

const identitySchema = z.looseObject({
  accessKeyId: z.string().min(1),
  secretAccessKey: z.string().min(1),
  sessionToken: z.string().optional(),
  /** When temporary credentials expire. */
  expiration: z.date().optional(),
});

export type Identity = z.output<typeof identitySchema>;

function isFunction(value: unknown): value is () => Promise<Identity> {
  return typeof value === 'function';
}

const regionSchema = z.string().regex(/^[a-z0-9-]+$/, 'a region such as eu-central-1');

export const optionsSchema = z.strictObject({
  /** The region that is asked; `AWS_REGION` unless given. */
  region: regionSchema.optional(),
  /** Another address than the region's own; `AWS_ENDPOINT_URL_BEDROCK_RUNTIME` unless given. */
  baseUrl: addressSchema.optional(),
  /**
   * An access key, or a function that returns one, such as the AWS SDK's `fromNodeProviderChain()`. The
   * function is called again before its key expires. `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
   * `AWS_SESSION_TOKEN` unless given.
   */
  credentials: z
    .union([
      identitySchema,
      z.custom<() => Promise<Identity>>(isFunction, 'an access key, or a function that gives one'),
    ])
    .optional(),
  /**
   * An API key of Bedrock's, or several, shown instead of a signature; `AWS_BEARER_TOKEN_BEDROCK` unless
   * given.
   */
  apiKey: keySchema.optional(),
  /**
   * Where calls may be answered: anywhere, within one geography, or only in the region, where newer models
   * are often missing. Prices differ.
   */
  profile: z.enum(['global', 'us', 'eu', 'au', 'jp', 'in', 'region']).default('global'),
  ...cloudOptions,
});

type Options = z.output<typeof optionsSchema>;

/** A text is an API key. */
export type Credential = string | Identity | (() => Promise<Identity>);

export interface Place {
  readonly base: string;
  readonly region: string;
  /** One credential or several. */
  readonly credentials: readonly Credential[];
}

function findCredentials({ credentials, apiKey }: Options): Credential[] {
  const given = apiKey ?? credentials;
  if (given !== undefined) return [given].flat();
  const variables = [
    'AWS_BEARER_TOKEN_BEDROCK',
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
  ];
  const [bearer, accessKeyId, secretAccessKey, sessionToken] = variables.map((variable) =>
    readEnvironment(variable, secretSchema),
  );
  if (bearer) return [bearer];
  return accessKeyId && secretAccessKey
    ? [{ accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }]
    : [];
}

/** Completes the options from the usual variables; undefined if the region or the credentials are missing. */
export function findPlace(options: Options): Place | undefined {
  const region = options.region ?? readEnvironment('AWS_REGION', regionSchema);
  const credentials = findCredentials(options);
  if (!region || credentials.length === 0) return undefined;
  const base =
    options.baseUrl ??
    readEnvironment('AWS_ENDPOINT_URL_BEDROCK_RUNTIME', addressSchema) ??
    `https://bedrock-runtime.${region}.amazonaws.com`;
  return { base: base.replace(/(?<!\/)\/+$/, ''), region, credentials };
}

/** What a name begins with if a profile of several regions may answer. */
const severalRegions = /^(global|us|eu|au|jp|in)\./;

/**
 * The models of the catalogue that this profile offers: those whose names begin with it, and of other makers
 * than Anthropic also those that the region itself serves.
 */
export function filterModels(models: readonly Model[], profile: Options['profile']): readonly Model[] {
  const inRegion = models.filter(({ upstream }) => !severalRegions.test(upstream));
  if (profile === 'region') return inRegion;
  const named = models.filter(({ upstream }) => upstream.startsWith(`${profile}.`));
  const known = new Set(named.map(({ id }) => id));
  return [
    ...named,
    ...inRegion.filter(({ id, upstream }) => !upstream.startsWith('anthropic.') && !known.has(id)),
  ];
}
