/**
 * The page of a member's keys, opened with one of them: the list, and what the team lets the member do. The
 * page shows a new secret once.
 */
import type { NewKey, OwnKeys as Reply } from '../../../shared/replies/accounts.ts';
import { call, reload, useData, type Facts } from './api.ts';
import { ClientSettings } from './client-settings.ts';
import { renderForm, splitWords } from './form.ts';
import { formatThings } from './format.ts';
import { getState } from './keys.ts';
import { html, useSignal, type Signal } from './kit.ts';
import { renderBadge, renderCode, renderProblem, renderState, runAction } from './parts.ts';
import { buildColumn, type Column, renderTable } from './table.ts';

type OwnKey = Reply['data'][number];

/** Where clients reach the gateway, and models for their settings. */
export interface SecretPlace {
  readonly facts: Facts;
  readonly url: string;
  readonly models: readonly string[];
}

/** A new secret, which no later page can show. */
export function renderSecret({ key }: Pick<NewKey, 'key'>, { facts, url, models }: SecretPlace) {
  return html`<section class="card">
    <h2>Copy the secret now</h2>
    <p class="dim">It will not be shown again: the gateway stores only its hash.</p>
    <div class="secret">${renderCode(key, 'Copy secret')}</div>
    <h3>Settings for clients</h3>
    <${ClientSettings} facts=${facts} base=${url} apiKey=${key} models=${models} />
  </section>`;
}

const columns: readonly Column<OwnKey>[] = [
  buildColumn(
    'Key',
    ({ name, lastFour }) => `${name} …${lastFour}`,
    ({ name, lastFour, current }) =>
      html`${name || html`<span class="dim">unnamed</span>`} <span class="mono dim">…${lastFour}</span> ${
          current && renderBadge('this key')
        }`,
  ),
  buildColumn('State', getState, (key) => renderState(getState(key))),
  buildColumn('Spent', 'used', 'amount'),
  buildColumn('Spend cap', ({ limits }) => limits.spendCap, 'amount'),
  buildColumn('Models', ({ limits }) => limits.models?.join(', ') ?? 'all'),
  buildColumn('Expires', ({ limits }) => limits.expires, 'time'),
];

interface Props extends SecretPlace {
  readonly apiKey: string;
  /** Goes on with another secret, since this one ended. */
  switchKey(secret: string): void;
}

/** Asks once more before it acts, in the row. */
function renderSteps(
  id: string,
  asked: Signal<string>,
  acts: Readonly<Record<string, () => Promise<unknown>>>,
) {
  return Object.entries(acts).map(([title, act]) => {
    const name = `${title} ${id}`;
    const askOrAct = (): void => {
      if (asked.value !== name) return void (asked.value = name);
      asked.value = '';
      void runAction(act);
    };
    const isAsked = asked.value === name;
    return html`<button class=${isAsked ? 'danger' : 'quiet'} onClick=${askOrAct}>
      ${isAsked ? `${title}: the secret stops now` : title}
    </button> `;
  });
}

export function OwnKeys({ apiKey, switchKey, ...place }: Props) {
  const { data, error } = useData('GET /v1/keys', undefined, { key: apiKey });
  const made = useSignal<NewKey | undefined>(undefined);
  const asked = useSignal('');
  const { allowed = null, data: keys } = data ?? {};
  const show = (key: NewKey): void => {
    made.value = key;
    reload();
  };
  const rotate = async ({ id, current }: OwnKey): Promise<void> => {
    const next = await call('POST /v1/keys/:key/rotate', { key: id }, {}, apiKey);
    if (current) switchKey(next.key);
    show(next);
  };
  const revoke = async ({ id, current }: OwnKey): Promise<void> => {
    await call('DELETE /v1/keys/:key', { key: id }, undefined, apiKey);
    if (current) switchKey('');
    else reload();
  };
  const actions = buildColumn<OwnKey>('', undefined, (key) =>
    key.rotatedTo === null
      ? renderSteps(key.id, asked, { Rotate: () => rotate(key), Revoke: () => revoke(key) })
      : null,
  );
  if (error) return renderProblem(error);
  return html`${made.value && renderSecret(made.value, place)}
  ${renderTable({
    name: 'My keys',
    columns: allowed ? [...columns, actions] : columns,
    // A key that was replaced and works no more is of no use.
    rows: keys?.filter((key) => key.rotatedTo === null || getState(key) !== 'expired'),
    getKey: ({ id }) => id,
    empty: 'No keys.',
  })}
  ${
    allowed
      ? html`<details class="card">
          <summary>New key</summary>
          <p class="dim">Your team lets you have ${formatThings(allowed.most, 'key')}.</p>
          ${renderForm({
            fields: [
              { name: 'name', label: 'Name', placeholder: 'laptop' },
              {
                name: 'spendCap',
                label: 'Spend cap in USD',
                placeholder: allowed.spendCap ?? '',
                hint: 'Leave empty for the most that your team allows.',
              },
              { name: 'models', label: 'Models', placeholder: allowed.models?.join(', ') ?? '' },
            ],
            submit: 'Create key',
            async send({ name, spendCap, models }) {
              const limits = { spendCap, models: models === undefined ? undefined : splitWords(models) };
              show(await call('POST /v1/keys', {}, { name, limits }, apiKey));
            },
          })}
        </details>`
      : html`<p class="dim">Your team does not let you make keys. Ask an operator for one.</p>`
  }`;
}
