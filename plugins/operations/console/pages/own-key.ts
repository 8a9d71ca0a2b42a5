/** What a key holder sees of the own key: balance, limits, usage by model and day, and calls. */
import type { OwnKey } from '../../../shared/replies/spending.ts';
import { useData, useList } from './api.ts';
import { callColumns, type Call } from './call-columns.ts';
import { buildCountColumn, type Column } from './columns.ts';
import { formatCount, renderTime } from './format.ts';
import { html } from './kit.ts';
import { renderUsd } from './money.ts';
import { renderFacts, renderHead, renderProblem, renderTiles } from './parts.ts';
import { renderTable } from './table.ts';
import { buildUsageColumns } from './usage.ts';

/** Cells without links, which would lead to pages of operators. */
const ownCells: Readonly<Record<string, Column<Call>['renderCell']>> = {
  Started: ({ started }) => renderTime(started),
  Provider: undefined,
};
const ownUsage: readonly Column<OwnKey['usage']['data'][number]>[] = [
  ...buildUsageColumns(),
  buildCountColumn('Errors', ({ errors }) => errors),
];
const ownColumns = callColumns
  .filter(({ title }) => title !== 'Account')
  .map((each) => (each.title in ownCells ? { ...each, renderCell: ownCells[each.title] } : each));

export function KeyView({ apiKey }: { readonly apiKey: string }) {
  const { data: own, error, reload } = useData<OwnKey>('/v1/key', undefined, { key: apiKey });
  const calls = useList<Call>('/v1/calls', undefined, { key: apiKey });
  const reloadAll = (): void => {
    reload();
    calls.reload();
  };
  const { balance, limits } = own ?? {};
  const title = `Key ${own?.name ?? ''} …${own?.last_four ?? ''}`;
  return html`${renderProblem(error, reloadAll)}
    ${renderTiles(
      ['Available', renderUsd(balance?.available), 'for new calls'],
      ['Held', renderUsd(balance?.pending), 'by running calls'],
      ['Spent by the account', renderUsd(balance?.used)],
      [
        'Spent by this key',
        renderUsd(limits?.spend_used),
        limits?.spend_left ? html`${renderUsd(limits.spend_left)} left` : 'no cap',
      ],
    )}
    <section class="card">
      ${renderHead(title, html`<button onClick=${reloadAll}>Reload</button>`, 'h2')}
      ${
        own &&
        limits &&
        renderFacts([
          ['Account', own.account],
          ['Spend cap', limits.spend_cap === null ? 'none' : renderUsd(limits.spend_cap)],
          ['Models', limits.models?.join(', ') ?? 'all'],
          ['Expires', limits.expires ? renderTime(limits.expires) : 'never'],
          [
            'Calls per minute',
            limits.calls_per_minute === null ? 'no limit' : formatCount(limits.calls_per_minute),
          ],
        ])
      }
    </section>
    <h2>Usage</h2>
    ${renderTable({
      name: 'Usage',
      columns: ownUsage,
      rows: own?.usage.data ?? (error && []),
      empty: !error && 'No calls in the last 30 days.',
    })}
    <h2>Calls</h2>
    ${renderTable({
      name: 'My calls',
      columns: ownColumns,
      ...calls,
      getKey: ({ id }) => id,
      empty: 'This key has not made any calls yet.',
    })}`;
}
