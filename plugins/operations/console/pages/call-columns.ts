/** What calls, and the sums of calls, look like in tables. */
import type { CallDetail } from '../../../shared/replies/calls.ts';
import { formatCount, nameUnit, renderTime } from './format.ts';
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
  const list = (row: Row) => read(row).filter(({ count }) => count > 0);
  return buildColumn(
    'Used',
    (row) =>
      list(row)
        .map((use) => `${use.count} ${nameUnit(use)}`)
        .join(', '),
    (row) =>
      list(row).map(
        (use) => html`<div>${formatCount(use.count)} <span class="dim">${nameUnit(use)}</span></div>`,
      ),
    'figure',
  );
}

/** `link` leads to the calls of a model. Operators see calls that were charged, key holders all of theirs. */
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
  buildColumn(link ? 'Charged calls' : 'Calls', 'calls', 'count'),
  buildUsesColumn(({ uses }) => uses),
  buildColumn('Cost', 'cost', 'amount'),
];

type Names = 'id' | 'model' | 'answered_by' | 'provider' | 'protocol' | 'stream' | 'error_code';

/** A stored call, or one that runs. */
export interface Call
  extends Pick<CallDetail, Names>, Pick<CallDetail, 'started' | 'first_event_ms' | 'uses' | 'cost'> {
  /** Key holders are not sent their own. */
  readonly account?: string | null;
  readonly key?: string | null;
  readonly key_name?: string | undefined;
  readonly outcome: string;
  readonly duration_ms: number | null;
}

export function renderOutcome({ outcome, error_code: code }: Pick<Call, 'outcome' | 'error_code'>) {
  return html`${renderState(outcome)} ${code && html`<span class="dim nowrap">${code}</span>`}`;
}

/** A name that leads to its calls. */
const renderLink = (
  name: 'account' | 'key' | 'model' | 'provider',
  value: string | null | undefined,
  title: string | null | undefined = value,
) => value && html`<a class="plain" href=${buildHref('calls', { [name]: value })}>${title}</a>`;

function renderModel({ model, answered_by: by, stream }: Call, isOwn: boolean) {
  const other = by && by !== model && html`<br /><span class="dim">answered by ${by}</span>`;
  const asked = isOwn ? model : renderLink('model', model);
  return html`${asked}${stream && html` ${renderBadge('stream')}`}${other}`;
}

/** The tokens of a call, or what it used instead. Its page has all of it. */
function formatUses({ uses }: Call): string {
  const find = (unit: string) => uses.find((use) => use.unit === unit && !use.modality)?.count;
  const [input, output] = [find('input'), find('output')];
  // Some calls have nothing but input.
  if (input && !output) return formatCount(input);
  if (input || output) return `${formatCount(input ?? 0)} → ${formatCount(output)}`;
  return uses.map((use) => `${formatCount(use.count)} ${nameUnit(use)}`).join(', ');
}

/** Holders of keys get no links to lists of calls, which are pages of operators. */
export const buildCallColumns = (isOwn = false): Column<Call>[] => [
  buildColumn(
    'Started',
    'started',
    ({ id, started }) => html`<a href=${buildHref(['calls', id])}>${renderTime(started, 'exact')}</a>`,
  ),
  ...(isOwn
    ? []
    : [
        buildColumn<Call>(
          'Key',
          ({ key, key_name: name }) => name || key,
          ({ key, key_name: name }) => renderLink('key', key, name || `${key?.slice(0, 8)} …`),
        ),
        buildColumn<Call>('Account', 'account', (call) => renderLink('account', call.account)),
      ]),
  buildColumn('Model', 'model', (call) => renderModel(call, isOwn), 'wide'),
  buildColumn('Outcome', ({ outcome, error_code: code }) => `${outcome} ${code ?? ''}`.trim(), renderOutcome),
  buildColumn('Provider', 'provider', ({ provider }) =>
    isOwn ? provider : renderLink('provider', provider),
  ),
  buildColumn('Duration', 'duration_ms', 'duration'),
  buildColumn('Tokens', formatUses, formatUses, 'figure'),
  buildColumn('Cost', 'cost', 'amount'),
];
