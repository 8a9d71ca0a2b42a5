/** What an account or a key used, by day and model. */
import { buildAmountColumn, buildColumn, buildCountColumn, type Column } from './columns.ts';
import { html } from './kit.ts';

interface Usage {
  readonly day?: string | undefined;
  /** A refused call may have none. */
  readonly model?: string | null | undefined;
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly cost: string;
}

/** `link` leads to the calls of a model. */
export const buildUsageColumns = (link?: (model: string) => string): Column<Usage>[] => [
  buildColumn('Day (UTC)', ({ day }) => day ?? ''),
  buildColumn(
    'Model',
    ({ model }) => model ?? '',
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
