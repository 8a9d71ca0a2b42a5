/** The public listing of models in Google's style: all of them, those of one owner, and one alone. */
import { GatewayError, toGatewayError, type Catalog, type Model, type Route, type RouteRequest } from '../../../core/index.ts';
import { architectureOf, Listings, ownerOf, pricesOf, topProviderOf } from '../../shared/model-listing.ts';
import { encodeError } from './errors.ts';

function pricingOf({ price }: Model): Record<string, string> {
  return pricesOf([
    ['prompt', price?.input ?? 0n],
    ['completion', price?.output ?? 0n],
    ['audio', price?.inputAudio],
    ['input_cache_read', price?.cacheRead],
    ['input_cache_write', price?.cacheWrite5m],
  ]);
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
  const [offer] = catalog.find(name);
  if (offer) return describe(offer.model);
  const owned = name.includes('/') ? [] : catalog.models().filter((model) => ownerOf(model) === name);
  if (owned.length > 0) return { models: owned.map(describe) };
  throw new GatewayError('model_not_found', `There is no model "${name.slice(0, 200)}" here; GET the list of models without a name for those there are.`);
}

/** The routes of the listing, below the protocol's address, for both versions the SDKs ask. */
export function listingRoutes(catalog: Catalog, mount: string): Route[] {
  const listings = new Listings(catalog);
  const shared = { method: 'GET', access: 'public', errors: (error: unknown) => encodeError(toGatewayError(error)) } as const;
  return ['v1beta', 'v1'].flatMap((version): Route[] => [
    {
      ...shared,
      name: `generate-models-${version}`,
      path: `${mount}/${version}/models`,
      handle: async ({ headers }: RouteRequest) => listings.reply('', headers, () => ({ models: catalog.models().map(describe) })),
    },
    {
      ...shared,
      name: `generate-model-${version}`,
      path: `${mount}/${version}/models/*name`,
      handle: async ({ params: { name = '' }, headers }: RouteRequest) => listings.reply(name, headers, () => find(catalog, name)),
    },
  ]);
}
