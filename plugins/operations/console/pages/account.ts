/** One account: its balance, keys, credits, budgets, statement and usage. */
import type { AccountDetails, Key } from '../../../shared/replies/accounts.ts';
import { api, mayChange, useData, useList } from './api.ts';
import { Budgets } from './budgets.ts';
import { choice, inQuery } from './controls.ts';
import { openAdjustment, openState } from './corrections.ts';
import { openForm, optional } from './form.ts';
import { openNewKey } from './key-dialogs.ts';
import { keyTable } from './keys.ts';
import { html } from './kit.ts';
import { usd } from './money.ts';
import { badge, head, problem, tiles } from './parts.ts';
import { href } from './router.ts';
import { StatementOf } from './statement.ts';
import { table } from './table.ts';
import { usageColumns, type Usage } from './usage.ts';

/** What an account is, unless it is open. */
export function accountState(state: string | undefined) {
  return state !== undefined && state !== 'open' && badge(state, 'bad');
}

function openCredit(account: string, done: () => void): void {
  openForm({
    title: `Add credit to ${account}`,
    fields: [
      { name: 'amount', label: 'Amount in USD', isRequired: true, placeholder: '25' },
      { name: 'kind', label: 'Kind', type: 'select', options: ['top-up', 'bonus', 'gift-card'] },
      {
        name: 'reference',
        label: 'Reference',
        placeholder: 'invoice-7',
        hint: 'A reference is credited once only, even if it is sent twice.',
      },
    ],
    submit: 'Add credit',
    send: ({ amount, kind, reference }) =>
      api.post('/admin/credits', { account, amount, kind, ...optional('reference', reference) }),
    done,
  });
}

function UsageOf({ account }: { readonly account: string }) {
  const from = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10);
  const { rows, ...state } = useList<Usage>('/admin/usage', { account, by: 'day,model', from });
  return table({
    name: 'Usage of 30 days',
    columns: usageColumns((model) => href('calls', { account, model })),
    ...state,
    rows: rows?.toReversed(),
    empty: 'No call in the last 30 days.',
  });
}

export function Account({ account }: { readonly account: string }) {
  const path = `/admin/accounts/${encodeURIComponent(account)}`;
  const { data, error, reload } = useData<AccountDetails>(path);
  const keys = useList<Key>('/admin/keys', { account });
  const show = inQuery('show', 'keys');
  const done = () => {
    reload();
    keys.reload();
  };
  const credits = Object.entries(data?.credits ?? {}).filter(([, amount]) => amount !== '0');
  const title = html`${account} ${accountState(data?.state)}`;
  const changes =
    mayChange() &&
    data &&
    html`<button onClick=${() => openState(account, data.state, done)}>Set state</button>
      <button onClick=${() => openAdjustment(account, done)}>Adjust</button>
      <button onClick=${() => openCredit(account, done)}>Add credit</button>
      <button class="primary" onClick=${() => openNewKey(account, done)}>New key</button>`;
  return html`${head(title, html`<a class="button" href=${href('calls', { account })}>Calls</a>${changes}`)}
    ${problem(error, done)}
    ${tiles(
      ['Available', usd(data?.available), 'for new calls'],
      ['Held', usd(data?.pending), 'by running calls'],
      ['Spent', usd(data?.used)],
      [
        'Credited',
        usd(data?.total),
        credits.map(([kind, amount], index) => html`${index > 0 && ', '}${kind} ${usd(amount)}`),
      ],
    )}
    <p>
      ${choice(
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
    ${show.value === 'keys' && keyTable({ name: 'Keys', ...keys, done })}
    ${show.value === 'budgets' && html`<${Budgets} account=${account} />`}
    ${show.value === 'statement' && html`<${StatementOf} account=${account} />`}
    ${show.value === 'usage' && html`<${UsageOf} account=${account} />`}`;
}
