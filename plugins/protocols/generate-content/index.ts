/** Google's generate-content protocol: client side, upstream side, token counts and the model listing. */
import { z } from 'zod';
import {
  definePlugin,
  type Protocol,
  type Match,
  type Edit,
  type Retarget,
  type CountSide,
  GatewayError,
  getRate,
  isModality,
  toGatewayError,
  type Catalog,
  type Model,
  type Route,
  type RouteRequest,
} from '../../../core/index.ts';
import { decodeError, encodeError } from '../../shared/google/errors.ts';
import { joinWords } from '../../shared/google/spelling.ts';
import {
  describeListed,
  formatPricing,
  buildListingRoutes,
  listPlaces,
  type ListedRates,
} from '../../shared/wire-kit/model-listing.ts';
import { readObject, readTokens } from '../../shared/wire-kit/values.ts';
import { parts, readRequest, GenerateCall, limitPath } from './call.ts';
import { protocolName, flagsSchema } from './encoding.ts';
import { ReplyDecoder } from './reply-in.ts';
import { ChunkEncoder, encodeStreamError, encodeReply } from './reply-out.ts';
import { encodeRequest, fieldNames } from './request.ts';

/** Counts the input tokens of a request. The count request wraps a complete call. */
export const count: CountSide = {
  buildAddress: (calls) => calls.replace(/:(generate|streamGenerate)Content(?=\?|$)/, ':countTokens'),
  encodeRequest(request, model) {
    const { body, losses } = encodeRequest(request, model, undefined);
    const generateContentRequest = { ...readObject(body), model: `models/${model.upstream}` };
    return { body: { generateContentRequest }, losses };
  },
  decodeReply: (body) => readTokens(body, 'totalTokens'),
  encodeReply: (tokens) => ({ totalTokens: tokens }),
};

export function createProtocol(mount: string): Protocol {
  return {
    name: protocolName,
    body: 'json',
    capabilities: flagsSchema,
    client: {
      match: createMatcher(mount),
      read: readRequest,
      fieldNames,
      usagePath: { reply: ['usageMetadata'], event: ['usageMetadata'] },
      encodeEvents: (context) => new ChunkEncoder(context),
      encodeReply,
      encodeError: (error, _id, match) => encodeError(error, match),
      encodeStreamError,
      // Clients of this protocol accept nothing between two chunks, so there is no keep-alive.
      keepAlive: '',
    },
    upstream: {
      buildHeaders: () => ({}),
      retarget,
      encodeRequest,
      parts,
      decodeEvents: (call, model) => new ReplyDecoder(call, model),
      decodeReply: (body, call, model) => new ReplyDecoder(call, model).decodeWhole(body),
      decodeError,
      modelPaths: [['modelVersion']],
      ending: 'silence',
      terminator: '',
    },
    count,
    describeCalls: async () => (await import('./description.ts')).describeCalls(mount),
  };
}

export const generateContent = definePlugin({
  name: protocolName,
  /** `mount` is the prefix of `/v1beta/models/…` and `/v1/models/…`. */
  options: z.strictObject({
    mount: z
      .string()
      .regex(/^(\/[\w.-]+)*$/, 'a path such as "/beta", without a trailing slash')
      .default('/beta'),
  }),
  apply(host, { mount }) {
    host.protocols.add(createProtocol(mount));
    host.addAddress({
      protocol: protocolName,
      client: '@google/genai',
      path: mount,
      also: /^\/v1(?:alpha|beta)\/|^\/(?:v1\/)?models\/.*:[a-z]+[A-Z]\w+$/s,
      serves: servedMethods,
    });
    host.addExample(
      `curl {url}${mount}/v1beta/models/{model}:generateContent -H "x-goog-api-key: $KEY" -H ` +
        `"Content-Type: application/json" -d '{"contents":[{"role":"user","parts":[{"text":"Hello!"}]}]}'`,
    );
    for (const route of buildModelRoutes(host.catalog, mount)) host.routes.add(route);
  },
});

const methods: Readonly<Record<string, Pick<Match, 'operation' | 'stream'>>> = {
  generateContent: { operation: 'generate', stream: false },
  streamGenerateContent: { operation: 'generate', stream: true },
  countTokens: { operation: 'count', stream: false },
};

const generationMethods = Object.keys(methods);

const embeddingMethods = ['embedContent', 'batchEmbedContents'];

/** By which methods Google's clients call a model: none if it holds no conversations and makes no vectors. */
function listMethods({ output }: Model): readonly string[] {
  if (output.includes('embeddings')) return embeddingMethods;
  return output.some(isModality) ? generationMethods : [];
}

