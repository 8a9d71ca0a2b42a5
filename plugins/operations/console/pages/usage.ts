/** What an account or a key used, by day and model. */
import type { OwnKey } from '../../../shared/replies/spending.ts';
import { buildAmountColumn, buildColumn, buildCountColumn, type Column } from './columns.ts';
import { html } from './kit.ts';

/** A refused call may have no model. */
export type Usage = Pick<
  OwnKey['usage']['data'][number],
  'day' | 'model' | 'calls' | 'input' | 'output' | 'cost'
>;

/** `link` leads to the calls of a model. */
export const buildUsageColumns = (link?: (model: string) => string): Column<Usage>[] => [
  buildColumn('Day (UTC)', ({ day }) => day),
  buildColumn(
    'Model',
    ({ model }) => model,
    ({ model }) => {
      if (!model) return html`<span class="dim">none</span>`;
      return link ? html`<a href=${link(model)}>${model}</a>` : model;
    },
    'wide',
  ),
  buildCountColumn('Calls', ({ calls }) => calls),
  buildCountColumn('Input tokens', ({ input }) => input),
  buildCountColumn('Output tokens', ({ output }) => output),
  buildAmountColumn('Cost', ({ cost }) => cost),
];
