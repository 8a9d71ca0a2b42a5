/** The public listing of models in Google's style: all of them, those of one owner, and one alone. */
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
  architectureOf,
  Listings,
  modelsNamed,
  ownerOf,
  pricesOf,
  topProviderOf,
} from '../../shared/wire-kit/model-listing.ts';
import { encodeError } from './errors.ts';

/** What has no price of its own costs as what it is a part of; a search that is not priced costs nothing. */
function pricingOf({ price = freePrice }: Model): Record<string, string> {
  const {
    input,
    output,
    inputAudio = input,
    cacheRead = input,
    cacheWrite5m = input,
    webSearch = 0n,
  } = price;
  const rates = pricesOf([
    ['prompt', input],
    ['completion', output],
    ['audio', inputAudio],
    ['input_cache_read', cacheRead],
    ['input_cache_write', cacheWrite5m],
  ]);
  return { ...rates, web_search: formatUsd(webSearch) };
}

function describe(model: Model): Record<string, unknown> {
  return {
    name: `models/${model.id}`,
    version: model.created,
    displayName: model.name,
    description: model.description,
    inputTokenLimit: model.contextLength,
    outputTokenLimit: model.outputLimit,
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
    ownedBy: ownerOf(model),
    canonicalSlug: model.canonicalSlug ?? model.id,
    contextLength: model.contextLength,
    architecture: architectureOf(model),
    pricing: pricingOf(model),
    topProvider: topProviderOf(model),
    supportedParameters: model.supportedParameters,
    expirationDate: model.expires,
  };
}

/** A name with a slash is a model's, one without an owner's. */
function find(catalog: Catalog, name: string): unknown {
  const found = modelsNamed(catalog, catalog.models(), name);
  return 'id' in found ? describe(found) : { models: found.map(describe) };
}

/** The routes of the listing, below the protocol's address, for both versions the SDKs ask. */
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
        listings.reply('', headers, () => ({ models: catalog.models().map(describe) })),
      openapi: async () => (await import('./description.ts')).models,
    },
    {
      ...shared,
      name: `generate-model-${version}`,
      path: `${mount}/${version}/models/*name`,
      handle: async ({ params: { name = '' }, headers }: RouteRequest) =>
        listings.reply(name, headers, () => find(catalog, name)),
      openapi: async () => (await import('./description.ts')).namedModels,
    },
  ]);
}
