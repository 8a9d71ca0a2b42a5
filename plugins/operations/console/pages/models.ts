/** All models on offer: prices with their date and source, limits, modalities, and providers in order. */
import type { Model, Offer } from '../../../shared/replies/models.ts';
import { useData } from './api.ts';
import { bindQuery, renderSelect } from './form.ts';
import { formatCount, formatShort, formatThings, findRate, nameRate, renderUsd } from './format.ts';
import { html, openDialog, useMemo, buildHref, type Place } from './kit.ts';
import { renderAction, renderBadge, renderCode, renderFacts, renderHead } from './parts.ts';
import { openPrice } from './prices.ts';
import { buildColumn, type Column, renderTable } from './table.ts';

/** Days after which a price should be checked again. */
const oldAfter = 60;

function computeAge({ price_date: date }: Offer): number | undefined {
  return date === null ? undefined : Math.floor((Date.now() - Date.parse(date)) / 86_400_000);
}

const isOld = (offer: Offer): boolean => (computeAge(offer) ?? 0) > oldAfter;

function renderPriceDate(offer: Offer | undefined) {
  if (!offer) return null;
  if (offer.free) return renderBadge('free', 'good');
  if (offer.price_date === null) return html`<span class="dim">your configuration</span>`;
  return html`<span class="nowrap">${offer.price_date}</span> ${
      isOld(offer) && renderBadge(`${computeAge(offer)} days old`, 'warn')
    }`;
}

const offerColumns: readonly Column<Offer>[] = [
  buildColumn('Provider', ({ provider, key }) => `${provider}${key === undefined ? '' : ` (key ${key})`}`),
  buildColumn('Upstream id', 'upstream'),
  buildColumn('Protocols', ({ protocols }) => protocols.join(', ')),
  buildColumn<Offer>('Price checked', 'price_date', renderPriceDate),
];

/** Where prices come from, which can be a long story. */
function renderSources({ offers }: Model) {
  const stated = offers.filter(({ price_source: source }) => source !== null);
  const sources = new Map(stated.map(({ provider, price_source: source }) => [provider, source]));
  return (
    sources.size > 0 &&
    html`<details>
      <summary>Where the prices come from</summary>
      ${renderFacts([...sources])}
    </details>`
  );
}

/** Rates with their amounts, and the tiers, modes and rules of the price as they are. */
function splitPrice(price: Offer['price']) {
  const { rates = [], ...further } = price ?? {};
  return {
    rates: rates.map(({ rate, ...billed }) => [nameRate(billed), renderUsd(rate)] as const),
    further: Object.fromEntries(
      Object.entries(further).filter(
        ([, value]) => typeof value === 'object' && JSON.stringify(value) !== '[]',
      ),
    ),
  };
}

function openModel(model: Model, example: string): void {
  const [offer] = model.offers;
  const { rates, further } = splitPrice(offer?.price ?? null);
  const abilities = [model.tools && 'tools', model.structured_output && 'structured output'];
  openDialog(
    model.id,
    html`<p class="dim">${model.description}</p>
      ${renderFacts([
        ['Name', model.name],
        ['Other names', model.aliases.join(', ')],
        ['Context', `${formatCount(model.context_length)} tokens`],
        ['Max output', `${formatCount(model.output_limit)} tokens`],
        ['Input types', model.input.join(', ')],
        ['Output types', model.output.join(', ')],
        ['Can', abilities.filter(Boolean).join(', ')],
        ['Reasoning', model.reasoning],
        ['Released', model.created],
        ['Last day', model.expires],
        ['Use instead', model.successor],
        [`Example: ${example}`, offer && renderUsd(offer.example_cost)],
      ])}
      <h3>Price in USD</h3>
      ${rates.length > 0 ? renderFacts(rates) : html`<p>Free of charge.</p>`}
      ${Object.keys(further).length > 0 && renderCode(JSON.stringify(further, null, 2))}
      <h3>Providers, in the order they are tried</h3>
      ${renderTable({ name: 'Providers', columns: offerColumns, rows: model.offers, isPlain: true })}
      ${renderSources(model)}
      <div class="row start">
        <a class="button" href=${buildHref('calls', { model: model.id })}>Calls of this model</a>
        ${offer?.price && renderAction('Change the price', () => openPrice(model.id), 'POST /admin/prices')}
      </div>`,
    'wide',
  );
}

function buildColumns(example: string): Column<Model>[] {
  const buildPriceColumn = (title: string, kind: string): Column<Model> =>
    buildColumn(
      title,
      ({ offers: [offer] }) => offer && (offer.free ? '0' : findRate(offer.price, kind)),
      'amount',
    );
  const buildTokensColumn = (title: string, value: (model: Model) => number): Column<Model> =>
    buildColumn(title, value, (model) => formatShort(value(model)), 'figure');
  return [
    buildColumn(
      'Model',
      ({ id, name, aliases }) => [id, name, ...aliases].join(' '),
      (model) =>
        html`<button class="link" onClick=${() => openModel(model, example)}>${model.id}</button> ${
            model.expires && renderBadge(`until ${model.expires}`, 'warn')
          }`,
    ),
    buildColumn('Providers', ({ offers }) =>
      [...new Set(offers.map(({ provider }) => provider))].join(' → '),
    ),
    buildPriceColumn('Input', 'input'),
    buildPriceColumn('Cached', 'cacheRead'),
    buildPriceColumn('Output', 'output'),
    buildColumn('Example', ({ offers: [offer] }) => offer?.example_cost, 'amount'),
    buildColumn(
      'Price checked',
      ({ offers: [offer] }) => offer?.price_date,
      ({ offers: [offer] }) => renderPriceDate(offer),
    ),
    buildTokensColumn('Context', ({ context_length: length }) => length),
    buildTokensColumn('Max output', ({ output_limit: limit }) => limit),
    buildColumn('Input → output', ({ input, output }) => `${input.join(', ')} → ${output.join(', ')}`),
  ];
}

export function Page({ place: { query } }: { readonly place: Place }) {
  const { data, error } = useData('GET /admin/models');
  const example = data
    ? `${formatCount(data.example.input)} tokens in, ${formatCount(data.example.output)} out`
    : '';
  const columns = useMemo(() => buildColumns(example), [example]);
  const models = data?.data;
  const owners = useMemo(
    () => [...new Set(models?.map(({ id }) => id.split('/')[0] ?? ''))].toSorted(),
    [models],
  );
  const { search = '', owner = '' } = query;
  const rows = useMemo(
    () => models?.filter(({ id }) => id.startsWith(owner && `${owner}/`)),
    [models, owner],
  );
  const old = models?.filter(({ offers }) => offers.some(isOld)) ?? [];
  return html`${renderHead('Models', renderSelect('Owner', [['', 'all'], ...owners], bindQuery('owner')))}
  ${
    old.length > 0 &&
    html`<p class="hint">
      The prices of ${formatThings(old.length, 'model')} were checked more than ${oldAfter} days ago. Compare
      them with a newer list:
      <code>tollgate prices diff</code>.
    </p>`
  }
  ${
    data &&
    html`<p class="dim">
      Prices are USD per million tokens at the first provider. The example is a call of ${example}, of one
      picture for a model that makes pictures, and without output for one that makes neither. Context and max
      output are in tokens.
    </p>`
  }
  ${renderTable({
    name: 'Models',
    key: search,
    search,
    columns,
    rows,
    error,
    getKey: ({ id }) => id,
    empty:
      models?.length === 0
        ? html`No models are available. Set the key of a provider, such as <code>OPENAI_API_KEY</code>, and
            restart.`
        : `No models of “${owner}”.`,
  })}`;
}
