/** Accounts with their balances, keys, budgets, statement and usage, and what corrects them. */
import type { ListedAccount, AccountDetails } from '../../../shared/replies/accounts.ts';
import type { Statement } from '../../../shared/replies/spending.ts';
import { call, largestPage, session, useList, useData, buildUrl } from './api.ts';
import { Budgets, openNewBudget } from './budgets.ts';
import { buildUsageColumns } from './call-columns.ts';
import { bindQuery, chooseView, renderSelect, openForm, amountField, reasonField } from './form.ts';
import { renderUsd } from './format.ts';
import { openNewKey, openNewOperatorKey, Keys } from './keys.ts';
import { html, notify, useMemo, buildHref, type Place } from './kit.ts';
import {
  renderAccounts,
  renderAction,
  renderHead,
  renderProblem,
  renderState,
  renderTiles,
  RowMenu,
  type Action,
} from './parts.ts';
import { buildColumn, type Column, renderTable } from './table.ts';
import { buildSpentTile, Members, openErasure, openMove, renderChildren } from './team.ts';
import { openNewAccount, openTerms, renderTerms } from './terms.ts';

function openAdjustment(account: string): void {
  openForm({
    title: `Adjust the credit of ${account}`,
    fields: [
      { ...amountField, placeholder: '-2.50', hint: 'A negative amount takes credit back.' },
      reasonField,
    ],
    submit: 'Adjust',
    send: (values) => call('POST /admin/adjustments', {}, { account, ...values }),
  });
}

const states = [
  ['open', 'open: its keys work'],
  ['disabled', 'disabled: its keys are refused within a second'],
  ['closed', 'closed for good'],
] as const;

function openState(account: string, state: string): void {
  openForm({
    title: `State of ${account}`,
    fields: [
      {
        name: 'state',
        label: 'State',
        type: 'select',
        options: states,
        hint: 'A closed account cannot be opened again.',
      },
    ],
    values: { state },
    submit: 'Change',
    send: (values) => call('PATCH /admin/accounts/:account/state', { account }, values),
  });
}

const local = Intl.DateTimeFormat().resolvedOptions().timeZone;

const zones = [...new Set([local, 'UTC', ...Intl.supportedValuesOf('timeZone')])];

/** The last twelve months of a zone, the current one first: `2026-11`. */
function listMonths(zone: string): string[] {
  const now = new Date().toLocaleDateString('sv-SE', { timeZone: zone });
  const [year = 0, month = 1] = now.split('-').map(Number);
  return Array.from({ length: 12 }, (_, back) =>
    new Date(Date.UTC(year, month - 1 - back, 1)).toISOString().slice(0, 7),
  );
}

/** Times of credits, and days of usage, as the zone has them. */
function buildColumns(zone: string): Column<Statement['lines'][number]>[] {
  const options = { day: 'numeric', month: 'short', timeZone: zone } as const;
  const day = new Intl.DateTimeFormat('en-GB', options);
  const minute = new Intl.DateTimeFormat('en-GB', { ...options, hour: '2-digit', minute: '2-digit' });
  const renderDate = ({ at, kind }: Statement['lines'][number]) =>
    html`<time datetime=${at} title=${at}>${(kind === 'usage' ? day : minute).format(new Date(at))}</time>`;
  return [
    buildColumn('Date', 'at', renderDate),
    buildColumn('Kind', 'kind'),
    buildColumn('Text', 'text'),
    buildColumn('Reference', 'reference'),
    buildColumn('Charged calls', 'calls', 'count'),
    buildColumn('Amount', 'amount', 'amount'),
    buildColumn('Balance', 'balance', 'amount'),
  ];
}

/** What an account that pays later has to be sent. */
function renderInvoice({ to_invoice: owed }: Statement) {
  return owed !== null && html`to invoice: ${renderUsd(owed)}`;
}

