/** Models and prices, from the public listing that clients read. */
import { amountColumn, column, figureColumn, type Column } from './columns.ts';
import { short } from './format.ts';
import { html } from './kit.ts';
import { decimal } from './money.ts';
import { table } from './table.ts';

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

/** Whether a model writes text; one that says nothing does. */
export function writesText({ architecture }: ListedModel): boolean {
  return architecture?.output_modalities?.includes('text') ?? true;
}

const price = (title: string, kind: string): Column<ListedModel> =>
  amountColumn(title, ({ pricing }) => perMillion(pricing?.[kind]));

const columns: readonly Column<ListedModel>[] = [
  column('Model', ({ id }) => id),
  column('Name', ({ name }) => name),
  price('Input', 'prompt'),
  price('Cached', 'input_cache_read'),
  price('Output', 'completion'),
  figureColumn(
    'Context',
    ({ context_length: tokens }) => tokens,
    ({ context_length: tokens }) => short(tokens ?? 0),
  ),
  column(
    'Takes → makes',
    ({ architecture: { input_modalities: takes, output_modalities: makes } = {} }) =>
      `${takes?.join(', ') ?? ''} → ${makes?.join(', ') ?? ''}`,
  ),
];

export function offeredModels(rows: readonly ListedModel[] | undefined) {
  return html`<p class="dim">Prices are in USD per million tokens.</p>
    ${table({ name: 'Models', columns, rows, rowKey: ({ id }) => id, empty: 'No model is on offer.' })}`;
}
