/** Accounts with their balances, and all keys. */
import type { Key, ListedAccount } from '../../../shared/replies/accounts.ts';
import { Account, renderState } from './account.ts';
import { api, mayChange, useList } from './api.ts';
import { Budgets } from './budgets.ts';
import { buildAmountColumn, buildColumn, buildTimeColumn, type Column } from './columns.ts';
import { renderChoice, bindQuery } from './controls.ts';
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
          parent !== null && html`<br /><span class="dim">below ${parent}</span>`
        }`,
  ),
  buildAmountColumn('Available', ({ available }) => available),
  buildAmountColumn('Held', ({ pending }) => pending),
  buildAmountColumn('Balance', ({ balance }) => balance),
  buildAmountColumn('Spent', ({ used }) => used),
  buildAmountColumn('Credited', ({ total }) => total),
  buildTimeColumn('Created', ({ created }) => created),
];

function openNewAccount(): void {
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
      await api.post('/admin/accounts', { name });
      if (amount) await api.post('/admin/credits', { account: name, amount });
      go(['accounts', name]);
    },
  });
}

function Accounts() {
  const { reload, ...accounts } = useList<ListedAccount>('/admin/accounts');
  const create =
    mayChange() && html`<button class="primary" onClick=${openNewAccount}>Create the first account</button>`;
  return renderTable({
    name: 'Accounts',
    columns,
    ...accounts,
    reload,
    getKey: ({ account }) => account,
    empty: html`<p>No accounts yet. An account has a prepaid balance that its keys spend.</p>
      ${create}`,
  });
}

function All() {
  const show = bindQuery('show', 'accounts');
  const areOperators = show.value === 'operators';
  const keys = useList<Key>(show.value === 'keys' || areOperators ? '/admin/keys' : undefined);
  const kind = areOperators ? 'operator' : 'user';
  return html`${renderHead(
      'Accounts and keys',
      mayChange() &&
        html`${
            areOperators
              ? html`<button onClick=${() => openNewOperatorKey(keys.reload)}>New operator key</button>`
              : html`<button onClick=${openNewAccount}>New account</button>`
          }<button class="primary" onClick=${() => openNewKey(undefined, keys.reload)}>New key</button>`,
    )}
    <p>
      ${renderChoice(
        'Show',
        [
          ['accounts', 'Accounts'],
          ['keys', 'Keys'],
          ['operators', 'Operator keys'],
          ['budgets', 'Budgets'],
        ],
        show,
      )}
    </p>
    ${show.value === 'accounts' && html`<${Accounts} />`}
    ${
      (show.value === 'keys' || areOperators) &&
      renderKeys({
        name: areOperators ? 'Operator keys' : 'Keys',
        ...keys,
        rows: keys.rows?.filter((key) => key.kind === kind),
        withAccount: !areOperators,
        areOperators,
        onDone: keys.reload,
      })
    }
    ${show.value === 'budgets' && html`<${Budgets} />`}`;
}

export function Page({ place: { path } }: { readonly place: Place }) {
  const [, account] = path;
  return account === undefined ? html`<${All} />` : html`<${Account} key=${account} account=${account} />`;
}