function StatementOf({ account }: { readonly account: string }) {
  const zoneState = bindQuery('zone', local);
  const zone = zones.find((each) => each === zoneState.value) ?? local;
  const listed = useMemo(() => listMonths(zone), [zone]);
  const monthState = bindQuery('month', listed[0]);
  const month = monthState.value;
  const { data, error } = useData('GET /admin/accounts/:account/statement', { account, month, zone });
  const columns = useMemo(() => buildColumns(zone), [zone]);
  const csv = buildUrl('GET /admin/accounts/:account/statement', { account, month, zone, format: 'csv' });
  return html`${renderTiles(
    ['Opening balance', renderUsd(data?.opening)],
    ['Credited', renderUsd(data?.credited)],
    ['Spent', renderUsd(data?.used)],
    ['Closing balance', renderUsd(data?.closing), data && renderInvoice(data)],
  )}
  ${renderTable({
    name: `Statement ${month}`,
    columns,
    rows: data?.lines,
    error,
    tools: html`${renderSelect('Month', listed, monthState)} ${renderSelect('Time zone', zones, zoneState)}`,
    files: { 'Statement as CSV': csv },
    empty: 'Nothing was credited or spent in this month.',
  })}`;
}

/** What an account is, unless it is open. */
function renderClosed(state: string | undefined) {
  return state !== undefined && state !== 'open' && renderState(state);
}

