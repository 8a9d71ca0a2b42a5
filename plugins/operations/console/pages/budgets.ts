/** Budgets: what a key, an account, a team or a tag may spend in a period, and how much of it is left. */
import type { Budget } from '../../../shared/replies/budgets.ts';
import type { OwnBudget } from '../../../shared/replies/spending.ts';
import { call, largestPage, useList } from './api.ts';
import { renderDialogForm, openForm, type Field, type Values } from './form.ts';
import { parseUsd, renderTime, renderUsd } from './format.ts';
import { html } from './kit.ts';
import { renderBadge, confirmAction, renderAction, renderProblem, type Action } from './parts.ts';
import { buildActions, buildColumn, type Column, renderTable } from './table.ts';

const termFields: readonly Field[] = [
  { name: 'limit', label: 'Limit in USD', isRequired: true },
  {
    name: 'hard',
    label: 'Refuse calls beyond it',
    type: 'checkbox',
    hint: 'Otherwise the budget only warns.',
  },
  { name: 'thresholds', label: 'Warn at (%)', type: 'words' },
];

function readTerms({ thresholds, ...terms }: Values): object {
  return { ...terms, thresholds: Array.isArray(thresholds) ? thresholds.map(Number) : [] };
}

const ofWhom: readonly Field[] = [
  { name: 'scope', label: 'Whose', type: 'select', options: ['account', 'key', 'team', 'tag'] },
  {
    name: 'subject',
    label: 'Name',
    isRequired: true,
    hint: 'The name of the account, team or tag, or the id of the key.',
  },
];
/** Of an account or of all below it too. */
const ofTeam: Field = {
  name: 'scope',
  label: 'Counts',
  type: 'select',
  options: [
    ['account', 'this account alone'],
    ['team', 'this account and all below it'],
  ],
};
const periods = ['hour', 'day', 'week', 'month', 'total'];

export function openNewBudget(account?: string): void {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  openForm({
    title: account === undefined ? 'Create a budget' : `Create a budget for ${account}`,
    fields: [
      ...(account === undefined ? ofWhom : [ofTeam]),
      { name: 'per', label: 'For each', type: 'select', options: periods },
      { name: 'zone', label: 'Time zone', isRequired: true },
      ...termFields,
    ],
    values: { per: 'month', zone, hard: true, thresholds: [50, 80, 100] },
    submit: 'Create budget',
    send: (values) => call('POST /admin/budgets', {}, { subject: account, ...readTerms(values) }),
  });
}

export const describePeriod = ({ per }: Pick<Budget, 'per'>): string =>
  per === 'total' ? 'in all' : `each ${per}`;
/** `key laptop each month` */
const describeBudget = (budget: Pick<Shown, 'scope' | 'subject' | 'per' | 'key_name'>): string =>
  `${budget.scope} ${budget.key_name || budget.subject} ${describePeriod(budget)}`;

function openChange(budget: Budget): void {
  const raise = renderDialogForm({
    fields: [
      { name: 'amount', label: 'More in USD', isRequired: true },
      { name: 'until', label: 'Until', type: 'datetime-local', isRequired: true },
    ],
    submit: 'Raise',
    send: (order) => call('POST /admin/budgets/:budget/raises', { budget: budget.id }, order),
  });
  openForm({
    title: `Change the budget: ${describeBudget(budget)}`,
    fields: termFields,
    values: { ...budget },
    submit: 'Save',
    send: (values) => call('PATCH /admin/budgets/:budget', { budget: budget.id }, readTerms(values)),
    more: html`<h3>Raise it for a time</h3>
      ${raise}`,
  });
}

type Use = Pick<Budget['current'], 'used' | 'pending' | 'allowed'>;

/** How many per cent of what is allowed are used or held. */
function computeShare({ used, pending, allowed }: Use): number {
  const all = parseUsd(allowed);
  return all === 0n ? 100 : Number(((parseUsd(used) + parseUsd(pending)) * 100n) / all);
}

