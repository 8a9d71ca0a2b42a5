/** The public model listing in Google's format: all models, those of one owner, or a single model. */
import {
  GatewayError,
  getRate,
  toGatewayError,
  type Catalog,
  type Model,
  type Route,
  type RouteRequest,
} from '../../../core/index.ts';
import {
  describeListed,
  formatPricing,
  buildListingRoutes,
  listPlaces,
  type ListedRates,
} from '../../shared/wire-kit/model-listing.ts';
import { encodeError } from './errors.ts';
import { joinWords } from './spelling.ts';

/** Audio and cached input without their own price cost as much as input. A search without a price is free. */
const listedRates: ListedRates = {
  prompt: ['input'],
  completion: ['output'],
  audio: ['inputAudio', 'input'],
  input_cache_read: ['cacheRead', 'input'],
  input_cache_write: ['cacheWrite5m', 'cacheWrite30m', 'input'],
};

const generationMethods = ['generateContent', 'streamGenerateContent', 'countTokens'];

/** A GET of a call's path arrives here, because the listing matches any name. */
function refuseCall(name: string): GatewayError | undefined {
  if (!generationMethods.some((method) => name.endsWith(`:${method}`))) return undefined;
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
    supportedGenerationMethods: generationMethods,
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
      listModels: () => catalog.listModels(),
      describeModel,
      wrap: (models, page) => ({
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
