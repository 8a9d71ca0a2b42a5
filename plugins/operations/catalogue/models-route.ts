/** `GET /admin/models`: all models on offer, with the providers of each in the order of attempts. */
import {
  costOf,
  findPriceOrigin,
  formatUsd,
  type Catalog,
  type Model,
  type Offer,
  type Price,
  type Route,
} from '../../../core/index.ts';
import { errors, json } from '../../shared/operator-routes.ts';

/** What a call of 1000 input tokens and 500 output tokens costs, as an example. */
const example = { input: 1000, output: 500 };

/** Prices as decimal strings in USD, their rules and tiers included. */
function describeRates(value: unknown): unknown {
  if (typeof value === 'bigint') return formatUsd(value);
  if (Array.isArray(value)) return value.map(describeRates);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, describeRates(each)]));
}

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
    price: isFree ? null : describeRates(price),
    ...(isFree ? { price_date: null, price_source: null } : describeOrigin(price)),
    example_cost: formatUsd(costOf(example, price)),
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

export function modelsRoute(catalog: Catalog): Route {
  return {
    name: 'admin-models',
    method: 'GET',
    path: '/admin/models',
    access: 'operator',
    errors,
    openapi: async () => (await import('./description.ts')).models,
    handle: async () =>
      json({ example, data: catalog.models().map((model) => describeModel(catalog, model)) }),
  };
}