/** A budget in its current period. Holders of keys see less of theirs. */
type Shown = OwnBudget & { readonly key_name?: string | undefined; readonly reached?: number };

function renderUse(budget: Shown) {
  const { reached = 0 } = budget;
  const share = computeShare(budget);
  // Green up to 80 %, then yellow, and red once it is used up.
  return html`<meter
      min="0"
      low="80"
      high="99"
      max="100"
      optimum="0"
      value=${share}
      aria-label=${`${describeBudget(budget)}: ${share} % used`}
    ></meter>
    ${` ${share} % `}${reached > 0 && renderBadge(`${reached} % reached`, reached < 100 ? 'warn' : 'bad')}`;
}

const columns: readonly Column<Shown>[] = [
  buildColumn(
    'Budget',
    ({ scope, subject, per, key_name: name = '' }) => [scope, name, subject, per].filter(Boolean).join(' '),
    (budget) =>
      html`<span class="dim">${budget.scope}</span> ${budget.key_name || budget.subject}
        <span class="dim"> ${describePeriod(budget)} </span>
        ${!budget.hard && renderBadge('only warns')}
        ${budget.key_name && html`<br /><span class="mono dim">${budget.subject}</span>`}`,
  ),
  buildColumn('Use', computeShare, renderUse, 'wide'),
  // In one cell, since a phone shows two columns.
  buildColumn(
    'Left',
    'left',
    ({ left, resets }) => {
      const until = resets && html`<br /><span class="dim">until ${renderTime(resets, 'brief')}</span>`;
      return html`${renderUsd(left)}${until}`;
    },
    'figure',
  ),
  buildColumn('Limit', 'allowed', 'amount'),
  buildColumn('Used', 'used', 'amount'),
  buildColumn('Reserved', 'pending', 'amount'),
];
const changeable: readonly Column<Budget & Budget['current']>[] = [
  ...columns,
  buildActions((budget) => `the budget: ${describeBudget(budget)}`, listActions),
];

function listActions(budget: Budget): readonly Action[] {
  const remove = (): void =>
    confirmAction({
      title: `Delete the budget: ${describeBudget(budget)}?`,
      text: 'Calls will no longer count against this budget.',
      button: 'Delete',
      act: () => call('DELETE /admin/budgets/:budget', { budget: budget.id }),
    });
  return [
    ['Change', () => openChange(budget), 'PATCH /admin/budgets/:budget'],
    ['Delete', remove, 'DELETE /admin/budgets/:budget'],
  ];
}

/** The first is the one that leaves the least. */
const sortByLeft = <Row extends Shown>(rows: readonly Row[]): readonly Row[] =>
  rows.toSorted((one, other) => (parseUsd(one.left) < parseUsd(other.left) ? -1 : 1));

/** The budgets that count a key, for its holder. */
export function renderBudgets(budgets: readonly Shown[]) {
  const empty = 'No budget limits this key.';
  return renderTable({ name: 'Budgets', columns, rows: sortByLeft(budgets), isPlain: true, empty });
}

/** All budgets, or those that count the calls of an account: on its page, whose menu makes one. */
export function Budgets({ account }: { readonly account?: string }) {
  const list = useList('GET /admin/budgets', { counting: account, limit: largestPage });
  const rows = list.rows?.map((budget) => ({ ...budget, ...budget.current }));
  if (account !== undefined && !rows?.length) return renderProblem(list.error);
  return renderTable({
    name: 'Budgets',
    columns: changeable,
    ...list,
    rows: rows && sortByLeft(rows),
    getKey: ({ id }) => String(id),
    isPlain: account !== undefined,
    tools: renderAction('New budget', () => openNewBudget(), 'POST /admin/budgets'),
    empty: 'No budgets yet. A budget limits spending in a period, in addition to the balance.',
  });
}
