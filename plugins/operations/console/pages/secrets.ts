/** Secrets in a dialog that shows them once, and the settings of clients that hold a new key. */
import type { NewKey } from '../../../shared/replies/accounts.ts';
import type { Facts } from './api.ts';
import { ClientSettings } from './client-settings.ts';
import { type ComponentChildren, html, openDialog } from './kit.ts';
import { renderCode } from './parts.ts';

/** Where clients reach the gateway, and models for their settings. */
export interface SecretPlace {
  readonly facts: Facts;
  readonly url: string;
  readonly models: readonly string[];
}

type Secret = readonly [name: string, secret: string];

/** Shows secrets, each with what it is for, which no later page can show. */
export function openSecrets(
  title: string,
  about: string,
  secrets: readonly Secret[],
  more?: ComponentChildren,
): void {
  const renderSecret = ([name, secret]: Secret) =>
    html`${name !== '' && html`<h3>${name}</h3>`}
      <div class="secret">${renderCode(secret, 'Copy secret')}</div>`;
  openDialog(
    title,
    html`<p>${about}</p>
      ${secrets.map(renderSecret)} ${more}`,
  );
}

/** Shows a new key. `place` is missing if it could not be loaded, or if the key calls no models. */
export function openNewSecret({ key, warning }: NewKey, place: SecretPlace | undefined): void {
  const settings =
    place &&
    html`<h3>Settings for clients</h3>
      <${ClientSettings} facts=${place.facts} base=${place.url} apiKey=${key} models=${place.models} />`;
  const hint = warning && html`<p class="hint">${warning}</p>`;
  const about = 'Copy it now: it will not be shown again. The gateway stores only its hash.';
  openSecrets('Copy the secret now', about, [['', key]], html`${hint} ${settings}`);
}
