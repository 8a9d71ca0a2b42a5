/** One account: its balance, keys, credits, budgets, statement and usage. */
import type { Balance } from './accounts.ts';
import { api, session, useData } from './api.ts';
import { Budgets } from './budgets.ts';
import { amountColumn, countColumn } from './columns.ts';
import { openAdjustment, openState } from './corrections.ts';
import { Form, type Values } from './form.ts';
import { openNewKey, type Key } from './key-dialogs.ts';
import { Keys } from './keys.ts';
import { closeDialog, html, openDialog } from './kit.ts';
import { useList } from './lists.ts';
import { Amount } from './money.ts';
import { Badge, Choice, Fault, Head, Tile } from './parts.ts';
import { href, setQuery } from './router.ts';
import { StatementOf } from './statement.ts';
import { Table, type Column } from './table.ts';

/** What an account is, unless it is open. */
export function AccountState({ state }: Partial<Pick<Balance, 'state'>>) {
  return state !== undefined && state !== 'open' ? html`<${Badge} tone="bad">${state}</${Badge}>` : null;
}

interface Usage {
  readonly model: string | null;
  readonly day: string;
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly cost: string;
}

const usageColumns = (account: string): Column<Usage>[] => [
  { title: 'Day (UTC)', value: ({ day }) => day },
  {
    title: 'Model',
    value: ({ model }) => model,
    cell: ({ model }) => model && html`<a href=${href('calls', { account, model })}>${model}</a>`,
  },
  countColumn('Calls', ({ calls }) => calls),
  countColumn('Input tokens', ({ input }) => input),
  countColumn('Output tokens', ({ output }) => output),
  amountColumn('Cost', ({ cost }) => cost),
];

function openCredit(account: string, done: () => void): void {
  openDialog(
    `Add credit to ${account}`,
    html`<${Form}
      fields=${[
        { name: 'amount', label: 'Amount in USD', isRequired: true, placeholder: '25' },
        { name: 'kind', label: 'Kind', type: 'select', options: ['top-up', 'bonus', 'gift-card'] },
        {
          name: 'reference',
          label: 'Reference',
          placeholder: 'invoice-7',
          hint: 'A reference is credited once only, even if it is sent twice.',
        },
      ]}
      submit="Add credit"
      onSubmit=${async ({ amount, kind, reference = '' }: Values) => {
        await api.post('/admin/credits', {
          account,
          amount,
          kind,
          ...(reference === '' ? {} : { reference }),
        });
        closeDialog();
        done();
      }}
    />`,
  );
}

function UsageOf({ account }: { readonly account: string }) {
  const from = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10);
  const { data, error, reload } = useData<{ data: readonly Usage[] }>('/admin/usage', {
    account,
    by: 'day,model',
    from,
  });
  return html`<${Fault} error=${error} retry=${reload} />
    <${Table}
      name="Usage of 30 days"
      columns=${usageColumns(account)}
      rows=${data?.data.toReversed()}
      error=${error}
      empty="No call in the last 30 days."
    />`;
}

const tabs = [
  ['keys', 'Keys'],
  ['budgets', 'Budgets'],
  ['statement', 'Statement'],
  ['usage', 'Usage'],
] as const;

export function Account({
  account,
  query,
}: {
  readonly account: string;
  readonly query: Readonly<Record<string, string>>;
}) {
  const path = `/admin/accounts/${encodeURIComponent(account)}`;
  const { data, error, reload } = useData<Balance & { credits: Readonly<Record<string, string>> }>(path);
  const keys = useList<Key>('/admin/keys', { account });
  const show = query['show'] ?? 'keys';
  const done = () => {
    reload();
    keys.reload();
  };
  const credits = Object.entries(data?.credits ?? {}).filter(([, amount]) => amount !== '0');
  return html`<${Head} title=${html`${account} <${AccountState} state=${data?.state} />`}>
      <a class="button" href=${href('calls', { account })}>Calls</a>
      ${
        !session.value?.readOnly &&
        data &&
        html`<button onClick=${() => openState(account, data.state, done)}>Set state</button>
          <button onClick=${() => openAdjustment(account, done)}>Adjust</button>
          <button onClick=${() => openCredit(account, done)}>Add credit</button>
          <button class="primary" onClick=${() => openNewKey(account, done)}>New key</button>`
      }
    </${Head}>
    <${Fault} error=${error ?? keys.error} retry=${done} />
    <div class="tiles">
      <${Tile} label="Available" value=${html`<${Amount} usd=${data?.available} />`} note="for new calls" />
      <${Tile} label="Held" value=${html`<${Amount} usd=${data?.pending} />`} note="by running calls" />
      <${Tile} label="Spent" value=${html`<${Amount} usd=${data?.used} />`} />
      <${Tile}
        label="Credited"
        value=${html`<${Amount} usd=${data?.total} />`}
        note=${credits.map(
          ([kind, amount], index) => html`${index > 0 && ', '}${kind} <${Amount} usd=${amount} />`,
        )}
      />
    </div>
    <p>
      <${Choice}
        label="Show"
        options=${tabs}
        value=${show}
        onChange=${(value: string) => setQuery({ show: value })}
      />
    </p>
    ${show === 'statement' && html`<${StatementOf} account=${account} query=${query} />`}
    ${show === 'budgets' && html`<${Budgets} account=${account} />`}
    ${show === 'usage' && html`<${UsageOf} account=${account} />`}
    ${
      show === 'keys' &&
      html`<${Keys} name="Keys" keys=${keys.rows} error=${keys.error} more=${keys.more} done=${done} />`
    }`;
}
