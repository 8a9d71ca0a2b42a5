/** The public model listing in chat style. Clients fill their menus from it, and read prices and limits. */
import { toGatewayError, type Catalog, type Model, type Route } from '../../../core/index.ts';
import {
  describeListed,
  formatPricing,
  buildListingRoutes,
  type ListedRates,
} from '../../shared/wire-kit/model-listing.ts';
import { encodeError } from '../../shared/wire-kit/openai-error.ts';

const listedRates: ListedRates = {
  prompt: ['input'],
  completion: ['output'],
  input_cache_read: ['cacheRead'],
  input_cache_write: ['cacheWrite5m', 'cacheWrite30m'],
  input_cache_write_1h: ['cacheWrite1h'],
  internal_reasoning: ['reasoning'],
  audio: ['inputAudio'],
  request: ['request'],
  image: ['image'],
  web_search: ['webSearch'],
};

function describeModel(model: Model): Record<string, unknown> {
  return {
    id: model.id,
    object: 'model',
    created: Date.parse(model.created) / 1000,
    name: model.name,
    pricing: formatPricing(model.price, listedRates),
    ...describeListed(model),
  };
}

export const pages = { limit: 'limit', after: 'after' } as const;

export function buildModelRoutes(catalog: Catalog): Route[] {
  return buildListingRoutes(catalog, {
    names: ['chat-models', 'chat-model'],
    // Without a version header: where protocols share the path, theirs come first.
    places: [{ path: '/v1/models' }, { path: '/models', isSpelling: true }],
    encodeError: (error) => encodeError(toGatewayError(error)),
    listModels: () => catalog.listModels(),
    describeModel,
    wrap: (data, page) => ({
      object: 'list',
      data,
      ...(page && {
        first_id: page.models.at(0)?.id ?? null,
        last_id: page.models.at(-1)?.id ?? null,
        has_more: page.more,
      }),
    }),
    pages,
    byOwner: false,
    describe: () => import('./description.ts'),
  });
}
