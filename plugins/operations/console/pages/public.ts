/**
 * The page for key holders: what this gateway is, its base URLs, and its models. With a key, which stays
 * in the memory of the page, it shows the key's balance, limits, usage and calls, and makes calls.
 */
import type { OwnKey } from '../../../shared/replies/spending.ts';
import {
  call,
  reload,
  useData,
  type Loaded,
  type Facts,
  type List,
  type ListedModel,
  useList,
} from './api.ts';
import { describePeriod, renderBudgets } from './budgets.ts';
import { buildCallColumns, buildUsageColumns } from './call-columns.ts';
import { ClientSettings } from './client-settings.ts';
import { chooseView, renderForm } from './form.ts';
import {
  formatShort,
  formatCount,
  renderTime,
  formatDollars,
  formatUsd,
  parseUsd,
  renderUsd,
} from './format.ts';
import { invitation, Invitation } from './invitation.ts';
import { keepFocus, switchTheme, theme } from './kept.ts';
import { html, place, render, useSignal } from './kit.ts';
import { OwnCallPage, UsageChart } from './own-key.ts';
import { OwnKeys } from './own-keys.ts';
import { Dialog, renderCode, renderProblem, renderFacts, renderHead, renderTiles } from './parts.ts';
import type { CallPlace } from './playground-run.ts';
import { playgroundKey as key, forgetWork, Stage } from './playground.ts';
import type { SecretPlace } from './secrets.ts';
import { buildColumn, type Column, renderTable } from './table.ts';

const ownUsage: readonly Column<OwnKey['usage']['data'][number]>[] = [
  ...buildUsageColumns(),
  buildColumn('Errors', 'errors', 'count'),
];
const ownCalls = buildCallColumns(true);

/** What new calls can cost, and what limits it: the account, the cap or the budget that leaves the least. */
function findAvailable({ balance, limits, budgets }: OwnKey): readonly [amount: string, limit: string] {
  const all: readonly (readonly [string, string])[] = [
    ...(limits.spend_cap === null || limits.spend_left === null
      ? []
      : [[limits.spend_left, 'left of the spend cap'] as const]),
    ...budgets
      .filter(({ hard }) => hard)
      .map(
        (budget) => [budget.left, `left of the ${budget.scope}'s budget ${describePeriod(budget)}`] as const,
      ),
    // What an account that pays later can pay is what one of the budgets leaves, which is named then.
    [balance.available, 'for new calls'],
  ];
  return all.reduce((least, each) => (parseUsd(each[0]) < parseUsd(least[0]) ? each : least));
}

function renderLimits({ account, limits }: OwnKey) {
  const { spend_cap, models, expires, calls_per_minute } = limits;
  return renderFacts([
    ['Account', account],
    ['Spend cap', spend_cap === null ? 'none' : renderUsd(spend_cap)],
    ['Models', models?.join(', ') ?? 'all'],
    ['Expires', expires ? renderTime(expires) : 'never'],
    ['Calls per minute', calls_per_minute === null ? 'no limit' : formatCount(calls_per_minute)],
    ['Networks', limits.networks?.join(', ')],
    ['Protocols', limits.protocols?.join(', ')],
    ['Operations', limits.operations?.join(', ')],
  ]);
}

