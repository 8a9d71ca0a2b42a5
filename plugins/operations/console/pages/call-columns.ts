/** What calls, and the sums of calls, look like in tables. */
import type { CallDetail } from '../../../shared/replies/calls.ts';
import { formatCount, formatDuration, nameUnit, renderTime } from './format.ts';
import { html, buildHref } from './kit.ts';
import { renderBadge, renderState } from './parts.ts';
import { buildColumn, type Column } from './table.ts';

interface Usage {
  readonly day?: string | undefined;
  /** A refused call may have none. */
  readonly model?: string | null | undefined;
  readonly calls: number;
  readonly uses: CallDetail['uses'];
  readonly cost: string;
}

/** How much of each unit was used, one a line. */
export function buildUsesColumn<Row>(read: (row: Row) => CallDetail['uses']): Column<Row> {
  return buildColumn(
    'Used',
    (row) =>
      read(row)
        .map((use) => `${use.count} ${nameUnit(use)}`)
        .join(', '),
    (row) =>
      read(row).map(
        (use) => html`<div>${formatCount(use.count)} <span class="dim">${nameUnit(use)}</span></div>`,
      ),
    'figure',
  );
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
  buildColumn('Calls', 'calls', 'count'),
  buildUsesColumn(({ uses }) => uses),
  buildColumn('Cost', 'cost', 'amount'),
];

type Names = 'id' | 'model' | 'answered_by' | 'provider' | 'protocol' | 'stream' | 'error_code';

/** A stored call, or one that runs. */
export interface Call
  extends Pick<CallDetail, Names>, Pick<CallDetail, 'started' | 'first_event_ms' | 'uses' | 'cost'> {
  /** Key holders are not sent their own. */
  readonly account?: string | null;
  readonly outcome: string;
  readonly duration_ms: number | null;
}

export function renderOutcome({ outcome, error_code: code }: Pick<Call, 'outcome' | 'error_code'>) {
  return html`${renderState(outcome)} ${code && html`<br /><span class="dim nowrap">${code}</span>`}`;
}

/** A name that leads to its calls. */
const renderLink = (name: 'account' | 'provider', value: string | null | undefined) =>
  value && html`<a class="plain" href=${buildHref('calls', { [name]: value })}>${value}</a>`;

/** Holders of keys get no links, which would lead to pages of operators. */
export const buildCallColumns = (isOwn = false): Column<Call>[] => [
  buildColumn('Started', 'started', ({ id, started }) =>
    isOwn
      ? renderTime(started)
      : html`<a href=${buildHref(['calls', id])}>${renderTime(started, 'exact')}</a>`,
  ),
  buildColumn(
    'Model',
    'model',
    ({ model, answered_by: by, stream }) =>
      html`${model ?? '–'}${by && by !== model && html`<br /><span class="dim">answered by ${by}</span>`}${
        stream && html` ${renderBadge('stream')}`
      }`,
    'wide',
  ),
  buildColumn('Outcome', ({ outcome, error_code: code }) => `${outcome} ${code ?? ''}`.trim(), renderOutcome),
  ...(isOwn ? [] : [buildColumn<Call>('Account', 'account', (call) => renderLink('account', call.account))]),
  buildColumn(
    'Provider',
    ({ provider, protocol }) => `${provider ?? ''} ${protocol}`.trim(),
    ({ provider, protocol }) =>
      html`${isOwn ? provider : renderLink('provider', provider)}${provider && html`<br />`}<span class="dim"
          >${protocol}</span
        >`,
    'wide',
  ),
  buildColumn(
    'Duration',
    'duration_ms',
    ({ duration_ms: ms, first_event_ms: first }) =>
      html`${formatDuration(ms)}
      ${first !== null && html`<br /><span class="dim">first ${formatDuration(first)}</span>`}`,
    'figure',
  ),
  buildUsesColumn(({ uses }) => uses),
  buildColumn('Cost', 'cost', 'amount'),
];
