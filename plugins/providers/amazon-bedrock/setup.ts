/**
 * Bedrock's options, addresses and credentials. For Claude the path holds the model, whose name has colons.
 * OpenAI's and open models are served as OpenAI does. Calls have a signature over the finished bytes (SigV4),
 * or an API key.
 */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { z } from 'zod';
import {
  allowReference,
  isReference,
  openSecret,
  readEnvironment,
  type Endpoint,
  type Host,
  type Model,
  type Operation,
  type Provider,
} from '../../../core/index.ts';
import { ExpiringCredential, loadOptional } from '../../shared/cloud/credential.ts';
import { addressSchema, keySchema, secretSchema, vendorOptions } from '../../shared/provider/options.ts';
import { signWithKey, type Signing } from '../../shared/provider/sign-with-key.ts';

const identitySchema = z.looseObject({
  accessKeyId: allowReference(z.string().min(1)),
  secretAccessKey: allowReference(z.string().min(1)),
  sessionToken: allowReference(z.string()).optional(),
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
  ...vendorOptions,
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

function toMethod(operation: Operation, stream: boolean): string {
  if (operation === 'count') return 'count-tokens';
  return stream ? 'invoke-with-response-stream' : 'invoke';
}

/** The name in the path. Tokens are counted by the plain model: a profile of several regions cannot count. */
function toPathName(operation: Operation, upstream: string): string {
  return encodeURIComponent(
    operation === 'count' ? upstream.replace(/^[a-z]+\.(?=anthropic\.)/, '') : upstream,
  );
}

/** Where Bedrock lists its models, which is another host than the one that runs them. */
export function buildListingAddress(base: string): string {
  return `${base.replace('//bedrock-runtime.', '//bedrock.')}/foundation-models`;
}

export function buildEndpoints(base: string): Provider['endpoints'] {
  const openai = `${base}/openai/v1`;
  const invoke: Endpoint = ({ model }) => `${base}/model/${encodeURIComponent(model.upstream)}/invoke`;
  return {
    'chat-completions': `${openai}/chat/completions`,
    responses: (_target, operation) => `${openai}/responses${operation === 'count' ? '/input_tokens' : ''}`,
    'bedrock-rerank': ({ model }) => `${base}/model/${toPathName('generate', model.upstream)}/invoke`,
    messages: ({ model }, operation, stream) =>
      `${base}/model/${toPathName(operation, model.upstream)}/${toMethod(operation, stream)}`,
    'cohere-embed': invoke,
    'titan-embed': invoke,
  };
}

type Bytes = string | ArrayBuffer | ArrayBufferView;

function toView(data: Bytes): string | NodeJS.ArrayBufferView {
  if (typeof data === 'string') return data;
  return data instanceof ArrayBuffer
    ? new Uint8Array(data)
    : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * Node's own SHA-256 in the shape that the signer wants. One written in JavaScript would block the event loop
 * for long bodies.
 */
export class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: Bytes) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', toView(secret));
  }

  update(data: Bytes): void {
    this.#hash.update(toView(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

/** Signs with an API key, or with an access key. */
export function createSigning(host: Host, region: string, credential: Credential): Signing {
  if (typeof credential === 'string')
    return signWithKey(host, 'amazon-bedrock', credential, (key) => ({ authorization: `Bearer ${key}` }));
  for (const text of Object.values(credential)) if (typeof text === 'string') host.openSecret(text);
  return { sign: createSigner(region, credential) };
}

const fields = ['accessKeyId', 'secretAccessKey', 'sessionToken'] as const;
/** Milliseconds for which an access key is used that is referred to. */
const referred = 5 * 60_000;

export function createSigner(region: string, credential: Exclude<Credential, string>): Provider['sign'] {
  const identity = new ExpiringCredential('amazon-bedrock', async () => {
    const value = { ...(typeof credential === 'function' ? await credential() : credential) };
    let expires = value.expiration?.getTime() ?? Infinity;
    for (const name of fields) {
      const text = value[name];
      if (text === undefined || !isReference(text)) continue;
      [value[name]] = await openSecret(text).read();
      expires = Date.now() + referred;
    }
    return { value, expires };
  });
  return async (request) => {
    const { SignatureV4 } = await loadOptional(
      'amazon-bedrock',
      '@smithy/signature-v4',
      () => import('@smithy/signature-v4'),
    );
    const { accessKeyId, secretAccessKey, sessionToken } = await identity.get();
    const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
    const signer = new SignatureV4({ service: 'bedrock', region, credentials, sha256: Sha256 });
    const { protocol, hostname, host, pathname: path } = new URL(request.url);
    const { method, body } = request;
    const headers = { ...request.headers, host };
    const signed = await signer.sign({ method, protocol, hostname, path, query: {}, headers, body });
    return { ...request, headers: signed.headers };
  };
}
