/** Accounts with their balances, and all keys. */
import type { ListedAccount } from '../../../shared/replies/accounts.ts';
import { Account, renderState } from './account.ts';
import { call, largestPage, mayChange, useList, type LoadedList } from './api.ts';
import { Budgets } from './budgets.ts';
import { buildAmountColumn, buildColumn, buildTimeColumn, type Column } from './columns.ts';
import { bindQuery, chooseView } from './controls.ts';
import { openForm } from './form.ts';
import { openNewKey, openNewOperatorKey } from './key-dialogs.ts';
import { renderKeys } from './keys.ts';
import { html } from './kit.ts';
import { renderHead } from './parts.ts';
import { go, buildHref, type Place } from './router.ts';
import { renderTable } from './table.ts';

const columns: readonly Column<ListedAccount>[] = [
  buildColumn(
    'Account',
    ({ account, state, parent }) => [account, state === 'open' ? '' : state, parent].join(' ').trim(),
    ({ account, state, parent }) =>
      html`<a href=${buildHref(['accounts', account])}>${account}</a> ${renderState(state)}${
          parent !== null && html`<br /><span class="dim">in ${parent}</span>`
        }`,
  ),
  buildAmountColumn('Available', ({ available }) => available),
  buildAmountColumn('Reserved', ({ pending }) => pending),
  buildAmountColumn('Balance', ({ balance }) => balance),
  buildAmountColumn('Spent', ({ used }) => used),
  buildAmountColumn('Credited', ({ total }) => total),
  buildTimeColumn('Created', ({ created }) => created),
];

function openNewAccount(): void {
  /** Is not created again if only its credit was refused. */
  let created: string | undefined;
  openForm({
    title: 'Create an account',
    fields: [
      {
        name: 'name',
        label: 'Name',
        isRequired: true,
        hint: 'Letters, digits and . _ - @ : + are allowed. The name cannot be changed later.',
      },
      { name: 'amount', label: 'Credit to add in USD', hint: 'Optional.' },
    ],
    submit: 'Create account',
    async send({ name = '', amount }) {
      if (name !== created) await call('POST /admin/accounts', {}, { name });
      created = name;
      if (amount) await call('POST /admin/credits', {}, { account: name, amount });
      go(['accounts', name]);
    },
  });
}

function renderAccounts(accounts: LoadedList<ListedAccount>) {
  const create =
    mayChange() && html`<button class="primary" onClick=${openNewAccount}>Create the first account</button>`;
  return renderTable({
    name: 'Accounts',
    columns,
    ...accounts,
    getKey: ({ account }) => account,
    empty: html`<p>No accounts yet. An account has a prepaid balance that its keys spend.</p>
      ${create}`,
  });
}

function All() {
  const { view, choice, render } = chooseView(bindQuery('show', 'accounts'), [
    ['accounts', 'Accounts', () => renderAccounts(accounts)],
    ['keys', 'Keys', () => renderKeys({ name: 'Keys', ...keys, withAccount: true, onDone: keys.reload })],
    [
      'operators',
      'Operator keys',
      () => renderKeys({ name: 'Operator keys', ...keys, areOperators: true, onDone: keys.reload }),
    ],
    ['budgets', 'Budgets', () => html`<${Budgets} />`],
  ]);
  const kind = { keys: 'user', operators: 'operator' }[view];
  const limit = largestPage;
  const accounts = useList(view === 'accounts' ? 'GET /admin/accounts' : undefined, { limit });
  const keys = useList(kind ? 'GET /admin/keys' : undefined, { kind, limit });
  const reload = (): void => {
    accounts.reload();
    keys.reload();
  };
  const create =
    view === 'operators'
      ? html`<button onClick=${() => openNewOperatorKey(reload)}>New operator key</button>`
      : html`<button onClick=${openNewAccount}>New account</button>`;
  const newKey = html`<button class="primary" onClick=${() => openNewKey(undefined, reload)}>
    New key
  </button>`;
  return html`${renderHead('Accounts and keys', mayChange() && html`${create}${newKey}`)}
    <p>${choice}</p>
    ${render()}`;
}

export function Page({ place: { path } }: { readonly place: Place }) {
  const [, account] = path;
  return account === undefined ? html`<${All} />` : html`<${Account} key=${account} account=${account} />`;
}
