/**
 * The admin API of the catalogue: all models on offer, with the providers of each in the order of attempts,
 * and price updates, which are listed, confirmed if they were held back, and undone.
 */
import { z } from 'zod';
import {
  computeCost,
  formatUsd,
  type Catalog,
  type Model,
  type Offer,
  type Price,
  type Principal,
  type Route,
  type RouteRequest,
} from '../../../core/index.ts';
import { buildOperatorRoutes, readInput } from '../../shared/operator-routes.ts';
import { findPriceOrigin } from '../../shared/provider/catalogue-file.ts';
import type { PriceWork } from './price-commands.ts';
import { writePrice } from './price-history.ts';
import { confirmUpdate, listUpdates, showUpdate, undoUpdate } from './price-updates.ts';

/** The size of a call whose cost is shown as an example. */
const example = { input: 1000, output: 500 };
/** The same call to a model that makes pictures: its output is one. */
const picture = { ...example, outputImage: example.output, images: 1 };

function describeOrigin(price: Price): object {
  const origin = findPriceOrigin(price);
  return { price_date: origin?.asOf ?? null, price_source: origin?.source ?? null };
}

function describeOffer({ provider, model, price }: Offer): object {
  const isFree = model.free === true;
  return {
    provider: provider.name,
    ...(provider.credential === undefined ? {} : { key: provider.credential }),
    upstream: model.upstream,
    protocols: model.protocols ?? Object.keys(provider.endpoints),
    free: isFree,
    price: isFree ? null : writePrice(price),
    ...(isFree ? { price_date: null, price_source: null } : describeOrigin(price)),
    example_cost: formatUsd(computeCost(model.output.includes('image') ? picture : example, price)),
  };
}

function describeModel(catalog: Catalog, model: Model): object {
  const { capabilities } = model;
  return {
    id: model.id,
    name: model.name,
    description: model.description,
    created: model.created,
    expires: model.expires,
    successor: model.successor ?? null,
    aliases: model.aliases,
    context_length: model.contextLength,
    output_limit: model.outputLimit,
    input: model.input,
    output: model.output,
    tools: capabilities.tools,
    structured_output: capabilities.structuredOutput,
    reasoning: capabilities.reasoning.style,
    offers: catalog.find(model.id).map(describeOffer),
  };
}

const number = z.object({ update: z.coerce.number().int().positive() });

/** `onChange` runs after each change of a price. */
export function createCatalogueRoutes({ catalog, use }: PriceWork, onChange: () => void): Route[] {
  const edit =
    (change: typeof confirmUpdate) =>
    async ({ params }: RouteRequest, { key }: Principal): Promise<object> => {
      const { update } = readInput(number, params);
      const done = await use((documents) => change(documents, update, `key ${key}`));
      onChange();
      return showUpdate(done);
    };
  const handlers = {
    'GET /admin/models': async () => ({
      example,
      data: catalog.listModels().map((model) => describeModel(catalog, model)),
    }),
    'GET /admin/prices': async () => ({ data: await use(listUpdates) }),
    'POST /admin/prices/:update/confirm': edit(confirmUpdate),
    'POST /admin/prices/:update/undo': edit(undoUpdate),
  };
  return buildOperatorRoutes(handlers, () => import('./description.ts'));
}
