/**
 * Vertex's options, addresses, credentials and bodies. A path holds project, location, publisher, model and
 * method. Messages have their version in the body and the model only in the address. Generate-content is
 * unchanged, except that a count holds no nested request.
 */
import { z } from 'zod';
import {
  readEnvironment,
  type Provider,
  splice,
  type Operation,
  type Target,
  type UpstreamRequest,
} from '../../../core/index.ts';
import { toBodyText, checkUrlPath, buildGeminiPath } from '../../shared/cloud/address.ts';
import { ExpiringCredential, signWith, type Fetched, loadOptional } from '../../shared/cloud/credential.ts';
import { addressSchema, vendorOptions } from '../../shared/provider/options.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';

const accountSchema = z.looseObject({ client_email: z.string(), private_key: z.string() });

export type ServiceAccount = z.output<typeof accountSchema>;

const projectSchema = z.string().regex(/^[\w.:-]+$/, 'the id of a project');
const locationSchema = z.string().regex(/^[a-z0-9-]+$/, 'a location such as global or europe-west1');

export const optionsSchema = z.strictObject({
  /** The project; `GOOGLE_CLOUD_PROJECT` unless given. */
  project: projectSchema.optional(),
  /** `global`, `us`, `eu`, or a region such as `europe-west1`; `GOOGLE_CLOUD_LOCATION` unless given. */
  location: locationSchema.optional(),
  /** Another address than the location's own; `GOOGLE_VERTEX_BASE_URL` unless given. */
  baseUrl: addressSchema.optional(),
  /**
   * A service account's key as Google gives it out, or several; by default `GOOGLE_APPLICATION_CREDENTIALS`,
   * or the identity of the machine.
   */
  credentials: z.union([accountSchema, z.array(accountSchema).min(1)]).optional(),
  ...vendorOptions,
});

type Options = z.output<typeof optionsSchema>;

export interface Place {
  readonly base: string;
  readonly project: string;
  readonly location: string;
}

/** Locations that span several regions have a domain of their own. */
function toHost(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com';
  return location.includes('-')
    ? `${location}-aiplatform.googleapis.com`
    : `aiplatform.${location}.rep.googleapis.com`;
}

/** Completes the options from the usual variables; undefined if the project or the location is missing. */
export function findPlace(options: Options): Place | undefined {
  const project = options.project ?? readEnvironment('GOOGLE_CLOUD_PROJECT', projectSchema);
  const location = options.location ?? readEnvironment('GOOGLE_CLOUD_LOCATION', locationSchema);
  if (!project || !location) return undefined;
  const base =
    options.baseUrl ??
    readEnvironment('GOOGLE_VERTEX_BASE_URL', addressSchema) ??
    `https://${toHost(location)}`;
  return { base: base.replace(/(?<!\/)\/+$/, ''), project, location };
}

/** Address and body of a count, which costs nothing, to find out whether calls would be accepted. */
export function buildCountRequest(
  { base, project, location }: Place,
  model: string,
): { url: string; body: string } {
  const place = `${base}/v1/projects/${project}/locations/${location}`;
  const url = `${place}/publishers/google/models/${model}:countTokens`;
  return { url, body: '{"contents":[{"role":"user","parts":[{"text":"Hello!"}]}]}' };
}

/** The ranking API has hosts of its own, in two multi-regions and for the world. */
function buildRankingAddress({ base, project, location }: Place): string {
  const [area = ''] = /^(?:us|eu)/.exec(location) ?? [];
  const host = `https://${area && `${area}-`}discoveryengine.googleapis.com`;
  const place = `${base === `https://${toHost(location)}` ? host : base}/v1/projects/${project}`;
  return `${place}/locations/${area || 'global'}/rankingConfigs/default_ranking_config:rank`;
}

export function buildEndpoints({ base, project, location }: Place): Provider['endpoints'] {
  const place = `${base}/v1/projects/${project}/locations/${location}`;
  const publishers = `${place}/publishers`;
  return {
    // Open models; the body names them.
    'chat-completions': `${place}/endpoints/openapi/chat/completions`,
    'google-rank': buildRankingAddress({ base, project, location }),
    'generate-content': (...call) => `${publishers}/google/${buildGeminiPath(...call)}`,
    'embed-content': ({ model }) =>
      `${publishers}/google/models/${checkUrlPath(model.upstream)}:embedContent`,
    'vertex-predict': ({ model }) => `${publishers}/google/models/${checkUrlPath(model.upstream)}:predict`,
    messages({ model }, operation, stream) {
      // Counting has a model of its own; the body names the model to count for.
      const name = operation === 'count' ? 'count-tokens' : checkUrlPath(model.upstream);
      return `${publishers}/anthropic/models/${name}:${stream ? 'streamRawPredict' : 'rawPredict'}`;
    },
  };
}

const scope = 'https://www.googleapis.com/auth/cloud-platform';
/** For how long a token is used that came without an expiry. */
const whenUnsaid = 10 * 60_000;

async function fetchHeaders(
  account: ServiceAccount | undefined,
): Promise<Fetched<Readonly<Record<string, string>>>> {
  const { GoogleAuth, JWT } = await loadOptional(
    'google-vertex',
    'google-auth-library',
    () => import('google-auth-library'),
  );
  // Created each time: a cached one would return a token that the vendor has already refused.
  const scopes = [scope];
  const client = account
    ? new JWT({ email: account.client_email, key: account.private_key, scopes })
    : await new GoogleAuth({ scopes }).getClient();
  const headers = await client.getRequestHeaders();
  return {
    value: Object.fromEntries(headers),
    expires: client.credentials.expiry_date ?? Date.now() + whenUnsaid,
  };
}

export function signWithToken(account: ServiceAccount | undefined): Pick<Provider, 'sign' | 'unwrap'> {
  return signWith(new ExpiringCredential('google-vertex', () => fetchHeaders(account)));
}

const version = 'vertex-2023-10-16';

/** All members that a count takes, in both spellings of this wire. */
const counted: ReadonlySet<string> = new Set([
  'contents',
  'systemInstruction',
  'system_instruction',
  'tools',
  'generationConfig',
  'generation_config',
]);

function toCountBody(text: string): string {
  const body: unknown = JSON.parse(text);
  if (!isObject(body)) return text;
  const inner = body.generateContentRequest ?? body.generate_content_request ?? body;
  return JSON.stringify(Object.fromEntries(Object.entries(inner).filter(([name]) => counted.has(name))));
}

export function wrap(request: UpstreamRequest, { protocol }: Target, operation: Operation): UpstreamRequest {
  if (protocol.name !== 'messages')
    return operation === 'count' ? { ...request, body: toCountBody(toBodyText(request)) } : request;
  const { 'anthropic-version': _, ...headers } = request.headers;
  const isCount = operation === 'count';
  const withoutModel = isCount ? [] : [{ path: ['model'] as const, value: undefined }];
  const body = splice(toBodyText(request), [
    { path: ['anthropic_version'], value: version },
    ...withoutModel,
  ]);
  return { ...request, headers, body };
}
