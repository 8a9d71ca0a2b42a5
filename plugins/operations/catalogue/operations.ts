/**
 * The operations of the catalogue: all models on offer, with the providers of each in the order of attempts,
 * and price updates, which are listed, confirmed if they were held back, and undone.
 */
import {
  computeCost,
  formatUsd,
  GatewayError,
  toUsed,
  type Catalog,
  type Model,
  type Offer,
} from '../../../core/index.ts';
import { createDefiner, roles } from '../../shared/operations.ts';
import type { Verbs } from '../../shared/operator-verbs.ts';
import { findPriceOrigin } from '../../shared/provider/catalogue-file.ts';
import type { Replies } from '../../shared/replies/routes.ts';
import { formatTable } from '../../shared/table.ts';
import { formatFields } from './price-changes.ts';
import { confirmUpdate, listUpdates, showUpdate, undoUpdate, type PriceWork } from './price-updates.ts';

/** The size of a call whose cost is shown as an example. */
const example = { input: 1000, output: 500 };
/** The same call to a model that makes pictures: its output is one. */
const picture = toUsed({ ...example, outputImage: example.output, images: 1 });

function describeOffer({ provider, model, price }: Offer) {
  const isFree = model.free === true;
  const origin = isFree ? undefined : findPriceOrigin(price);
  return {
    provider: provider.name,
    ...(provider.credential === undefined ? {} : { key: provider.credential }),
    upstream: model.upstream,
    protocols: model.protocols ?? Object.keys(provider.endpoints),
    free: isFree,
    price: isFree ? null : { ...price },
    price_date: origin?.asOf ?? null,
    price_source: origin?.source ?? null,
    example_cost: formatUsd(computeCost(model.output.includes('image') ? picture : toUsed(example), price)),
  };
}

function describeModel(catalog: Catalog, model: Model) {
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

/** What the operations work with. */
export interface Prices extends PriceWork {
  /** Who changes a price. */
  readonly by: string;
}

const defineOperation = createDefiner<Prices>();

type ListedModel = Replies['GET /admin/models']['data'][number];

function listProviders({ offers }: ListedModel): string[] {
  return [...new Set(offers.map(({ provider }) => provider))];
}

/** The rates and fees of the first offer, without tiers, modes and rules. */
const listRates = ({ offers: [first] }: ListedModel) => first?.price?.rates ?? [];

/** The rate of a token of text, for a table. */
function showRate(model: ListedModel, unit: string): string {
  const found = listRates(model).find((rate) => rate.unit === unit && rate.modality === undefined);
  return model.offers[0]?.price ? (found?.rate ?? '') : 'free';
}

function toListed(model: ListedModel): object {
  const { id, name, context_length, output_limit, input, output, expires, successor, aliases, offers } =
    model;
  return {
    id,
    name,
    providers: listProviders(model),
    prices: listRates(model),
    free: offers[0]?.free ?? false,
    contextLength: context_length,
    outputLimit: output_limit,
    input,
    output,
    expires,
    ...(successor === null ? {} : { successor }),
    aliases,
  };
}

function explainNoModels({ data }: Replies['GET /admin/models'], owner: string | undefined): string {
  if (owner === undefined || data.length === 0) return "No models: set a provider's key.";
  const owners = new Set(data.map(({ id }) => id.slice(0, id.indexOf('/'))));
  const known = [...owners].toSorted().join(', ');
  return `No ${owner} models: set the key of a provider that has them. There are models of ${known}.`;
}

function formatModels(models: readonly ListedModel[]): string {
  return formatTable(
    ['MODEL', 'INPUT', 'OUTPUT', 'CONTEXT', 'PROVIDERS', 'LAST DAY'],
    models.map((model) => {
      const { id, context_length, expires } = model;
      return [
        id,
        showRate(model, 'input'),
        showRate(model, 'output'),
        String(context_length),
        listProviders(model).join(', '),
        expires ?? '',
      ];
    }),
  );
}

type Update = Replies['POST /admin/prices/:update/undo'];

function formatUpdates(updates: readonly Update[]): string {
  if (updates.length === 0) return 'There are no price updates.';
  return formatTable(
    ['UPDATE', 'STATE', 'FROM', 'MADE', 'MODELS', 'BY', 'SOURCE', 'REASONS'],
    updates.map(({ id, state, from, at, models, by, source, reasons }) => [
      String(id),
      state,
      from,
      at,
      String(models),
      by,
      source,
      reasons.join('; '),
    ]),
  );
}

const formatUpdate = (update: Update): string => `${formatUpdates([update])}\n${formatFields(update.fields)}`;

function readNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new GatewayError('invalid_request', 'a price update has a number: `prices list` shows it', {
      param: 'update',
    });
  return Number(text);
}

const listing = defineOperation({
  route: 'GET /admin/models',
  summary: 'List the models on offer, with prices and providers',
  roles: roles.read,
  run: async ({ catalog }) => ({
    example,
    data: catalog.listModels().map((model) => describeModel(catalog, model)),
  }),
});

const updates = defineOperation({
  route: 'GET /admin/prices',
  summary: 'List price updates, the oldest first, and which are held back',
  roles: roles.read,
  run: async ({ use }) => ({ data: await use(listUpdates) }),
  verbs: { 'prices list': { format: ({ data }) => formatUpdates(data) } },
});

const undoing = defineOperation({
  route: 'POST /admin/prices/:update/undo',
  summary: 'Undo a price update, or refuse one that is held back',
  roles: roles.manage,
  run: async ({ use, by }, _, { update }) =>
    showUpdate(await use((documents) => undoUpdate(documents, readNumber(update), by))),
});

export const operations = [
  listing,
  updates,
  defineOperation({
    route: 'POST /admin/prices/:update/confirm',
    summary: 'Apply a price update that was held back',
    roles: roles.manage,
    run: async ({ use, by }, _, { update }) =>
      showUpdate(await use((documents) => confirmUpdate(documents, readNumber(update), by))),
    verbs: { 'prices confirm <update>': { format: formatUpdate } },
  }),
  undoing,
];

/** Verbs that run several operations, or show a part of a reply. */
export const verbs: Verbs<Prices> = {
  'models [owner]': {
    description:
      'list the models on offer, all or of one owner: USD for a million tokens, context, providers',
    async run({ call }, { args: { owner } }) {
      const listed = await call(listing);
      const models = listed.data
        .filter(({ id }) => owner === undefined || id.startsWith(`${owner}/`))
        .toSorted((first, second) => (first.id < second.id ? -1 : 1));
      const text = models.length > 0 ? formatModels(models) : explainNoModels(listed, owner);
      return { json: models.map(toListed), text };
    },
  },
  'prices undo [update]': {
    description: 'undo a price update (the last one unless named), or refuse one that is held back',
    async run({ call }, { args: { update } }) {
      const applied = update === undefined ? (await call(updates)).data : [];
      const last = update ?? applied.findLast(({ state }) => state === 'applied')?.id;
      if (last === undefined) throw new GatewayError('not_found', 'there is no price update to undo');
      const undone = await call(undoing, { params: { update: String(last) } });
      return { json: undone, text: formatUpdate(undone) };
    },
  },
};
