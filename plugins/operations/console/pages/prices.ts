/** Prices: changes of what vendors charge, with the date from which each holds, and markups above that. */
import type { Model } from '../../../shared/replies/models.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import { call, mayChange, useData, useList } from './api.ts';
import { bindQuery, bindState, chooseView, openForm, renderDialogForm, type Field } from './form.ts';
import { formatThings, nameRate, renderTime, renderUsd } from './format.ts';
import { buildHref, html, openDialog, useSignal } from './kit.ts';
import {
  confirmAction,
  renderAction,
  renderBadge,
  renderHead,
  runAction,
  type Action,
  type Tone,
} from './parts.ts';
import { NameInput } from './search.ts';
import { buildActions, buildColumn, type Column, renderTable } from './table.ts';

type Update = Replies['GET /admin/prices']['data'][number];
type Markup = Replies['GET /admin/markups']['data'][number];

/** The rates of the usual price, by the names that the API has for them. */
function listRates({ offers: [offer] }: Model): { readonly name: string; readonly rate: string }[] {
  return (offer?.price?.rates ?? []).map(({ unit, modality = '', rate }) => ({
    name: unit + modality.charAt(0).toUpperCase() + modality.slice(1),
    rate,
  }));
}

function buildRateFields(model: Model | undefined): Field[] {
  const rates = model ? listRates(model) : [{ name: 'input' }, { name: 'output' }];
  return rates.map(({ name }) => ({ name, label: `${nameRate({ unit: name })} in USD` }));
}

function PriceForm({ id = '' }: { readonly id?: string }) {
  const chosen = useSignal(id);
  const { data } = useData('GET /admin/models');
  const model = data?.data.find((each) => each.id === chosen.value);
  const from: Field = {
    name: 'from',
    label: 'Holds from',
    type: 'datetime-local',
    hint: 'Local time. Leave empty for now. Calls that run keep their price.',
  };
  const state = bindState(
    () => chosen.value,
    (text) => (chosen.value = text.trim()),
  );
  const rates = model && listRates(model).map(({ name, rate }) => [name, rate] as const);
  return html`<p>
      What the vendor charges, for a million tokens or for one of another unit. Markups come on top.
    </p>
    <p><${NameInput} label="Model" kind="model" state=${state} placeholder="openai/gpt-5.4" /></p>
    <div key=${model?.id}>
      ${renderDialogForm({
        fields: [...buildRateFields(model), from],
        values: Object.fromEntries(rates ?? []),
        submit: 'Change the price',
        send: (_, { from: at, ...changed }) =>
          call('POST /admin/prices', {}, { model: chosen.value, rates: changed, from: at }),
      })}
    </div>`;
}

export function openPrice(id?: string): void {
  openDialog('Change a price', html`<${PriceForm} id=${id} />`);
}

const tones: Readonly<Record<Update['state'], Tone>> = { applied: 'good', held: 'warn', undone: 'plain' };

function getState({ state, from }: Update): string {
  if (state === 'held') return 'waits for you';
  return state === 'applied' && Date.parse(from) > Date.now() ? 'to come' : state;
}

function renderFields({ fields }: Update) {
  const shown = fields
    .slice(0, 6)
    .map(
      ({ provider, model, field, old, new: now }) =>
        html`<div>
          ${model} <span class="dim">at ${provider}:</span> ${nameRate({ unit: field })}${' '}
          ${renderUsd(old)} → ${renderUsd(now)}
        </div>`,
    );
  const more = fields.length - shown.length;
  return html`${shown}${more > 0 && html`<span class="dim">and ${formatThings(more, 'other')}</span>`}`;
}

function renderUpdateActions(update: Update) {
  const { id, state } = update;
  if (!mayChange('POST /admin/prices/:update/undo') || state === 'undone') return null;
  const confirm = () => call('POST /admin/prices/:update/confirm', { update: id });
  const undo = () => call('POST /admin/prices/:update/undo', { update: id });
  return html`${
      state === 'held' &&
      html`<button onClick=${() => void runAction(confirm, 'The prices hold from now on.')}>Confirm</button>`
    }
    <button
      aria-label=${`Undo price change ${id}`}
      onClick=${() => void runAction(undo, state === 'held' ? 'Refused.' : 'The former prices hold again.')}
    >
      ${state === 'held' ? 'Refuse' : 'Undo'}
    </button>`;
}

