/**
 * The page for key holders: what this gateway is, its base URLs, and its models. With a key, which stays
 * in the memory of the page, it shows the key's balance, limits, usage and calls, and makes calls.
 */
import { send, useData, type Loaded } from './api.ts';
import { ClientSettings, type Facts } from './client-settings.ts';
import { chooseView } from './controls.ts';
import { keepFocus } from './focus.ts';
import { renderForm } from './form.ts';
import { html, render, useSignal } from './kit.ts';
import { renderModels, toPerMillion, writesText, type ModelListing } from './offered-models.ts';
import { KeyView } from './own-key.ts';
import { renderCode, renderNotice, renderProblem } from './parts.ts';
import { playgroundKey as key } from './playground-key.ts';
import type { CallPlace } from './playground-run.ts';
import { forgetWork, Stage } from './playground.ts';
import { switchTheme, theme } from './theme.ts';

interface Offer {
  readonly facts: Facts;
  /** Where clients reach this listener. */
  readonly url: string;
  readonly listing: Loaded<ModelListing>;
}

function renderAddresses({ facts, url, listing }: Offer) {
  const texts = listing.data?.data.filter(writesText).map(({ id }) => id) ?? [];
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
      <${ClientSettings} facts=${facts} base=${url} apiKey=${apiKey} models=${texts} />
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
      async send({ key: typed = '' }) {
        await send('/v1/key', { headers: { authorization: `Bearer ${typed}` } });
        key.value = typed;
      },
    })}
  </section>`;
}

function Holder(offer: Offer) {
  const { facts, url, listing } = offer;
  const view = useSignal<string>('key');
  const playable = listing.data?.data.map(({ id, pricing }) => ({
    id,
    input: toPerMillion(pricing?.['prompt']),
    output: toPerMillion(pricing?.['completion']),
  }));
  const headers = { authorization: `Bearer ${key.value}` };
  const at: CallPlace = {
    base: '',
    find: async (id) => (await send(`/v1/calls/${encodeURIComponent(id)}`, { headers })).json(),
  };
  const { choice, render } = chooseView(view, [
    ['key', 'My key', () => html`<${KeyView} apiKey=${key.value} />`],
    [
      'playground',
      'Playground',
      () => html`<${Stage} facts=${facts} url=${url} models=${playable} at=${at} />`,
    ],
    ['models', 'Models', () => renderModels(listing)],
    ['addresses', 'Addresses', () => renderAddresses(offer)],
  ]);
  const forget = (): void => {
    key.value = '';
    forgetWork();
  };
  return html`<div class="row start tabs">
      ${choice}
      <span class="space"></span>
      <button onClick=${forget}>Sign out</button>
    </div>
    ${render()}`;
}

function Public() {
  const { data: facts, error, reload } = useData('GET /console/facts');
  const listing = useData('GET /v1/models', undefined, { key: key.value });
  const offer = facts && { facts, url: facts.url ?? window.location.origin, listing };
  const stranger = html`<div class="columns">${renderKeyForm()} ${offer && renderAddresses(offer)}</div>
    <h2>Models and prices</h2>
    ${renderModels(listing)}`;
  return html`<main class="public" tabindex="-1">
      <header class="head">
        <div>
          <h1>Tollgate</h1>
          <p class="dim">
            A gateway to models of many providers: one key, one balance, the client you already use.
          </p>
        </div>
        <button class="quiet" onClick=${switchTheme}>Theme: ${theme}</button>
      </header>
      ${renderProblem(error, reload)}
      ${key.value === '' ? stranger : offer && html`<${Holder} ...${offer} />`}
    </main>
    ${renderNotice()}`;
}

keepFocus();
const root = document.getElementById('app');
root?.replaceChildren();
if (root) render(html`<${Public} />`, root);
