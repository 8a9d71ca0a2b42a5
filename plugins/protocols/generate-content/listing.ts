/** The public model listing in Google's format: all models, those of one owner, or a single model. */
import {
  formatUsd,
  freePrice,
  toGatewayError,
  type Catalog,
  type Model,
  type Route,
  type RouteRequest,
} from '../../../core/index.ts';
import {
  describeArchitecture,
  Listings,
  findListedModels,
  readOwner,
  formatPrices,
  describeTopProvider,
} from '../../shared/wire-kit/model-listing.ts';
import { encodeError } from './errors.ts';

/** Audio and cached input cost as much as input unless priced. A search without a price is free. */
function buildPricing({ price = freePrice }: Model): Record<string, string> {
  const {
    input,
    output,
    inputAudio = input,
    cacheRead = input,
    cacheWrite30m = input,
    cacheWrite5m = cacheWrite30m,
    webSearch = 0n,
  } = price;
  const rates = formatPrices([
    ['prompt', input],
    ['completion', output],
    ['audio', inputAudio],
    ['input_cache_read', cacheRead],
    ['input_cache_write', cacheWrite5m],
  ]);
  return { ...rates, web_search: formatUsd(webSearch) };
}

function describeModel(model: Model): Record<string, unknown> {
  return {
    name: `models/${model.id}`,
    version: model.created,
    displayName: model.name,
    description: model.description,
    inputTokenLimit: model.contextLength,
    outputTokenLimit: model.outputLimit,
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
    ownedBy: readOwner(model),
    canonicalSlug: model.canonicalSlug ?? model.id,
    contextLength: model.contextLength,
    architecture: describeArchitecture(model),
    pricing: buildPricing(model),
    topProvider: describeTopProvider(model),
    supportedParameters: model.supportedParameters,
    expirationDate: model.expires,
  };
}

/** A name with a slash is a model's id; a name without one is an owner. */
function findModels(catalog: Catalog, name: string): unknown {
  const found = findListedModels(catalog, catalog.models(), name);
  return 'id' in found ? describeModel(found) : { models: found.map(describeModel) };
}

/** The listing's routes below `mount`, for both versions that the SDKs call. */
export function listingRoutes(catalog: Catalog, mount: string): Route[] {
  const listings = new Listings(catalog);
  const shared = {
    method: 'GET',
    access: 'public',
    errors: (error: unknown) => encodeError(toGatewayError(error)),
  } as const;
  return ['v1beta', 'v1'].flatMap((version): Route[] => [
    {
      ...shared,
      name: `generate-models-${version}`,
      path: `${mount}/${version}/models`,
      handle: async ({ headers }: RouteRequest) =>
        listings.reply('', headers, () => ({ models: catalog.models().map(describeModel) })),
      openapi: async () => (await import('./description.ts')).models,
    },
    {
      ...shared,
      name: `generate-model-${version}`,
      path: `${mount}/${version}/models/*name`,
      handle: async ({ params: { name = '' }, headers }: RouteRequest) =>
        listings.reply(name, headers, () => findModels(catalog, name)),
      openapi: async () => (await import('./description.ts')).namedModels,
    },
  ]);
}