function KeyView({ apiKey }: { readonly apiKey: string }) {
  const { data: own, error } = useData('GET /v1/key', undefined, { key: apiKey });
  const calls = useList('GET /v1/calls', undefined, { key: apiKey });
  const { balance, limits } = own ?? {};
  const [available, limit] = own ? findAvailable(own) : [];
  const title = `${own?.name ?? ''} …${own?.last_four ?? ''}`;
  const budgets = own?.budgets.map((each) => ({ ...each, key_name: each.scope === 'key' ? title : '' }));
  return html`${renderProblem(error)}
    ${renderTiles(
      ['Available', renderUsd(available), limit],
      ['Reserved', renderUsd(balance?.pending), 'by running calls'],
      ['Spent by the account', renderUsd(balance?.used)],
      [
        'Spent by this key',
        renderUsd(limits?.spend_used),
        limits?.spend_left ? html`${renderUsd(limits.spend_left)} left` : 'no cap',
      ],
    )}
    <section class="card">
      ${renderHead(`Key ${title}`, html`<button onClick=${reload}>Reload</button>`, 'h2')}
      ${own && renderLimits(own)}
    </section>
    <h2>Budgets</h2>
    ${budgets && renderBudgets(budgets)}
    <h2>Usage</h2>
    ${own && own.usage.data.length > 0 && html`<${UsageChart} usage=${own.usage} />`}
    ${renderTable({
      name: 'Usage',
      columns: ownUsage,
      rows: own?.usage.data ?? (error && []),
      empty: !error && 'No calls in the last 30 days.',
    })}
    <h2>Calls</h2>
    ${renderTable({
      name: 'My calls',
      columns: ownCalls,
      ...calls,
      getKey: ({ id }) => id,
      empty: 'This key has not made any calls yet.',
    })}`;
}

/** USD per token, with up to 15 places, as USD per million tokens: exact. */
function toPerMillion(perToken: string | undefined): string | null {
  if (perToken === undefined || !/^\d+(\.\d+)?$/.test(perToken)) return null;
  const [whole = '0', fraction = ''] = perToken.split('.');
  return formatUsd(BigInt(whole + fraction.padEnd(15, '0').slice(0, 15)));
}

/** Whether a model writes text; one that says nothing does. */
function writesText({ architecture }: ListedModel): boolean {
  return architecture?.output_modalities?.includes('text') ?? true;
}

const buildPriceColumn = (title: string, kind: string): Column<ListedModel> =>
  buildColumn(title, ({ pricing }) => toPerMillion(pricing?.[kind]), 'amount');

const fees = [
  ['image', 'picture'],
  ['request', 'request'],
  ['web_search', 'search'],
] as const;

/** What is charged apart from tokens. */
function listFees({ pricing }: ListedModel): string {
  return fees
    .flatMap(([kind, unit]) => {
      const fee = pricing?.[kind];
      return fee === undefined ? [] : [`${formatDollars(fee)} a ${unit}`];
    })
    .join(', ');
}

const columns: readonly Column<ListedModel>[] = [
  buildColumn('Model', 'id'),
  buildColumn('Name', 'name'),
  buildPriceColumn('Input', 'prompt'),
  buildPriceColumn('Cached', 'input_cache_read'),
  buildPriceColumn('Output', 'completion'),
  buildColumn('Fees', listFees, (model) => html`<span class="nowrap">${listFees(model)}</span>`),
  buildColumn(
    'Context',
    'context_length',
    ({ context_length: tokens }) => formatShort(tokens ?? 0),
    'figure',
  ),
  buildColumn(
    'Input → output',
    ({ architecture: { input_modalities: takes, output_modalities: makes } = {} }) =>
      `${takes?.join(', ') ?? ''} → ${makes?.join(', ') ?? ''}`,
  ),
];

function renderModels({ data, error }: Loaded<List<ListedModel>>) {
  const empty = 'No models are available.';
  return html`<p class="dim">Prices are in USD per million tokens; fees come on top.</p>
    ${renderTable({
      name: 'Models',
      columns,
      rows: data?.data,
      error,
      getKey: ({ id }) => id,
      empty,
    })}`;
}

interface Offer {
  readonly facts: Facts;
  /** Where clients reach this listener. */
  readonly url: string;
  readonly listing: Loaded<List<ListedModel>>;
}

