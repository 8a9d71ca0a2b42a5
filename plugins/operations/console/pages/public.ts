/**
 * The page for key holders: what this gateway is, where its clients point, and what it offers. With a key,
 * which stays in the memory of the page, it shows the key's balance, limits, usage and calls, and makes
 * calls.
 */
import { send, useData } from './api.ts';
import { ClientSettings, type Facts } from './client-settings.ts';
import { choice } from './controls.ts';
import { form } from './form.ts';
import { html, render, useSignal } from './kit.ts';
import { offeredModels, perMillion, writesText, type ListedModel } from './offered-models.ts';
import { KeyView } from './own-key.ts';
import { code, noticeLine, problem } from './parts.ts';
import { playgroundKey as key } from './playground-key.ts';
import type { CallPlace } from './playground-run.ts';
import { Stage } from './playground.ts';
import { nextTheme, theme } from './theme.ts';

interface Offer {
  readonly facts: Facts;
  /** Where clients reach this listener. */
  readonly url: string;
  readonly models: readonly ListedModel[] | undefined;
}

function addresses({ facts, url, models = [] }: Offer) {
  const texts = models.filter(writesText).map(({ id }) => id);
  const apiKey = key.value || '<your key>';
  return html`<section class="card">
    <h2>Where your client points</h2>
    <p class="dim">
      Any client reaches any model. Set the base address of its SDK, and send your key as it sends its own.
    </p>
    ${facts.addresses.map(
      ({ client, path }) =>
        html`<h3>${client}</h3>
          ${code(url + path)}`,
    )}
    <details>
      <summary>Settings for clients</summary>
      <${ClientSettings} facts=${facts} base=${url} apiKey=${apiKey} models=${texts} />
    </details>
  </section>`;
}

function keyForm() {
  return html`<section class="card key-form">
    <h2>Your key</h2>
    <p class="dim">It stays in this page and is forgotten when you close or reload it.</p>
    ${form({
      fields: [{ name: 'key', label: 'API key', type: 'password', isRequired: true, placeholder: 'sk-…' }],
      submit: 'Show what is mine',
      async send({ key: typed = '' }) {
        await send('/v1/key', { headers: { authorization: `Bearer ${typed}` } });
        key.value = typed;
      },
    })}
  </section>`;
}

const views = [
  ['key', 'My key'],
  ['playground', 'Playground'],
  ['models', 'Models'],
  ['addresses', 'Addresses'],
] as const;

function Holder({ facts, url, models }: Offer) {
  const view = useSignal<string>('key');
  const playable = models?.map(({ id, pricing }) => ({
    id,
    input: perMillion(pricing?.['prompt']),
    output: perMillion(pricing?.['completion']),
  }));
  const headers = { authorization: `Bearer ${key.value}` };
  const at: CallPlace = {
    base: '',
    find: async (id) => (await send(`/v1/calls/${encodeURIComponent(id)}`, { headers })).json(),
  };
  const shown = {
    key: () => html`<${KeyView} apiKey=${key.value} />`,
    playground: () => html`<${Stage} facts=${facts} url=${url} models=${playable} at=${at} />`,
    models: () => offeredModels(models),
    addresses: () => addresses({ facts, url, models }),
  }[view.value];
  return html`<div class="row start tabs">
      ${choice('Show', views, view)}
      <span class="space"></span>
      <button onClick=${() => (key.value = '')}>Forget the key</button>
    </div>
    ${shown?.()}`;
}

function Public() {
  const { data: facts, error } = useData<Facts>('/console/facts');
  const listing = useData<{ data: readonly ListedModel[] }>('/v1/models', undefined, { key: key.value });
  const models = listing.error ? [] : listing.data?.data;
  const offer = facts && { facts, url: facts.url ?? window.location.origin, models };
  const stranger = html`<div class="columns">${keyForm()} ${offer && addresses(offer)}</div>
    <h2>Models and prices</h2>
    ${offeredModels(models)}`;
  return html`<main class="public">
      <header class="head">
        <div>
          <h1>Tollgate</h1>
          <p class="dim">
            A gateway to models of many providers: one key, one balance, the client you already use.
          </p>
        </div>
        <button class="quiet" onClick=${nextTheme}>Theme: ${theme}</button>
      </header>
      ${problem(error ?? listing.error)}
      ${key.value === '' ? stranger : offer && html`<${Holder} ...${offer} />`}
    </main>
    ${noticeLine()}`;
}

const root = document.getElementById('app');
root?.replaceChildren();
if (root) render(html`<${Public} />`, root);
