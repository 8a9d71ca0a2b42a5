/** One account: its balance, keys, credits, budgets, statement and usage. */
import type { AccountDetails } from '../../../shared/replies/accounts.ts';
import { call, largestPage, mayChange, useData, useList } from './api.ts';
import { Budgets } from './budgets.ts';
import { bindQuery, chooseView } from './controls.ts';
import { openAdjustment, openState } from './corrections.ts';
import { openForm, keepTyped } from './form.ts';
import { openNewKey } from './key-dialogs.ts';
import { renderKeys } from './keys.ts';
import { html, notify } from './kit.ts';
import { renderUsd } from './money.ts';
import { renderBadge, renderHead, renderProblem, renderTiles } from './parts.ts';
import { buildHref } from './router.ts';
import { StatementOf } from './statement.ts';
import { renderTable } from './table.ts';
import { buildUsageColumns } from './usage.ts';

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
    async send({ amount, kind, reference }) {
      const order = { account, amount, kind, ...keepTyped('reference', reference) };
      const { status } = await call('POST /admin/credits', {}, order);
      if (status === 'already_credited') notify('Nothing was added: this reference was credited before');
    },
    onDone,
  });
}

function UsageOf({ account }: { readonly account: string }) {
  const from = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10);
  const { rows, ...state } = useList('GET /admin/usage', { account, by: 'day,model', from });
  return renderTable({
    name: 'Usage of 30 days',
    columns: buildUsageColumns((model) => buildHref('calls', { account, model })),
    ...state,
    rows: rows?.toReversed(),
    empty: 'No calls in the last 30 days.',
  });
}

function renderChanges(account: string, { state }: AccountDetails, onDone: () => void) {
  return (
    mayChange() &&
    html`<button onClick=${() => openState(account, state, onDone)}>
        ${state === 'open' ? 'Disable / close' : 'Change state'}
      </button>
      <button onClick=${() => openAdjustment(account, onDone)}>Adjust</button>
      <button onClick=${() => openCredit(account, onDone)}>Add credit</button>
      <button class="primary" onClick=${() => openNewKey(account, onDone)}>New key</button>`
  );
}

export function Account({ account }: { readonly account: string }) {
  const { data, error, reload } = useData('GET /admin/accounts/:account', { account });
  const keys = useList('GET /admin/keys', { account, limit: largestPage });
  const reloadAll = () => {
    reload();
    keys.reload();
  };
  const { choice, render } = chooseView(bindQuery('show', 'keys'), [
    ['keys', 'Keys', () => renderKeys({ name: 'Keys', ...keys, onDone: reloadAll })],
    ['budgets', 'Budgets', () => html`<${Budgets} account=${account} />`],
    ['statement', 'Statement', () => html`<${StatementOf} account=${account} />`],
    ['usage', 'Usage', () => html`<${UsageOf} account=${account} />`],
  ]);
  const title = html`${account} ${renderState(data?.state)}`;
  if (!data && error) return html`${renderHead(title)} ${renderProblem(error, reloadAll)}`;
  const credits = Object.entries(data?.credits ?? {}).filter(([, amount]) => amount !== '0');
  const links = html`<a class="button" href=${buildHref('calls', { account })}>Calls</a>`;
  return html`${renderHead(title, html`${links}${data && renderChanges(account, data, reloadAll)}`)}
    ${renderProblem(error, reloadAll)}
    ${renderTiles(
      ['Available', renderUsd(data?.available), 'for new calls'],
      ['Reserved', renderUsd(data?.pending), 'by running calls'],
      ['Spent', renderUsd(data?.used)],
      [
        'Credited',
        renderUsd(data?.total),
        credits.map(([kind, amount], index) => html`${index > 0 && ', '}${kind} ${renderUsd(amount)}`),
      ],
    )}
    <p>${choice}</p>
    ${render()}`;
}
