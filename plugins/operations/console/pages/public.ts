/**
 * The page for key holders: what this gateway is, where its clients point, and what it offers. With a key,
 * which stays in the memory of the page, it shows the key's balance, limits, usage and calls, and makes
 * calls.
 */
import { send } from './api.ts';
import { ClientSettings, type Facts } from './client-settings.ts';
import { Form } from './form.ts';
import { html, messageOf, notice, render, signal, useEffect, useSignal } from './kit.ts';
import { OfferedModels, type ListedModel } from './offered-models.ts';
import { KeyView } from './own-key.ts';
import { Choice, Code, Fault } from './parts.ts';
import { Playground } from './public-playground.ts';
import { nextTheme, theme } from './theme.ts';

/** In memory only: it is gone with the page. */
const key = signal('');

function useFetched<T>(path: string, withKey: string): { data: T | undefined; error: Error | undefined } {
  const data = useSignal<T | undefined>(undefined);
  const error = useSignal<Error | undefined>(undefined);
  useEffect(() => {
    const aborting = new AbortController();
    const headers: Record<string, string> = withKey === '' ? {} : { authorization: `Bearer ${withKey}` };
    send(path, { headers, signal: aborting.signal })
      .then((response) => response.json())
      .then(
        (body: T) => {
          data.value = body;
          error.value = undefined;
        },
        (fault: unknown) => {
          if (!aborting.signal.aborted)
            error.value = fault instanceof Error ? fault : new Error(String(fault));
        },
      );
    return () => aborting.abort();
  }, [path, withKey]);
  return { data: data.value, error: error.value };
}

function Addresses(props: { readonly facts: Facts; readonly models: readonly ListedModel[] | undefined }) {
  const { facts, models = [] } = props;
  const base = facts.url ?? window.location.origin;
  const texts = models.filter(({ architecture: a }) => a?.output_modalities?.includes('text') ?? true);
  return html`<section class="card">
    <h2>Where your client points</h2>
    <p class="dim">
      Any client reaches any model. Set the base address of its SDK, and send your key as it sends its own.
    </p>
    ${facts.addresses.map(
      ({ client, path }) =>
        html`<h3>${client}</h3>
          <${Code} text=${base + path} />`,
    )}
    <details>
      <summary>Settings for clients</summary>
      <${ClientSettings}
        facts=${facts}
        base=${base}
        apiKey=${key.value || '<your key>'}
        models=${texts.map(({ id }) => id)}
      />
    </details>
  </section>`;
}

function KeyForm() {
  return html`<section class="card key-form">
    <h2>Your key</h2>
    <p class="dim">It stays in this page and is forgotten when you close or reload it.</p>
    <${Form}
      fields=${[{ name: 'key', label: 'API key', type: 'password', isRequired: true, placeholder: 'sk-…' }]}
      submit="Show what is mine"
      onSubmit=${async ({ key: typed = '' }: { key: string }) => {
        await send('/v1/key', { headers: { authorization: `Bearer ${typed}` } });
        key.value = typed;
      }}
    />
  </section>`;
}

const views = [
  ['key', 'My key'],
  ['playground', 'Playground'],
  ['models', 'Models'],
  ['addresses', 'Addresses'],
] as const;

function Holder({
  facts,
  models,
}: {
  readonly facts: Facts | undefined;
  readonly models: readonly ListedModel[] | undefined;
}) {
  const view = useSignal<string>('key');
  return html`<div class="row start tabs">
      <${Choice}
        label="Show"
        options=${views}
        value=${view.value}
        onChange=${(next: string) => (view.value = next)}
      />
      <span class="space"></span>
      <button onClick=${() => (key.value = '')}>Forget the key</button>
    </div>
    ${view.value === 'key' && html`<${KeyView} apiKey=${key.value} />`}
    ${view.value === 'playground' && html`<${Playground} apiKey=${key.value} models=${models ?? []} />`}
    ${view.value === 'models' && html`<${OfferedModels} models=${models} />`}
    ${view.value === 'addresses' && facts && html`<${Addresses} facts=${facts} models=${models} />`}`;
}

function Public() {
  const facts = useFetched<Facts>('/console/facts', '');
  const listing = useFetched<{ data: readonly ListedModel[] }>('/v1/models', key.value);
  const models = listing.error ? [] : listing.data?.data;
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
      <${Fault} error=${facts.error ?? listing.error} />
      ${
        key.value === ''
          ? html`<div class="columns">
                <${KeyForm} />
                ${facts.data && html`<${Addresses} facts=${facts.data} models=${models} />`}
              </div>
              <h2>Models and prices</h2>
              <${OfferedModels} models=${models} />`
          : html`<${Holder} facts=${facts.data} models=${models} />`
      }
    </main>
    <div class=${`notice ${notice.value?.isError ? 'bad' : ''}`} role="status">${notice.value?.text}</div>`;
}

const root = document.getElementById('app');
try {
  root?.replaceChildren();
  if (root) render(html`<${Public} />`, root);
} catch (error) {
  if (root) root.textContent = messageOf(error);
}
