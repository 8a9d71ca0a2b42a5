/** All models on offer: prices with their date and source, limits, modalities, and providers in order. */
import { useData } from './api.ts';
import { count, short } from './format.ts';
import { html, openDialog, useMemo } from './kit.ts';
import { Amount } from './money.ts';
import { Badge, Code, Facts, Fault, Head, Select } from './parts.ts';
import { href, setQuery, type Place } from './router.ts';
import { Table, type Column } from './table.ts';

interface Offer {
  readonly provider: string;
  readonly key?: number;
  readonly upstream: string;
  readonly protocols: readonly string[];
  readonly free: boolean;
  readonly price: Readonly<Record<string, unknown>> | null;
  readonly price_date: string | null;
  readonly price_source: string | null;
  readonly example_cost: string;
}

interface Model {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly created: string;
  readonly expires: string | null;
  readonly successor: string | null;
  readonly aliases: readonly string[];
  readonly context_length: number;
  readonly output_limit: number;
  readonly input: readonly string[];
  readonly output: readonly string[];
  readonly tools: boolean;
  readonly structured_output: boolean;
  readonly reasoning: string;
  readonly offers: readonly Offer[];
}

/** Days after which a price should be checked again. */
const oldAfter = 60;

function ageOf({ price_date: date }: Offer): number | undefined {
  return date === null ? undefined : Math.floor((Date.now() - Date.parse(date)) / 86_400_000);
}

const isOld = (offer: Offer): boolean => (ageOf(offer) ?? 0) > oldAfter;

function rate({ price }: Offer, kind: string): string | null {
  const value = price?.[kind];
  return typeof value === 'string' ? value : null;
}

function PriceDate({ offer }: { readonly offer: Offer }) {
  if (offer.free) return html`<${Badge} tone="good">free</${Badge}>`;
  if (offer.price_date === null) return html`<span class="dim">your configuration</span>`;
  return html`<span class="nowrap">${offer.price_date}</span
    >${isOld(offer) && html` <${Badge} tone="warn">${ageOf(offer)} days old</${Badge}>`}`;
}

const offerColumns: readonly Column<Offer>[] = [
  {
    title: 'Provider',
    value: ({ provider, key }) => `${provider}${key === undefined ? '' : ` (key ${key})`}`,
  },
  { title: 'Its name', value: ({ upstream }) => upstream },
  { title: 'Protocols', value: ({ protocols }) => protocols.join(', ') },
  {
    title: 'Price of',
    value: ({ price_date: date }) => date,
    cell: (offer) => html`<${PriceDate} offer=${offer} />`,
  },
  { title: 'Source', value: ({ price_source: source }) => source },
];

function openModel(model: Model, example: string): void {
  const [offer] = model.offers;
  const rates = Object.entries(offer?.price ?? {}).filter(
    (entry): entry is [string, string] =>
      typeof entry[1] === 'string' && entry[0] !== 'billedAt' && entry[0] !== 'name',
  );
  const further = Object.fromEntries(
    Object.entries(offer?.price ?? {}).filter(
      ([, value]) => typeof value === 'object' && JSON.stringify(value) !== '[]',
    ),
  );
  openDialog(
    model.id,
    html`<p class="dim">${model.description}</p>
      <${Facts}
        of=${[
          ['Name', model.name],
          ['Other names', model.aliases.join(', ')],
          ['Context', `${count(model.context_length)} tokens`],
          ['Longest reply', `${count(model.output_limit)} tokens`],
          ['Takes', model.input.join(', ')],
          ['Makes', model.output.join(', ')],
          [
            'Can',
            [model.tools && 'tools', model.structured_output && 'structured output']
              .filter(Boolean)
              .join(', '),
          ],
          ['Reasoning', model.reasoning],
          ['Released', model.created],
          ['Last day', model.expires],
          ['Use instead', model.successor],
          [`Example: ${example}`, offer && html`<${Amount} usd=${offer.example_cost} />`],
        ]}
      />
      <h3>Price in USD</h3>
      ${
        rates.length > 0
          ? html`<${Facts} of=${rates.map(([kind, usd]) => [kind, html`<${Amount} usd=${usd} />`])} />`
          : html`<p>Free of charge.</p>`
      }
      ${Object.keys(further).length > 0 && html`<${Code} text=${JSON.stringify(further, null, 2)} />`}
      <h3>Providers, in the order they are asked</h3>
      <${Table} name="Providers" columns=${offerColumns} rows=${model.offers} isPlain />
      <p><a href=${href('calls', { model: model.id })}>Calls of this model</a></p>`,
  );
}

