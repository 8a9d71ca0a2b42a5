/** The page of a member's keys, opened with one of them: the list, and what the team lets the member do. */
import type { OwnKeys as Reply } from '../../../shared/replies/accounts.ts';
import { call, reload, useData } from './api.ts';
import { openForm } from './form.ts';
import { formatThings } from './format.ts';
import { getState, modelsField, spendCapField } from './keys.ts';
import { html } from './kit.ts';
import { confirmAction, renderBadge, renderState, type Action } from './parts.ts';
import { openNewSecret, type SecretPlace } from './secrets.ts';
import { buildActions, buildColumn, type Column, renderTable } from './table.ts';

type OwnKey = Reply['data'][number];

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

interface Props {
  readonly apiKey: string;
  readonly place: SecretPlace;
  /** Goes on with another secret, since this one ended. */
  switchKey(secret: string): void;
}

function listActions({ id, lastFour, current, rotatedTo }: OwnKey, props: Props): readonly Action[] {
  const { apiKey, place, switchKey } = props;
  const text = 'Its secret stops now.';
  const rotate = async (): Promise<void> => {
    const next = await call('POST /v1/keys/:key/rotate', { key: id }, {}, apiKey);
    if (current) switchKey(next.key);
    else reload();
    openNewSecret(next, place);
  };
  const revoke = async (): Promise<void> => {
    await call('DELETE /v1/keys/:key', { key: id }, undefined, apiKey);
    if (current) switchKey('');
    else reload();
  };
  const confirm = (button: string, act: () => Promise<void>): Action => [
    button,
    () => confirmAction({ title: `${button} the key …${lastFour}?`, text, button, act }),
  ];
  return rotatedTo === null ? [confirm('Rotate', rotate), confirm('Revoke', revoke)] : [];
}

function openNewKey({ apiKey, place }: Props, { most, spendCap, models }: NonNullable<Reply['allowed']>) {
  openForm({
    title: 'Create a key',
    intro: `Your team lets you have ${formatThings(most, 'key')}.`,
    fields: [
      { name: 'name', label: 'Name', placeholder: 'laptop' },
      {
        ...spendCapField,
        placeholder: spendCap ?? '',
        hint: 'Leave empty for the most that your team allows.',
      },
      { ...modelsField, placeholder: models?.join(', ') ?? '' },
    ],
    submit: 'Create key',
    async send({ name, ...limits }) {
      const made = await call('POST /v1/keys', {}, { name, limits }, apiKey);
      reload();
      openNewSecret(made, place);
    },
  });
}

export function OwnKeys(props: Props) {
  const { data, error } = useData('GET /v1/keys', undefined, { key: props.apiKey });
  const { allowed = null, data: keys } = data ?? {};
  const actions = buildActions<OwnKey>(
    ({ name, id }) => `the key ${name || id}`,
    (key) => listActions(key, props),
  );
  const create = allowed && html`<button onClick=${() => openNewKey(props, allowed)}>New key</button>`;
  const refusal = html`<span class="dim">Your team does not let you make keys. Ask an operator.</span>`;
  return renderTable({
    name: 'My keys',
    columns: allowed ? [...columns, actions] : columns,
    // A key that was replaced and works no more is of no use.
    rows: keys?.filter((key) => key.rotatedTo === null || getState(key) !== 'expired'),
    error,
    getKey: ({ id }) => id,
    tools: create ?? (data && refusal),
    empty: 'No keys.',
  });
}
