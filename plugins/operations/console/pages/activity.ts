/** What happened besides calls: what operators did, warnings of budgets, and credit with its corrections. */
import type { Replies } from '../../../shared/replies/routes.ts';
import { call, largestPage, useList } from './api.ts';
import { describePeriod } from './budgets.ts';
import { bindQuery, chooseView, openForm, reasonField, renderInput } from './form.ts';
import { renderUsd } from './format.ts';
import { buildHref, html, notify, setQuery, type Place } from './kit.ts';
import { renderAction, renderHead } from './parts.ts';
import { NameInput } from './search.ts';
import { buildColumn, type Column, renderTable } from './table.ts';

type Action = Replies['GET /admin/actions']['data'][number];
type Warning = Replies['GET /admin/budget-warnings']['data'][number];
type Credit = Replies['GET /admin/credits']['data'][number];

const verbs: Readonly<Record<string, string>> = { POST: 'create', PATCH: 'change', DELETE: 'delete' };

/** `create key`, of `POST /admin/keys`. A verb of the command line stays as it is. */
function describeAction(action: string): string {
  const [, method = '', path = ''] = /^([A-Z]+) \/(?:admin|v1)\/(.+)$/.exec(action) ?? [];
  if (method === '') return action;
  const [name = '', ...rest] = path.split('/').filter((part) => !part.startsWith(':'));
  const one = name.replace(/s$/, '');
  // What a last word says is done with what its path names, as in `/admin/keys/:key/rotate`.
  if (method === 'POST' && rest.length > 0) return `${rest.join(' ').replace(/s$/, '')} ${one}`;
  return name === one ? one : [verbs[method] ?? method, one, ...rest].join(' ');
}

/** Where a subject is shown. */
function findSubjectPage({ action, subject }: Action): string | undefined {
  if (subject === '') return undefined;
  if (/accounts|credits?\b|adjust|POST \/admin\/keys$|invitations|keys create/.test(action))
    return buildHref(['accounts', subject]);
  if (/keys/.test(action)) return buildHref('calls', { key: subject });
  if (/refund/.test(action)) return buildHref(['calls', subject]);
  if (/prices|markups/.test(action)) return buildHref('prices');
  return /budgets/.test(action) ? buildHref('accounts', { show: 'budgets' }) : undefined;
}

const actionColumns: readonly Column<Action>[] = [
  buildColumn('Time', 'at', 'time'),
  buildColumn(
    'Who',
    ({ author, author_name: name }) => name || author,
    ({ author, author_name: name }) =>
      html`<button class="link" onClick=${() => setQuery({ author })}>${name || author}</button>`,
  ),
  buildColumn('What', 'action', ({ action }) => html`<span title=${action}>${describeAction(action)}</span>`),
  buildColumn('Subject', 'subject', (each) => {
    const page = findSubjectPage(each);
    return page === undefined ? each.subject : html`<a href=${page}>${each.subject}</a>`;
  }),
  buildColumn(
    'Details',
    'detail',
    ({ detail }) => detail !== '{}' && html`<code>${detail.replaceAll(',"', ', "')}</code>`,
    'wide',
  ),
];

const actionFilters = ['author', 'subject', 'from', 'to'] as const;

function Actions({ query }: { readonly query: Place['query'] }) {
  const params = Object.fromEntries(actionFilters.map((name) => [name, query[name]]));
  const list = useList('GET /admin/actions', params);
  const isUnfiltered = actionFilters.every((name) => query[name] === undefined);
  const clear = (): void => setQuery(Object.fromEntries(actionFilters.map((name) => [name, undefined])));
  return renderTable({
    name: 'Actions',
    columns: actionColumns,
    ...list,
    isFiltered: true,
    getKey: ({ number }) => String(number),
    tools: html`<${NameInput} label="Who" kind="key" state=${bindQuery('author')} />
      <${NameInput} label="Subject" kind="account" state=${bindQuery('subject')} />
      ${renderInput('From', bindQuery('from'), { type: 'date' })}
      ${renderInput('Before', bindQuery('to'), { type: 'date' })}
      ${!isUnfiltered && html`<button class="quiet" onClick=${clear}>Clear filters</button>`}`,
    empty: isUnfiltered ? 'Operators have not changed anything yet.' : 'No action matches these filters.',
  });
}

const warningColumns: readonly Column<Warning>[] = [
  buildColumn('Time', 'at', 'time'),
  buildColumn(
    'Budget',
    ({ budget: { scope, subject } }) => `${scope} ${subject}`,
    ({ budget }) =>
      html`<span class="dim">${budget.scope}</span>${' '}
        <a href=${buildHref('accounts', { show: 'budgets' })}>${budget.subject}</a>${' '}
        <span class="dim">${describePeriod(budget)}</span>`,
  ),
  buildColumn('What', ({ event, budget }) =>
    event === 'budget.exhausted' ? 'refused a call' : `${budget.threshold} % reached`,
  ),
  buildColumn('Used', ({ budget }) => budget.used, 'amount'),
  buildColumn('Limit', ({ budget }) => budget.allowed, 'amount'),
];

const newestFirst = { limit: largestPage, order: 'newest' };

function openChargeback(): void {
  openForm({
    title: 'Take back a reversed payment',
    intro: 'The whole credit with this reference is taken back, once. The balance may become negative.',
    fields: [{ name: 'reference', label: 'Reference of the credit', isRequired: true }, reasonField],
    submit: 'Take back',
    isDangerous: true,
    async send(values) {
      const { status, account, amount } = await call('POST /admin/chargebacks', {}, values);
      const isRepeated = status === 'already_credited';
      notify(isRepeated ? 'This payment was taken back before' : `${amount} USD were taken from ${account}`);
    },
  });
}

const creditColumns: readonly Column<Credit>[] = [
  buildColumn('Time', 'at', 'time'),
  buildColumn(
    'Account',
    'account',
    ({ account }) => html`<a href=${buildHref(['accounts', account], { show: 'statement' })}>${account}</a>`,
  ),
  buildColumn('Kind', 'kind'),
  buildColumn('Amount', 'amount', ({ amount }) => renderUsd(amount), 'figure'),
  buildColumn('Reference', ({ reference }) => String(reference ?? '')),
  buildColumn('Reason', ({ reason }) => String(reason ?? ''), undefined, 'wide'),
  buildColumn('By', ({ author }) => String(author ?? '')),
];

function Warnings() {
  const list = useList('GET /admin/budget-warnings', newestFirst);
  return renderTable({
    name: 'Budget warnings',
    columns: warningColumns,
    ...list,
    getKey: ({ id }) => String(id),
    empty: 'No budget has reached a threshold yet.',
  });
}

function Credits() {
  const list = useList('GET /admin/credits', newestFirst);
  return renderTable({
    name: 'Credit and corrections',
    columns: creditColumns,
    ...list,
    tools: renderAction('Record a chargeback', openChargeback, 'POST /admin/chargebacks'),
    empty: 'No credit was added yet.',
  });
}

export function Page({ place: { query } }: { readonly place: Place }) {
  const { choice, render } = chooseView(bindQuery('show', 'actions'), [
    ['actions', 'Operators', () => html`<${Actions} query=${query} />`],
    ['warnings', 'Budget warnings', () => html`<${Warnings} />`],
    ['credits', 'Credit and corrections', () => html`<${Credits} />`],
  ]);
  return html`${renderHead('Activity', choice)} ${render()}`;
}
