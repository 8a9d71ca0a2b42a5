/** One account: its balance, keys, credits, budgets, statement and usage. */
import type { AccountDetails, Key } from '../../../shared/replies/accounts.ts';
import { api, mayChange, useData, useList } from './api.ts';
import { Budgets } from './budgets.ts';
import { renderChoice, bindQuery } from './controls.ts';
import { openAdjustment, openState } from './corrections.ts';
import { openForm, keepTyped } from './form.ts';
import { openNewKey } from './key-dialogs.ts';
import { renderKeys } from './keys.ts';
import { html } from './kit.ts';
import { renderUsd } from './money.ts';
import { renderBadge, renderHead, renderProblem, renderTiles } from './parts.ts';
import { buildHref } from './router.ts';
import { StatementOf } from './statement.ts';
import { renderTable } from './table.ts';
import { buildUsageColumns, type Usage } from './usage.ts';

/** What an account is, unless it is open. */
export function renderState(state: string | undefined) {
  return state !== undefined && state !== 'open' && renderBadge(state, 'bad');
}

function openCredit(account: string, onDone: () => void): void {
  openForm({
    title: `Add credit to ${account}`,
    fields: [
      { name: 'amount', label: 'Amount in USD', isRequired: true, placeholder: '25' },
      { name: 'kind', label: 'Kind', type: 'select', options: ['top-up', 'bonus', 'gift-card'] },
      {
        name: 'reference',
        label: 'Reference',
        placeholder: 'invoice-7',
        hint: 'The same reference is credited only once.',
      },
    ],
    submit: 'Add credit',
    send: ({ amount, kind, reference }) =>
      api.post('/admin/credits', { account, amount, kind, ...keepTyped('reference', reference) }),
    onDone,
  });
}

function UsageOf({ account }: { readonly account: string }) {
  const from = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10);
  const { rows, ...state } = useList<Usage>('/admin/usage', { account, by: 'day,model', from });
  return renderTable({
    name: 'Usage of 30 days',
    columns: buildUsageColumns((model) => buildHref('calls', { account, model })),
    ...state,
    rows: rows?.toReversed(),
    empty: 'No calls in the last 30 days.',
  });
}

export function Account({ account }: { readonly account: string }) {
  const path = `/admin/accounts/${encodeURIComponent(account)}`;
  const { data, error, reload } = useData<AccountDetails>(path);
  const keys = useList<Key>('/admin/keys', { account });
  const show = bindQuery('show', 'keys');
  const reloadAll = () => {
    reload();
    keys.reload();
  };
  const credits = Object.entries(data?.credits ?? {}).filter(([, amount]) => amount !== '0');
  const title = html`${account} ${renderState(data?.state)}`;
  const changes =
    mayChange() &&
    data &&
    html`<button onClick=${() => openState(account, data.state, reloadAll)}>Set state</button>
      <button onClick=${() => openAdjustment(account, reloadAll)}>Adjust</button>
      <button onClick=${() => openCredit(account, reloadAll)}>Add credit</button>
      <button class="primary" onClick=${() => openNewKey(account, reloadAll)}>New key</button>`;
  const links = html`<a class="button" href=${buildHref('calls', { account })}>Calls</a>`;
  return html`${renderHead(title, html`${links}${changes}`)} ${renderProblem(error, reloadAll)}
    ${renderTiles(
      ['Available', renderUsd(data?.available), 'for new calls'],
      ['Held', renderUsd(data?.pending), 'by running calls'],
      ['Spent', renderUsd(data?.used)],
      [
        'Credited',
        renderUsd(data?.total),
        credits.map(([kind, amount], index) => html`${index > 0 && ', '}${kind} ${renderUsd(amount)}`),
      ],
    )}
    <p>
      ${renderChoice(
        'Show',
        [
          ['keys', 'Keys'],
          ['budgets', 'Budgets'],
          ['statement', 'Statement'],
          ['usage', 'Usage'],
        ],
        show,
      )}
    </p>
    ${show.value === 'keys' && renderKeys({ name: 'Keys', ...keys, onDone: reloadAll })}
    ${show.value === 'budgets' && html`<${Budgets} account=${account} />`}
    ${show.value === 'statement' && html`<${StatementOf} account=${account} />`}
    ${show.value === 'usage' && html`<${UsageOf} account=${account} />`}`;
}
