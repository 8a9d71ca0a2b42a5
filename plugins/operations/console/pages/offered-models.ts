/** Models and prices, from the public listing that clients read. */
import type { Loaded } from './api.ts';
import { buildAmountColumn, buildColumn, buildFigureColumn, type Column } from './columns.ts';
import { formatShort } from './format.ts';
import { html } from './kit.ts';
import { formatDollars, formatUsd } from './money.ts';
import { renderTable } from './table.ts';

export interface ListedModel {
  readonly id: string;
  readonly name?: string;
  readonly context_length?: number;
  readonly architecture?: {
    readonly input_modalities?: readonly string[];
    readonly output_modalities?: readonly string[];
  };
  readonly pricing?: Readonly<Record<string, string>>;
}

/** USD per token, with up to 15 places, as USD per million tokens: exact. */
export function toPerMillion(perToken: string | undefined): string | null {
  if (perToken === undefined || !/^\d+(\.\d+)?$/.test(perToken)) return null;
  const [whole = '0', fraction = ''] = perToken.split('.');
  return formatUsd(BigInt(whole + fraction.padEnd(15, '0').slice(0, 15)));
}

/** Whether a model writes text; one that says nothing does. */
export function writesText({ architecture }: ListedModel): boolean {
  return architecture?.output_modalities?.includes('text') ?? true;
}

const buildPriceColumn = (title: string, kind: string): Column<ListedModel> =>
  buildAmountColumn(title, ({ pricing }) => toPerMillion(pricing?.[kind]));

const fees = [
  ['image', 'picture'],
  ['request', 'request'],
  ['web_search', 'search'],
] as const;

/** What is charged apart from tokens. */
function listFees({ pricing }: ListedModel): string {
  return fees
    .flatMap(([kind, unit]) => {
      const fee = pricing?.[kind];
      return fee === undefined ? [] : [`${formatDollars(fee)} a ${unit}`];
    })
    .join(', ');
}

const columns: readonly Column<ListedModel>[] = [
  buildColumn('Model', ({ id }) => id),
  buildColumn('Name', ({ name }) => name),
  buildPriceColumn('Input', 'prompt'),
  buildPriceColumn('Cached', 'input_cache_read'),
  buildPriceColumn('Output', 'completion'),
  buildColumn('Fees', listFees, (model) => html`<span class="nowrap">${listFees(model)}</span>`),
  buildFigureColumn(
    'Context',
    ({ context_length: tokens }) => tokens,
    ({ context_length: tokens }) => formatShort(tokens ?? 0),
  ),
  buildColumn(
    'Input → output',
    ({ architecture: { input_modalities: takes, output_modalities: makes } = {} }) =>
      `${takes?.join(', ') ?? ''} → ${makes?.join(', ') ?? ''}`,
  ),
];

export interface ModelListing {
  readonly data: readonly ListedModel[];
}

export function renderModels({ data, error, reload }: Loaded<ModelListing>) {
  const empty = 'No models are available.';
  return html`<p class="dim">Prices are in USD per million tokens; fees come on top.</p>
    ${renderTable({
      name: 'Models',
      columns,
      rows: data?.data,
      error,
      reload,
      getKey: ({ id }) => id,
      empty,
    })}`;
}
