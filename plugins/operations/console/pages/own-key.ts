/** What a key holder sees of the own key: balance, limits, usage by model and day, and calls. */
import type { OwnKey } from '../../../shared/replies/spending.ts';
import { useData, useList } from './api.ts';
import { callColumns, type Call } from './call-columns.ts';
import { countColumn, type Column } from './columns.ts';
import { when } from './format.ts';
import { html, useMemo } from './kit.ts';
import { usd } from './money.ts';
import { facts, head, problem, tiles } from './parts.ts';
import { table } from './table.ts';
import { usageColumns } from './usage.ts';

/** Cells without links, which would lead to pages of operators. */
const ownCells: Readonly<Record<string, Column<Call>['cell']>> = {
  Started: ({ started }) => when(started),
  Provider: undefined,
};
const ownUsage: readonly Column<OwnKey['usage']['data'][number]>[] = [
  ...usageColumns(),
  countColumn('Errors', ({ errors }) => errors),
];
const ownColumns = callColumns
  .filter(({ title }) => title !== 'Account')
  .map((each) => (each.title in ownCells ? { ...each, cell: ownCells[each.title] } : each));

export function KeyView({ apiKey }: { readonly apiKey: string }) {
  const { data: own, error, reload } = useData<OwnKey>('/v1/key', undefined, { key: apiKey });
  const calls = useList<Call>('/v1/calls', undefined, { key: apiKey });
  const reloadAll = (): void => {
    reload();
    calls.reload();
  };
  const usage = useMemo(() => own?.usage.data.toReversed(), [own]);
  const { balance, limits } = own ?? {};
  const title = `Key ${own?.name ?? ''} …${own?.last_four ?? ''}`;
  return html`${problem(error, reloadAll)}
    ${tiles(
      ['Available', usd(balance?.available), 'for new calls'],
      ['Held', usd(balance?.pending), 'by running calls'],
      ['Spent by the account', usd(balance?.used)],
      [
        'Spent by this key',
        usd(limits?.spend_used),
        limits?.spend_left ? html`${usd(limits.spend_left)} left` : 'no cap',
      ],
    )}
    <section class="card">
      ${head(title, html`<button onClick=${reloadAll}>Reload</button>`, 'h2')}
      ${
        own &&
        limits &&
        facts([
          ['Account', own.account],
          ['Spend cap', limits.spend_cap === null ? 'none' : usd(limits.spend_cap)],
          ['Models', limits.models?.join(', ') ?? 'all'],
          ['Expires', limits.expires ? when(limits.expires) : 'never'],
          ['Calls per minute', limits.calls_per_minute ?? 'no limit'],
        ])
      }
    </section>
    <h2>Usage</h2>
    ${table({
      name: 'Usage',
      columns: ownUsage,
      rows: usage ?? (error && []),
      empty: !error && 'No call in the last 30 days.',
    })}
    <h2>Calls</h2>
    ${table({
      name: 'My calls',
      columns: ownColumns,
      ...calls,
      rowKey: ({ id }) => id,
      empty: 'This key has made no call yet.',
    })}`;
}
