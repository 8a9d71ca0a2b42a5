/** Accounts with their balances, and all keys. */
import type { Key, ListedAccount } from '../../../shared/replies/accounts.ts';
import { Account, accountState } from './account.ts';
import { api, mayChange, useList } from './api.ts';
import { Budgets } from './budgets.ts';
import { amountColumn, column, timeColumn, type Column } from './columns.ts';
import { choice, inQuery } from './controls.ts';
import { openForm } from './form.ts';
import { openNewKey, openNewOperatorKey } from './key-dialogs.ts';
import { keyTable } from './keys.ts';
import { html } from './kit.ts';
import { head } from './parts.ts';
import { go, href, type Place } from './router.ts';
import { table } from './table.ts';

const columns: readonly Column<ListedAccount>[] = [
  column(
    'Account',
    ({ account, state, parent }) => [account, state === 'open' ? '' : state, parent].join(' ').trim(),
    ({ account, state, parent }) =>
      html`<a href=${href(['accounts', account])}>${account}</a> ${accountState(state)}${
          parent !== null && html`<br /><span class="dim">below ${parent}</span>`
        }`,
  ),
  amountColumn('Available', ({ available }) => available),
  amountColumn('Held', ({ pending }) => pending),
  amountColumn('Balance', ({ balance }) => balance),
  amountColumn('Spent', ({ used }) => used),
  amountColumn('Credited', ({ total }) => total),
  timeColumn('Created', ({ created }) => created),
];

function openNewAccount(): void {
  openForm({
    title: 'Create an account',
    fields: [
      {
        name: 'name',
        label: 'Name',
        isRequired: true,
        hint: 'Letters, digits and . _ - @ : + ; it cannot be changed.',
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
  return table({
    name: 'Accounts',
    columns,
    ...accounts,
    reload,
    rowKey: ({ account }) => account,
    empty: html`<p>There is no account yet. An account has a prepaid balance, from which its keys spend.</p>
      ${create}`,
  });
}

function All() {
  const show = inQuery('show', 'accounts');
  const areOperators = show.value === 'operators';
  const keys = useList<Key>(show.value === 'keys' || areOperators ? '/admin/keys' : undefined);
  const kind = areOperators ? 'operator' : 'user';
  return html`${head(
      'Accounts and keys',
      mayChange() &&
        html`${
            areOperators
              ? html`<button onClick=${() => openNewOperatorKey(keys.reload)}>New operator key</button>`
              : html`<button onClick=${openNewAccount}>New account</button>`
          }<button class="primary" onClick=${() => openNewKey(undefined, keys.reload)}>New key</button>`,
    )}
    <p>
      ${choice(
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
      keyTable({
        name: areOperators ? 'Operator keys' : 'Keys',
        ...keys,
        rows: keys.rows?.filter((key) => key.kind === kind),
        withAccount: !areOperators,
        areOperators,
        done: keys.reload,
      })
    }
    ${show.value === 'budgets' && html`<${Budgets} />`}`;
}

export function Page({ place: { path } }: { readonly place: Place }) {
  const [, account] = path;
  return account === undefined ? html`<${All} />` : html`<${Account} key=${account} account=${account} />`;
}
