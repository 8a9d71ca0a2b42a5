/** The public listing of models in the messages style: all of them, those of one owner, or one. */
import { GatewayError, toGatewayError, type Catalog, type Model, type Route, type RouteRequest } from '../../../core/index.ts';
import { architectureOf, Listings, ownerOf, pricesOf, topProviderOf } from '../../shared/model-listing.ts';
import { encodeError } from './errors.ts';

function pricingOf({ price }: Model): Record<string, string> {
  return pricesOf([
    ['prompt', price?.input ?? 0n],
    ['completion', price?.output ?? 0n],
    ['input_cache_read', price?.cacheRead],
    ['input_cache_write_5m', price?.cacheWrite5m],
    ['input_cache_write_1h', price?.cacheWrite1h],
  ]);
}

function describe(model: Model): Record<string, unknown> {
  return {
    type: 'model',
    id: model.id,
    display_name: model.name,
    created_at: `${model.created}T00:00:00Z`,
    owned_by: ownerOf(model),
    canonical_slug: model.canonicalSlug ?? model.id,
    description: model.description,
    context_length: model.contextLength,
    architecture: architectureOf(model),
    pricing: pricingOf(model),
    top_provider: topProviderOf(model),
    supported_parameters: model.supportedParameters,
    expiration_date: model.expires,
  };
}

/** A model that says nothing in words cannot be reached by this protocol. */
function reachable(catalog: Catalog): Model[] {
  return catalog.models().filter(({ output }) => output.includes('text'));
}

/** An owner alone, or a whole model id. */
function find(catalog: Catalog, id: string, list: string): unknown {
  if (id.includes('/')) {
    const model = reachable(catalog).find((each) => each.id === id);
    if (model) return describe(model);
  } else {
    const models = reachable(catalog).filter((model) => ownerOf(model) === id);
    if (models.length > 0) return { data: models.map(describe) };
  }
  const name = id.slice(0, 200);
  throw new GatewayError('model_not_found', `There is no model "${name}" here; GET ${list} lists those there are.`, { param: 'model' });
}

/** The routes of the family's listing, below its mount. */
export function listingRoutes(catalog: Catalog, mount: string): Route[] {
  const path = `${mount}/v1/models`;
  const listings = new Listings(catalog);
  const shared = { method: 'GET', access: 'public', errors: (error: unknown) => encodeError(toGatewayError(error)) } as const;
  return [
    {
      ...shared,
      name: 'messages-models',
      path,
      handle: async ({ headers }: RouteRequest) => listings.reply('', headers, () => ({ data: reachable(catalog).map(describe) })),
    },
    {
      ...shared,
      name: 'messages-model',
      // An id holds slashes, which some clients send as they are and some as %2F.
      path: `${path}/*id`,
      handle: async ({ params: { id = '' }, headers }: RouteRequest) => listings.reply(id, headers, () => find(catalog, id, path)),
    },
  ];
}
