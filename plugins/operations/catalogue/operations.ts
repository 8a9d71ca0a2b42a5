/**
 * The operations of the catalogue: all models on offer, with the providers of each in the order of attempts,
 * and price updates, which are made by hand, listed, confirmed if they were held back, and undone.
 */
import { z } from 'zod';
import {
  computeCost,
  findKind,
  formatUsd,
  GatewayError,
  isModality,
  nameKind,
  toUsed,
  trimDecimal,
  type Catalog,
  type Model,
  type Offer,
  type Used,
} from '../../../core/index.ts';
import { createDefiner, roles } from '../../shared/operations.ts';
import type { Verbs } from '../../shared/operator-verbs.ts';
import { findPriceOrigin } from '../../shared/provider/catalogue-file.ts';
import type { Replies } from '../../shared/replies/routes.ts';
import { formatTable } from '../../shared/table.ts';
import { formatFields } from './price-changes.ts';
import { moment } from './price-commands.ts';
import { flattenPrice } from './price-list.ts';
import {
  applyFeed,
  confirmUpdate,
  listUpdates,
  showUpdate,
  undoUpdate,
  type PriceWork,
} from './price-updates.ts';

/** The size of a call whose cost is shown as an example. */
const example = { input: 1000, output: 500 };
/** The same call to a model that makes pictures: its output is one. */
const picture = toUsed({ ...example, outputImage: example.output, images: 1 });
/** To a model that makes neither: it writes nothing, and searches once if it bills searches. */
const search = toUsed({ input: example.input, output: 0, search: 1 });

function selectExample({ output }: Model): Used {
  if (output.includes('image')) return picture;
  return output.some(isModality) ? toUsed(example) : search;
}

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
    example_cost: formatUsd(computeCost(selectExample(model), price)),
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

/** Units of tools, which a call may use besides. */
const sideUnits = new Set(['webSearch', 'previewSearch', 'fileSearch', 'container']);

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

/** The rates of what a call is for if that is no token of text: a picture, a second, a page. */
function showUnitRates(model: ListedModel): string {
  const found = listRates(model).filter(({ unit, modality }) => {
    const kind = findKind(unit);
    return unit === 'output' ? modality !== undefined : kind?.per === 1 && !sideUnits.has(unit);
  });
  return found.map((each) => `${nameKind(each)} ${each.rate}`).join(', ');
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
    ['MODEL', 'INPUT', 'OUTPUT', 'PER UNIT', 'CONTEXT', 'PROVIDERS', 'LAST DAY'],
    models.map((model) => {
      const { id, context_length, expires } = model;
      return [
        id,
        showRate(model, 'input'),
        showRate(model, 'output'),
        showUnitRates(model),
        String(context_length),
        listProviders(model).join(', '),
        expires ?? '',
      ];
    }),
  );
}

type Update = Replies['POST /admin/prices/:update/undo'];

function formatUpdates(updates: readonly Update[]): string {
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
    { many: 'price updates' },
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

const priceOrder = z.strictObject({
  model: z.string().min(1).max(200),
  /** Only the price of this provider; of all that offer the model unless given. */
  provider: z.string().min(1).max(200).optional(),
  rates: z
    .record(
      z.string().max(100),
      z
        .string()
        .regex(/^\d{1,12}(\.\d{1,18})?$/, 'a rate is USD as a decimal string, as "2.50"')
        .transform(trimDecimal),
    )
    .refine((rates) => Object.keys(rates).length > 0, 'it needs a rate, as {"input": "2.50"}'),
  /** When it takes effect: now unless given. */
  from: moment.optional(),
});

/** The new rates of each provider's model. Throws if there is no such model, or if it has no such rate. */
function readOrder(catalog: Catalog, { model: id, provider: only, rates }: z.output<typeof priceOrder>) {
  const offers = catalog.find(id).filter(({ provider }) => only === undefined || provider.name === only);
  const [first] = offers;
  if (!first)
    throw new GatewayError('not_found', `no provider offers "${id}"`, {
      param: only === undefined ? 'model' : 'provider',
    });
  if (offers.some(({ model }) => model.free))
    throw new GatewayError('invalid_request', `"${id}" is free of charge`, { param: 'model' });
  for (const name of Object.keys(rates)) {
    const isKnown =
      !/ by /.test(name) && offers.some(({ price }) => Object.hasOwn(flattenPrice(price), name));
    if (!isKnown && !findKind(name))
      throw new GatewayError('invalid_request', `rates.${name}: there is no such rate of "${id}"`, {
        param: `rates.${name}`,
      });
  }
  const vendors = Map.groupBy(offers, ({ provider }) => provider.name);
  return new Map(
    [...vendors].map(([name, own]) => [name, new Map(own.map(({ model }) => [model.upstream, rates]))]),
  );
}

const changing = defineOperation({
  route: 'POST /admin/prices',
  summary: 'Change rates of a model, from now on or from a date on',
  details:
    'A rate is USD for a million tokens, or for one of another unit, by the names that `GET /admin/prices` ' +
    'shows: `input`, `output above 200000`. Others stay. A newer catalogue file wins over a change.',
  roles: roles.manage,
  statuses: [201],
  input: priceOrder,
  async run({ catalog, use, by }, order) {
    const vendors = readOrder(catalog, order);
    const { from = Date.now() } = order;
    const snapshot = { complete: false, byHand: true, vendors };
    return use(async (documents) => {
      const feed = { source: 'an operator', from, by, confirmed: true };
      const { applied } = await applyFeed(documents, catalog, snapshot, feed);
      const update = (await listUpdates(documents)).find(({ id }) => id === applied);
      if (!update)
        throw new GatewayError('conflict', `"${order.model}" has these rates already`, { param: 'rates' });
      return update;
    });
  },
});

export const operations = [
  listing,
  updates,
  changing,
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