const updateColumns: readonly Column<Update>[] = [
  buildColumn('Change', ({ fields }) => JSON.stringify(fields), renderFields, 'wide'),
  buildColumn('State', getState, (update) => renderBadge(getState(update), tones[update.state])),
  buildColumn('Holds from', 'from', ({ from }) => renderTime(from, 'brief')),
  buildColumn('Made', 'at', 'time'),
  buildColumn('By', 'by', ({ by, source }) => html`${by}<br /><span class="dim">${source}</span>`),
  buildColumn('Why held back', ({ reasons }) => reasons.join('; ')),
  buildColumn('', undefined, renderUpdateActions),
];

function Updates() {
  const { data, error } = useData('GET /admin/prices', undefined, { every: 30_000 });
  return renderTable({
    name: 'Price changes',
    columns: updateColumns,
    rows: data?.data.toReversed(),
    error,
    getKey: ({ id }) => String(id),
    empty: 'Prices are those of the catalogue: no operator has changed one.',
  });
}

const selectors = ['account', 'key', 'model'] as const;

const describeSubject = (markup: Markup): string =>
  selectors.flatMap((name) => (markup[name] === undefined ? [] : `${name} ${markup[name]}`)).join(', ') ||
  'all calls';

function openMarkup(markup: Markup = {}): void {
  const hints = {
    account: 'Leave empty for all.',
    key: 'An id or a name.',
    model: 'An id, or openai/* for all of openai.',
  };
  openForm({
    title: 'Set a markup',
    intro: 'What is charged above the vendor’s price. The most specific one holds: key, account, model.',
    fields: [
      { name: 'percent', label: 'Percent', hint: '10 is a tenth more, -10 a discount.' },
      { name: 'fixed', label: 'USD for each call' },
      ...selectors.map((name) => ({ name, label: `Only for the ${name}`, hint: hints[name] })),
    ],
    values: { ...markup },
    submit: 'Set the markup',
    send: (values) => call('POST /admin/markups', {}, values),
  });
}

function listActions(markup: Markup): readonly Action[] {
  const { account, key, model } = markup;
  const remove = (): void =>
    confirmAction({
      title: `Remove the markup of ${describeSubject(markup)}?`,
      text: 'Calls then cost what the vendor charges, or by a less specific markup.',
      button: 'Remove',
      act: () => call('DELETE /admin/markups', { account, key, model }),
    });
  return [
    ['Change', () => openMarkup(markup), 'POST /admin/markups'],
    ['Remove', remove, 'DELETE /admin/markups'],
  ];
}

const markupColumns: readonly Column<Markup>[] = [
  buildColumn('For', describeSubject, (markup) =>
    markup.account === undefined
      ? describeSubject(markup)
      : html`<a href=${buildHref(['accounts', markup.account])}>${describeSubject(markup)}</a>`,
  ),
  buildColumn(
    'Percent',
    ({ percent }) => percent,
    ({ percent }) => percent && `${percent} %`,
    'figure',
  ),
  buildColumn('Each call', ({ fixed }) => fixed, 'amount'),
  buildActions((markup) => `the markup of ${describeSubject(markup)}`, listActions),
];

function Markups() {
  return renderTable({
    name: 'Markups',
    columns: markupColumns,
    ...useList('GET /admin/markups'),
    getKey: describeSubject,
    empty: 'No markups: calls cost what the vendors charge, unless the configuration has some.',
  });
}

export function Page() {
  const { choice, render } = chooseView(bindQuery('show', 'changes'), [
    ['changes', 'Price changes', () => html`<${Updates} />`],
    ['markups', 'Markups', () => html`<${Markups} />`],
  ]);
  const tools = html`${renderAction('Set a markup', () => openMarkup(), 'POST /admin/markups')}
  ${renderAction('Change a price', () => openPrice(), 'POST /admin/prices', 'primary')}`;
  return html`${renderHead('Prices', tools)}
    <p>${choice}</p>
    ${render()}`;
}
