/** What a key holder sees of the own key: balance, limits, budgets, usage by model and day, and calls. */
import type { OwnBudget, OwnKey } from '../../../shared/replies/spending.ts';
import { useData, useList } from './api.ts';
import { computeShare, describePeriod, renderShare } from './budgets.ts';
import { callColumns, type Call } from './call-columns.ts';
import {
  buildAmountColumn,
  buildColumn,
  buildCountColumn,
  buildFigureColumn,
  type Column,
} from './columns.ts';
import { formatCount, renderTime } from './format.ts';
import { html } from './kit.ts';
import { parseUsd, renderUsd } from './money.ts';
import { renderBadge, renderFacts, renderHead, renderProblem, renderTiles } from './parts.ts';
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
const ownBudgets: readonly Column<OwnBudget>[] = [
  buildColumn(
    'Budget',
    ({ scope, subject, per }) => [scope, subject, per].join(' '),
    (budget) =>
      html`<span class="dim">${budget.scope}</span> ${budget.scope === 'key' ? '' : budget.subject}
        <span class="dim"> ${describePeriod(budget)} </span>
        ${!budget.hard && renderBadge('only warns')}`,
  ),
  // In one cell, since a phone shows two columns.
  buildFigureColumn(
    'Left',
    ({ left }) => left,
    ({ left, resets }) => {
      const until = resets && html`<br /><span class="dim">until ${renderTime(resets, 'brief')}</span>`;
      return html`${renderUsd(left)}${until}`;
    },
  ),
  buildColumn('Use', computeShare, renderShare),
  buildAmountColumn('Limit', ({ allowed }) => allowed),
  buildAmountColumn('Used', ({ used }) => used),
  buildAmountColumn('Reserved', ({ pending }) => pending),
];
const ownColumns = callColumns
  .filter(({ title }) => title !== 'Account')
  .map((each) => (each.title in ownCells ? { ...each, renderCell: ownCells[each.title] } : each));

/** What new calls can cost, and what limits it: the least of the balance, the cap and the budgets. */
function findAvailable({ balance, limits, budgets }: OwnKey): readonly [amount: string, limit: string] {
  const all: readonly (readonly [string, string])[] = [
    [balance.available, 'for new calls'],
    ...(limits.spend_cap === null || limits.spend_left === null
      ? []
      : [[limits.spend_left, 'left of the spend cap'] as const]),
    ...budgets
      .filter(({ hard }) => hard)
      .map(
        (budget) => [budget.left, `left of the ${budget.scope}'s budget ${describePeriod(budget)}`] as const,
      ),
  ];
  return all.reduce((least, each) => (parseUsd(each[0]) < parseUsd(least[0]) ? each : least));
}

function renderLimits({ account, limits }: OwnKey) {
  const { spend_cap, models, expires, calls_per_minute } = limits;
  return renderFacts([
    ['Account', account],
    ['Spend cap', spend_cap === null ? 'none' : renderUsd(spend_cap)],
    ['Models', models?.join(', ') ?? 'all'],
    ['Expires', expires ? renderTime(expires) : 'never'],
    ['Calls per minute', calls_per_minute === null ? 'no limit' : formatCount(calls_per_minute)],
  ]);
}

export function KeyView({ apiKey }: { readonly apiKey: string }) {
  const { data: own, error, reload } = useData('GET /v1/key', undefined, { key: apiKey });
  const calls = useList('GET /v1/calls', undefined, { key: apiKey });
  const reloadAll = (): void => {
    reload();
    calls.reload();
  };
  const { balance, limits } = own ?? {};
  const [available, limit] = own ? findAvailable(own) : [];
  const title = `Key ${own?.name ?? ''} …${own?.last_four ?? ''}`;
  return html`${renderProblem(error, reloadAll)}
    ${renderTiles(
      ['Available', renderUsd(available), limit],
      ['Reserved', renderUsd(balance?.pending), 'by running calls'],
      ['Spent by the account', renderUsd(balance?.used)],
      [
        'Spent by this key',
        renderUsd(limits?.spend_used),
        limits?.spend_left ? html`${renderUsd(limits.spend_left)} left` : 'no cap',
      ],
    )}
    <section class="card">
      ${renderHead(title, html`<button onClick=${reloadAll}>Reload</button>`, 'h2')}
      ${own && renderLimits(own)}
    </section>
    <h2>Budgets</h2>
    ${renderTable({
      name: 'Budgets',
      columns: ownBudgets,
      rows: own?.budgets ?? (error && []),
      empty: !error && 'No budget limits this key.',
    })}
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