function openCredit(account: string): void {
  openForm({
    title: `Add credit to ${account}`,
    fields: [
      { ...amountField, placeholder: '25' },
      { name: 'kind', label: 'Kind', type: 'select', options: ['top-up', 'bonus', 'gift-card'] },
      {
        name: 'reference',
        label: 'Reference',
        placeholder: 'invoice-7',
        hint: 'The same reference is credited only once.',
      },
    ],
    submit: 'Add credit',
    async send(values) {
      const { status } = await call('POST /admin/credits', {}, { account, ...values });
      if (status === 'already_credited') notify('Nothing was added: this reference was credited before');
    },
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

function renderChanges(account: string, data: AccountDetails) {
  const { state, parent } = data;
  const change = state === 'open' ? 'Disable / close' : 'Change state';
  const items: readonly Action[] = [
    ['Terms', () => openTerms(data), 'PATCH /admin/accounts/:account/terms'],
    ['New budget', () => openNewBudget(account), 'POST /admin/budgets'],
    ['Adjust', () => openAdjustment(account), 'POST /admin/adjustments'],
    ['Move', () => openMove(account, parent), 'PATCH /admin/accounts/:account'],
    [change, () => openState(account, state), 'PATCH /admin/accounts/:account/state'],
    ['Erase', () => openErasure('account', account), 'POST /admin/erasures'],
  ];
  return html`${renderAction('Add credit', () => openCredit(account), 'POST /admin/credits')}
    ${renderAction('New key', () => openNewKey(account), 'POST /admin/keys', 'primary')}
    <${RowMenu} of=${`the account ${account}`} items=${items} />`;
}

function Account({ account }: { readonly account: string }) {
  const { data, error } = useData('GET /admin/accounts/:account', { account });
  const { choice, render } = chooseView(bindQuery('show', 'keys'), [
    ['keys', 'Keys', () => html`<${Keys} kind="user" account=${account} />`],
    ['team', 'Team', () => renderChildren(data, () => openNewAccount(account))],
    ['members', 'Members', () => html`<${Members} account=${account} details=${data} />`],
    ['statement', 'Statement', () => html`<${StatementOf} account=${account} />`],
    ['usage', 'Usage', () => html`<${UsageOf} account=${account} />`],
  ]);
  const title = html`${account} ${renderClosed(data?.state)}`;
  if (!data && error) return html`${renderHead(title)} ${renderProblem(error)}`;
  const credits = Object.entries(data?.credits ?? {}).filter(([, amount]) => amount !== '0');
  const links = html`<a class="button" href=${buildHref('calls', { account })}>Calls</a>`;
  return html`${renderHead(title, html`${links}${data && renderChanges(account, data)}`)}
    ${renderProblem(error)}
    ${data && data.above.length > 0 && html`<p class="dim">In the team ${renderAccounts(data.above)}</p>`}
    ${renderTiles(
      ['Available', renderUsd(data?.available), (data && renderTerms(data)) || 'for new calls'],
      ['Reserved', renderUsd(data?.pending), 'by running calls'],
      data ? buildSpentTile(data) : ['Spent', renderUsd(undefined)],
      [
        'Credited',
        renderUsd(data?.total),
        credits.map(([kind, amount], index) => html`${index > 0 && ', '}${kind} ${renderUsd(amount)}`),
      ],
    )}
    <${Budgets} account=${account} />
    <p>${choice}</p>
    ${render()}`;
}

/** Rows in the order of the tree, each below its parent, with how deep it is. */
function sortByTree(accounts: readonly ListedAccount[]): TreeRow[] {
  const known = new Set(accounts.map(({ account }) => account));
  const below = Map.groupBy(accounts, ({ parent }) => (parent !== null && known.has(parent) ? parent : null));
  const list = (parent: string | null, depth: number): TreeRow[] =>
    (below.get(parent) ?? []).flatMap((row) => [{ ...row, depth }, ...list(row.account, depth + 1)]);
  return list(null, 0);
}

/** A branch to an account from the one above it. */
function renderBranch(depth: number) {
  const branch = `${'\u2003'.repeat(Math.max(0, depth - 1))}└\u2002`;
  return depth > 0 && html`<span class="dim" aria-hidden="true">${branch}</span>`;
}

type TreeRow = ListedAccount & { readonly depth: number };

const columns: readonly Column<TreeRow>[] = [
  buildColumn(
    'Account',
    ({ account, state, parent }) => [account, state === 'open' ? '' : state, parent].join(' ').trim(),
    ({ account, state, depth, ...terms }) =>
      html`<span class="nowrap"
          >${renderBranch(depth)}<a href=${buildHref(['accounts', account])}>${account}</a>
          ${renderClosed(state)}</span
        >${' '}<span class="dim">${renderTerms(terms)}</span>`,
  ),
  buildColumn('Available', 'available', 'amount'),
  buildColumn('Reserved', 'pending', 'amount'),
  buildColumn('Balance', 'balance', 'amount'),
  buildColumn('Spent', 'used', 'amount'),
  buildColumn('Credited', 'total', 'amount'),
  buildColumn('Created', 'created', 'time'),
];

function Accounts() {
  const accounts = useList('GET /admin/accounts', { limit: largestPage });
  return renderTable({
    name: 'Accounts',
    columns,
    ...accounts,
    rows: accounts.rows && sortByTree(accounts.rows),
    getKey: ({ account }) => account,
    empty: html`<p>No accounts yet. An account has a prepaid balance that its keys spend.</p>
      ${renderAction('Create the first account', () => openNewAccount(), 'POST /admin/accounts', 'primary')}`,
  });
}

function All() {
  const { view, choice, render } = chooseView(bindQuery('show', 'accounts'), [
    ['accounts', 'Accounts', () => html`<${Accounts} />`],
    ['keys', 'Keys', () => html`<${Keys} key="user" kind="user" />`],
    ['operators', 'Operator keys', () => html`<${Keys} key="operator" kind="operator" />`],
    ['budgets', 'Budgets', () => html`<${Budgets} />`],
  ]);
  const { role = 'owner' } = session.value ?? {};
  const create =
    view === 'operators'
      ? // An operator key has the rights of an owner.
        role === 'owner' && renderAction('New operator key', openNewOperatorKey, 'POST /admin/keys')
      : renderAction('New account', () => openNewAccount(), 'POST /admin/accounts');
  const newKey = renderAction('New key', () => openNewKey(), 'POST /admin/keys', 'primary');
  return html`${renderHead('Accounts and keys', html`${create}${newKey}`)}
    <p>${choice}</p>
    ${render()}`;
}

export function Page({ place: { path } }: { readonly place: Place }) {
  const [, account] = path;
  return account === undefined ? html`<${All} />` : html`<${Account} key=${account} account=${account} />`;
}
