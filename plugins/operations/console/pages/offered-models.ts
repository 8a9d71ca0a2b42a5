/** Models and prices, from the public listing that clients read. */
import { short } from './format.ts';
import { html } from './kit.ts';
import { Amount, decimal } from './money.ts';
import { Table, type Column } from './table.ts';

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
export function perMillion(perToken: string | undefined): string | null {
  if (perToken === undefined || !/^\d+(\.\d+)?$/.test(perToken)) return null;
  const [whole = '0', fraction = ''] = perToken.split('.');
  return decimal(BigInt(whole + fraction.padEnd(15, '0').slice(0, 15)));
}

const price = (title: string, kind: string): Column<ListedModel> => ({
  title,
  value: ({ pricing }) => perMillion(pricing?.[kind]),
  cell: ({ pricing }) => html`<${Amount} usd=${perMillion(pricing?.[kind])} />`,
  isFigure: true,
});

const columns: readonly Column<ListedModel>[] = [
  { title: 'Model', value: ({ id }) => id },
  { title: 'Name', value: ({ name }) => name },
  price('Input', 'prompt'),
  price('Cached', 'input_cache_read'),
  price('Output', 'completion'),
  {
    title: 'Context',
    value: ({ context_length: tokens }) => tokens,
    cell: ({ context_length: tokens }) => short(tokens ?? 0),
    isFigure: true,
  },
  {
    title: 'Takes → makes',
    value: ({ architecture: a }) =>
      `${a?.input_modalities?.join(', ') ?? ''} → ${a?.output_modalities?.join(', ') ?? ''}`,
  },
];

export function OfferedModels({ models }: { readonly models: readonly ListedModel[] | undefined }) {
  return html`<p class="dim">Prices are in USD per million tokens.</p>
    <${Table}
      name="Models"
      columns=${columns}
      rows=${models}
      rowKey=${({ id }: ListedModel) => id}
      empty="No model is on offer."
    />`;
}