/** The hint in the 404 for any other path. */
const servedMethods = `served here are models with the methods ${generationMethods.join(', ')}`;

/**
 * A second version is not the owner of a model, but the sign of a wrong base URL. Some base URLs have no
 * version; then only `models/` shows that a model follows.
 */
const callPath = /^\/(?:(?:v1beta|v1)\/(?!v1(?:alpha|beta)?\d*\/)(?:models\/)?|models\/)(.+):(\w+)$/s;

/** A stream is a JSON array unless the client requests events. */
function readFraming(query: string | undefined): 'events' | 'array' {
  const parameters = new URLSearchParams(query);
  return (parameters.get('alt') ?? parameters.get('$alt')) === 'sse' ? 'events' : 'array';
}

/** Creates the function that recognizes this protocol's calls below `mount` and at the root. */
function createMatcher(mount: string): (method: string, path: string, query?: string) => Match | undefined {
  return (method, path, query) => {
    if (method !== 'POST') return undefined;
    const called = path.startsWith(`${mount}/`) ? path.slice(mount.length) : path;
    const [, model, name = ''] = callPath.exec(called) ?? [];
    const found = Object.hasOwn(methods, name) ? methods[name] : undefined;
    if (model === undefined || !found) return undefined;
    return { ...found, model, ...(found.stream ? { framing: readFraming(query) } : {}) };
  };
}

export function retarget({ call, model, outputLimit }: Retarget): readonly Edit[] {
  const own = call instanceof GenerateCall ? call : { providerPaths: [], modelPath: undefined, limitPath };
  const edits: Edit[] = own.providerPaths.map((path) => ({ path, value: undefined }));
  if (own.modelPath) edits.push({ path: own.modelPath, value: `models/${model}` });
  if (outputLimit !== undefined && outputLimit !== call.outputLimit)
    edits.push({ path: own.limitPath, value: outputLimit });
  return edits;
}

/** Audio and cached input without their own price cost as much as input. A search without a price is free. */
const listedRates: ListedRates = {
  prompt: ['input'],
  completion: ['output'],
  audio: ['inputAudio', 'input'],
  input_cache_read: ['cacheRead', 'input'],
  input_cache_write: ['cacheWrite5m', 'cacheWrite30m', 'input'],
};

/** A GET of a call's path arrives here, because the listing matches any name. */
function refuseCall(name: string): GatewayError | undefined {
  if (![...generationMethods, ...embeddingMethods].some((method) => name.endsWith(`:${method}`)))
    return undefined;
  return new GatewayError('method_not_allowed', 'A method of a model does not support GET: send POST.', {
    headers: { allow: 'POST' },
  });
}

function describeModel(model: Model): Record<string, unknown> {
  const listed = Object.entries(describeListed(model)).map(([name, value]) => [joinWords(name), value]);
  return {
    name: `models/${model.id}`,
    version: model.created,
    displayName: model.name,
    inputTokenLimit: model.contextLength,
    outputTokenLimit: model.outputLimit,
    supportedGenerationMethods: listMethods(model),
    pricing: {
      ...formatPricing(model.price, listedRates),
      web_search: getRate(model.price, 'webSearch') ?? '0',
    },
    ...Object.fromEntries(listed),
  };
}

export const pages = { limit: 'pageSize', after: 'pageToken', isLenient: true } as const;

/** Requests of Google's clients, which carry the key in one of these places. */
function isOwn({ headers, query }: Pick<RouteRequest, 'headers' | 'query'>): boolean {
  const { 'x-goog-api-key': key, 'x-partner-api-key': neutralKey } = headers;
  return key !== undefined || neutralKey !== undefined || query.has('key');
}

/** Builds the listing's routes below `mount` and at the root, for both versions that the SDKs call. */
export function buildModelRoutes(catalog: Catalog, mount: string): Route[] {
  const bases = [...new Set([mount, ''])];
  const places = {
    v1beta: bases.map((base) => ({ path: `${base}/v1beta/models` })),
    v1: listPlaces(bases, '/v1', isOwn),
  };
  return (['v1beta', 'v1'] as const).flatMap((version) =>
    buildListingRoutes(catalog, {
      names: [`generate-models-${version}`, `generate-model-${version}`],
      places: places[version],
      encodeError: (error) => encodeError(toGatewayError(error)),
      listModels: () => catalog.listModels().filter((model) => listMethods(model).length > 0),
      describeModel,
      wrap: (models, { page }) => ({
        models,
        ...(page?.more ? { nextPageToken: page.models.at(-1)?.id } : {}),
      }),
      pages,
      byOwner: true,
      refuseName: refuseCall,
      describe: () => import('./description.ts'),
    }),
  );
}
