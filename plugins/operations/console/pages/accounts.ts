/** Accounts with their balances, and all keys. */
import { Account, AccountState } from './account.ts';
import { api, session } from './api.ts';
import { Budgets } from './budgets.ts';
import { Form, type Values } from './form.ts';
import { Time } from './format.ts';
import { openNewKey, openNewOperatorKey, type Key } from './key-dialogs.ts';
import { Keys } from './keys.ts';
import { closeDialog, html, openDialog } from './kit.ts';
import { useList } from './lists.ts';
import { Amount } from './money.ts';
import { Choice, Fault, Head } from './parts.ts';
import { go, href, setQuery, type Place } from './router.ts';
import { Table, type Column } from './table.ts';

export interface Balance {
  readonly account: string;
  readonly balance: string;
  readonly total: string;
  readonly used: string;
  readonly pending: string;
  readonly available: string;
  readonly created: string;
  readonly state: string;
  /** The account above it, with which it shares budgets. */
  readonly parent: string | null;
}

const money = (title: string, value: (row: Balance) => string): Column<Balance> => ({
  title,
  value,
  cell: (row) => html`<${Amount} usd=${value(row)} />`,
  isFigure: true,
});

const columns: readonly Column<Balance>[] = [
  {
    title: 'Account',
    value: ({ account, state, parent }) => [account, state === 'open' ? '' : state, parent].join(' ').trim(),
    cell: ({ account, state, parent }) =>
      html`<a href=${href(['accounts', account])}>${account}</a> <${AccountState} state=${state} />${
          parent !== null && html`<br /><span class="dim">below ${parent}</span>`
        }`,
  },
  money('Available', ({ available }) => available),
  money('Held', ({ pending }) => pending),
  money('Balance', ({ balance }) => balance),
  money('Spent', ({ used }) => used),
  money('Credited', ({ total }) => total),
  {
    title: 'Created',
    value: ({ created }) => created,
    cell: ({ created }) => html`<${Time} at=${created} brief=${true} />`,
  },
];

function openNewAccount(): void {
  openDialog(
    'Create an account',
    html`<${Form}
      fields=${[
        {
          name: 'name',
          label: 'Name',
          isRequired: true,
          hint: 'Letters, digits and . _ - @ : + ; it cannot be changed.',
        },
        { name: 'amount', label: 'Credit to add in USD', hint: 'Optional.' },
      ]}
      submit="Create account"
      onSubmit=${async ({ name = '', amount = '' }: Values) => {
        await api.post('/admin/accounts', { name });
        if (amount !== '') await api.post('/admin/credits', { account: name, amount });
        closeDialog();
        go(['accounts', name]);
      }}
    />`,
  );
}

const tabs = [
  ['accounts', 'Accounts'],
  ['keys', 'Keys'],
  ['operators', 'Operator keys'],
  ['budgets', 'Budgets'],
] as const;

function All({ show }: { readonly show: string }) {
  const accounts = useList<Balance>(show === 'accounts' ? '/admin/accounts' : undefined);
  const keys = useList<Key>(show === 'keys' || show === 'operators' ? '/admin/keys' : undefined);
  const kind = show === 'operators' ? 'operator' : 'user';
  const reload = show === 'accounts' ? accounts.reload : keys.reload;
  const mayChange = !session.value?.readOnly;
  return html`<${Head} title="Accounts and keys">
      ${
        mayChange &&
        html`${
            show === 'operators'
              ? html`<button onClick=${() => openNewOperatorKey(keys.reload)}>New operator key</button>`
              : html`<button onClick=${openNewAccount}>New account</button>`
          } <button class="primary" onClick=${() => openNewKey(undefined, reload)}>New key</button>`
      }
    </${Head}>
    <p>
      <${Choice}
        label="Show"
        options=${tabs}
        value=${show}
        onChange=${(value: string) => setQuery({ show: value === 'accounts' ? '' : value })}
      />
    </p>
    <${Fault} error=${accounts.error ?? keys.error} retry=${reload} />
    ${
      show === 'accounts'
        ? html`<${Table}
            name="Accounts"
            columns=${columns}
            rows=${accounts.rows}
            error=${accounts.error}
            rowKey=${({ account }: Balance) => account}
            more=${accounts.more}
            empty=${html`<p>
                There is no account yet. An account has a prepaid balance, from which its keys spend.
              </p>
              ${
                mayChange &&
                html`<button class="primary" onClick=${openNewAccount}>Create the first account</button>`
              }`}
          />`
        : show !== 'budgets' &&
          html`<${Keys}
            key=${show}
            name=${show === 'keys' ? 'Keys' : 'Operator keys'}
            keys=${keys.rows?.filter((key) => key.kind === kind)}
            withAccount=${show === 'keys'}
            areOperators=${show === 'operators'}
            error=${keys.error}
            more=${keys.more}
            done=${keys.reload}
          />`
    }
    ${show === 'budgets' && html`<${Budgets} />`}`;
}

export function Page({ place: { path, query } }: { readonly place: Place }) {
  const [, account] = path;
  return account === undefined
    ? html`<${All} show=${query['show'] ?? 'accounts'} />`
    : html`<${Account} key=${account} account=${account} query=${query} />`;
}
