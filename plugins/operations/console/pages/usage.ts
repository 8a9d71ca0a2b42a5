/** What an account or a key used, by day and model. */
import type { OwnKey } from '../../../shared/replies/spending.ts';
import { amountColumn, column, countColumn, type Column } from './columns.ts';
import { html } from './kit.ts';

/** A refused call may have no model. */
export type Usage = Pick<
  OwnKey['usage']['data'][number],
  'day' | 'model' | 'calls' | 'input' | 'output' | 'cost'
>;

/** `link` leads to the calls of a model. */
export const usageColumns = (link?: (model: string) => string): Column<Usage>[] => [
  column('Day (UTC)', ({ day }) => day),
  column(
    'Model',
    ({ model }) => model,
    ({ model }) => {
      if (!model) return html`<span class="dim">none</span>`;
      return link ? html`<a href=${link(model)}>${model}</a>` : model;
    },
    'wide',
  ),
  countColumn('Calls', ({ calls }) => calls),
  countColumn('Input tokens', ({ input }) => input),
  countColumn('Output tokens', ({ output }) => output),
  amountColumn('Cost', ({ cost }) => cost),
];