function columnsOf(example: string): Column<Model>[] {
  const price = (title: string, kind: string): Column<Model> => ({
    title,
    value: ({ offers: [offer] }) => offer && (offer.free ? '0' : rate(offer, kind)),
    cell: ({ offers: [offer] }) => offer && html`<${Amount} usd=${offer.free ? '0' : rate(offer, kind)} />`,
    isFigure: true,
  });
  return [
    {
      title: 'Model',
      value: ({ id, name, aliases }) => [id, name, ...aliases].join(' '),
      cell: (model) =>
        html`<button class="link" onClick=${() => openModel(model, example)}>${model.id}</button>${
            model.expires && html` <${Badge} tone="warn">until ${model.expires}</${Badge}>`
          }`,
    },
    {
      title: 'Providers',
      value: ({ offers }) => [...new Set(offers.map(({ provider }) => provider))].join(' → '),
    },
    price('Input', 'input'),
    price('Cached', 'cacheRead'),
    price('Output', 'output'),
    {
      title: 'Example',
      value: ({ offers: [offer] }) => offer?.example_cost,
      cell: ({ offers: [offer] }) => html`<${Amount} usd=${offer?.example_cost} />`,
      isFigure: true,
    },
    {
      title: 'Price of',
      value: ({ offers: [offer] }) => offer?.price_date,
      cell: ({ offers: [offer] }) => offer && html`<${PriceDate} offer=${offer} />`,
    },
    {
      title: 'Context',
      value: ({ context_length: tokens }) => tokens,
      cell: ({ context_length: tokens }) => short(tokens),
      isFigure: true,
    },
    {
      title: 'Longest reply',
      value: ({ output_limit: tokens }) => tokens,
      cell: ({ output_limit: tokens }) => short(tokens),
      isFigure: true,
    },
    { title: 'Takes → makes', value: ({ input, output }) => `${input.join(', ')} → ${output.join(', ')}` },
  ];
}

export function Page({ place: { query } }: { readonly place: Place }) {
  const { data, error, reload } = useData<{
    readonly example: { readonly input: number; readonly output: number };
    readonly data: readonly Model[];
  }>('/admin/models');
  const example = data ? `${count(data.example.input)} tokens in, ${count(data.example.output)} out` : '';
  const columns = useMemo(() => columnsOf(example), [example]);
  const owners = useMemo(
    () => [...new Set(data?.data.map(({ id }) => id.split('/')[0] ?? ''))].toSorted(),
    [data],
  );
  const { search = '', owner = '' } = query;
  const rows = useMemo(
    () =>
      data?.data.filter(
        ({ id, name }) =>
          (owner === '' || id.startsWith(`${owner}/`)) &&
          `${id} ${name}`.toLowerCase().includes(search.toLowerCase()),
      ),
    [data, search, owner],
  );
  const old = data?.data.filter(({ offers }) => offers.some(isOld)) ?? [];
  return html`<${Head} title="Models">
      ${
        search !== '' &&
        html`<button onClick=${() => setQuery({ search: undefined })}>Contains “${search}” ✕</button>`
      }
      <${Select}
        label="Owner"
        options=${[['', 'all'], ...owners.map((each) => [each, each])]}
        value=${owner}
        onChange=${(value: string) => setQuery({ owner: value })}
      />
    </${Head}>
    <${Fault} error=${error} retry=${reload} />
    ${
      old.length > 0 &&
      html`<p class="hint">
        The prices of ${count(old.length)} models were checked more than ${oldAfter} days ago. Compare them
        with a newer list:
        <code>tollgate prices diff</code>.
      </p>`
    }
    <p class="dim">
      Prices are in USD per million tokens, of the provider that is asked first. The example is ${example}.
    </p>
    <${Table}
      name="Models"
      key=${search}
      columns=${columns}
      rows=${rows}
      error=${error}
      rowKey=${({ id }: Model) => id}
      empty=${html`<p>
        No model is on offer. Set the key of a provider, such as <code>OPENAI_API_KEY</code>, and restart.
      </p>`}
    />`;
}