function renderAddresses({ facts, url, listing }: Offer) {
  const { models } = getSecretPlace({ facts, url, listing });
  const apiKey = key.value || '<your key>';
  /** The address of a client, with all protocols that it speaks there. */
  const renderAddress = (same: Facts['addresses']) =>
    html`<h3>
        ${same[0]?.client} <span class="dim">${same.map(({ protocol }) => protocol).join(', ')}</span>
      </h3>
      ${renderCode(url + (same[0]?.path ?? ''))}`;
  return html`<section class="card">
    <h2>Base URLs</h2>
    <p class="dim">
      Any client reaches any model. Set the base address of its SDK, and send your key as it sends its own.
    </p>
    ${[...Map.groupBy(facts.addresses, ({ client, path }) => `${client} ${path}`).values()].map(
      renderAddress,
    )}
    <details>
      <summary>Settings for clients</summary>
      <${ClientSettings} facts=${facts} base=${url} apiKey=${apiKey} models=${models} />
    </details>
  </section>`;
}

function renderKeyForm() {
  return html`<section class="card key-form">
    <h2>Your key</h2>
    <p class="dim">It stays in this page and is forgotten when you close or reload it.</p>
    ${renderForm({
      fields: [{ name: 'key', label: 'API key', type: 'password', isRequired: true, placeholder: 'sk-…' }],
      submit: 'Show my usage',
      async send({ key: typed }) {
        await call('GET /v1/key', {}, undefined, String(typed));
        key.value = String(typed);
      },
    })}
  </section>`;
}

const switchKey = (secret: string): void => void (key.value = secret);

function getSecretPlace({ facts, url, listing }: Offer): SecretPlace {
  return { facts, url, models: listing.data?.data.filter(writesText).map(({ id }) => id) ?? [] };
}

function Holder(offer: Offer) {
  const { facts, url, listing } = offer;
  const view = useSignal<string>('key');
  const playable = listing.data?.data.map(({ id, pricing, architecture }) => ({
    id,
    makes: architecture?.output_modalities,
    input: toPerMillion(pricing?.['prompt']),
    output: toPerMillion(pricing?.['completion']),
  }));
  const at: CallPlace = {
    base: '',
    find: (id) => call('GET /v1/calls/:id', { id }, undefined, key.value),
  };
  const secretPlace = getSecretPlace(offer);
  const [section, id] = place.value.path;
  if (section === 'calls' && id !== undefined) return html`<${OwnCallPage} id=${id} apiKey=${key.value} />`;
  const { choice, render } = chooseView(view, [
    ['key', 'My key', () => html`<${KeyView} apiKey=${key.value} />`],
    [
      'keys',
      'My keys',
      () => html`<${OwnKeys} ...${{ apiKey: key.value, place: secretPlace, switchKey }} />`,
    ],
    [
      'playground',
      'Playground',
      () => html`<${Stage} facts=${facts} url=${url} models=${playable} at=${at} />`,
    ],
    ['models', 'Models', () => renderModels(listing)],
    ['addresses', 'Addresses', () => renderAddresses(offer)],
  ]);
  return html`<p>${choice}</p>
    ${render()}`;
}

function Public() {
  const { data: facts, error } = useData('GET /console/facts');
  const listing = useData('GET /v1/models', undefined, { key: key.value });
  const offer = facts && { facts, url: facts.url ?? window.location.origin, listing };
  const place = offer && getSecretPlace(offer);
  const stranger = html`<div class="columns">${renderKeyForm()} ${offer && renderAddresses(offer)}</div>
    <h2>Models and prices</h2>
    ${renderModels(listing)}`;
  return html`<main class="public" tabindex="-1">
      <header class="head">
        <h1>Tollgate</h1>
        <div class="actions">
          <button class="quiet" onClick=${switchTheme}>Theme: ${theme}</button>
          ${key.value !== '' && html`<button onClick=${forgetWork}>Sign out</button>`}
        </div>
      </header>
      <p class="dim">
        A gateway to models of many providers: one key, one balance, the client you already use.
      </p>
      ${renderProblem(error)}
      ${invitation.value !== '' && html`<${Invitation} place=${place} start=${switchKey} />`}
      ${key.value === '' ? stranger : offer && html`<${Holder} ...${offer} />`}
    </main>
    <${Dialog} />`;
}

keepFocus();
const root = document.getElementById('app');
root?.replaceChildren();
if (root) render(html`<${Public} />`, root);
