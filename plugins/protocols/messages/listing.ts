/** The public listing of models in this protocol's format: all models, those of one owner, or one. */
import { toGatewayError, type Catalog, type Model, type Route } from '../../../core/index.ts';
import type { Page } from '../../shared/wire-kit/listing-pages.ts';
import {
  describeListed,
  formatPricing,
  buildListingRoutes,
  type ListedRates,
  listPlaces,
} from '../../shared/wire-kit/model-listing.ts';
import { encodeError } from './errors.ts';
import { readVersion } from './read-request.ts';

/** Cached input without its own price costs as much as other input. */
const listedRates: ListedRates = {
  prompt: ['input'],
  completion: ['output'],
  input_cache_read: ['cacheRead', 'input'],
  input_cache_write_5m: ['cacheWrite5m', 'cacheWrite30m', 'input'],
  input_cache_write_1h: ['cacheWrite1h', 'input'],
};

/** Fields that Anthropic's SDKs require. The catalogue does not know every capability that they list. */
function describeForSdks({ contextLength, outputLimit, expires }: Model): Record<string, unknown> {
  return {
    max_input_tokens: contextLength,
    max_tokens: outputLimit,
    capabilities: null,
    line: null,
    lifecycle: expires ? 'deprecated' : 'active',
    deprecated_at: null,
    retires_at: expires && `${expires}T00:00:00Z`,
  };
}

interface Described extends Record<string, unknown> {
  readonly id: string;
}

function describeModel(model: Model): Described {
  return {
    type: 'model',
    id: model.id,
    display_name: model.name,
    created_at: `${model.created}T00:00:00Z`,
    ...describeForSdks(model),
    pricing: formatPricing(model.price, listedRates),
    ...describeListed(model),
  };
}

/** Wraps all models as a single page, unless they are one of several. */
function wrapPage(data: readonly Described[], page?: Page): Record<string, unknown> {
  return {
    data,
    has_more: page?.more ?? false,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

export const pages = { limit: 'limit', after: 'after_id', before: 'before_id' } as const;

export function buildModelRoutes(catalog: Catalog, mount: string): Route[] {
  return buildListingRoutes(catalog, {
    names: ['messages-models', 'messages-model'],
    places: listPlaces([mount, ''], '/v1', ({ headers }) => readVersion(headers) !== undefined),
    encodeError: (error, id) => encodeError(toGatewayError(error), id),
    // This protocol only reaches models with text output.
    listModels: () => catalog.listModels().filter(({ output }) => output.includes('text')),
    describeModel,
    wrap: wrapPage,
    pages,
    byOwner: true,
    describe: () => import('./description.ts'),
  });
}
