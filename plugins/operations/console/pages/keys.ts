/** Keys in a table, and the dialogs that create, limit and rotate them and show a new secret once. */
import type { Key, NewKey } from '../../../shared/replies/accounts.ts';
import type { Model } from '../../../shared/replies/models.ts';
import { call, largestPage, session, useList } from './api.ts';
import { getPublicUrl } from './client-settings.ts';
import { openForm, type Field } from './form.ts';
import { renderTime } from './format.ts';
import { html, buildHref, useMemo } from './kit.ts';
import { runAction, renderAccounts, renderBadge, renderState, confirmAction, type Action } from './parts.ts';
import { openNewSecret } from './secrets.ts';
import { buildActions, buildColumn, type Column, renderTable } from './table.ts';

const listHint = 'Leave empty for all.';

export const spendCapField: Field = {
  name: 'spendCap',
  label: 'Spend cap in USD',
  hint: 'The most the key may ever spend. Leave empty for no cap.',
};
export const modelsField: Field = {
  name: 'models',
  label: 'Models',
  type: 'words',
  placeholder: 'openai/*, anthropic/claude-sonnet-5',
  hint: 'Model ids, or prefixes such as openai/*. Leave empty for all models.',
};
/** Limits of operator keys, which spend nothing. */
const accessFields: readonly Field[] = [
  {
    name: 'networks',
    label: 'Networks',
    type: 'words',
    placeholder: '203.0.113.0/24, 2001:db8::/32',
    hint: `Addresses that it may be used from. ${listHint}`,
  },
  {
    name: 'expires',
    label: 'Expires',
    type: 'datetime-local',
    hint: 'Local time. Leave empty for a key that never expires.',
  },
];
const limitFields: readonly Field[] = [
  spendCapField,
  modelsField,
  {
    name: 'callsPerMinute',
    label: 'Calls per minute',
    type: 'number',
    hint: 'Leave empty for no limit.',
  },
  {
    name: 'protocols',
    label: 'Protocols',
    type: 'words',
    placeholder: 'chat-completions, messages',
    hint: `Protocols of its clients. ${listHint}`,
  },
  {
    name: 'operations',
    label: 'Operations',
    type: 'words',
    placeholder: 'generate, count, models',
    hint: `Of generate, edit, count, compact, models and stored. ${listHint}`,
  },
  ...accessFields,
];
const tagsField: Field = {
  name: 'tags',
  label: 'Tags',
  type: 'words',
  placeholder: 'team:search, research',
  hint: 'Added to every call of the key, for budgets and the overview.',
};

/** Models that a key may call and that write text. Without a list of models on offer there are none. */
async function listModels({ limits }: NewKey): Promise<string[]> {
  const offered: { readonly data: readonly Pick<Model, 'id' | 'output'>[] } = await call(
    'GET /admin/models',
  ).catch(() => ({ data: (limits.models ?? []).map((id) => ({ id, output: ['text'] })) }));
  const isAllowed = (id: string): boolean =>
    limits.models?.some((pattern) =>
      pattern.endsWith('*') ? id.startsWith(pattern.slice(0, -1)) : id === pattern,
    ) ?? true;
  return offered.data
    .filter(({ id, output }) => !id.endsWith('*') && output.includes('text') && isAllowed(id))
    .map(({ id }) => id);
}

async function showSecret(made: NewKey): Promise<void> {
  const asked = made.kind === 'user' ? call('GET /console/facts') : undefined;
  // The secret is shown whatever happens to the settings.
  const facts = await asked?.catch(() => undefined);
  openNewSecret(made, facts && { facts, url: getPublicUrl(facts), models: await listModels(made) });
}

const accountField: Field = {
  name: 'account',
  label: 'Account',
  isRequired: true,
  hint: 'Created if it does not exist.',
};

export function openNewKey(account?: string): void {
  openForm({
    title: 'Create a key',
    fields: [
      ...(account === undefined ? [accountField] : []),
      { name: 'name', label: 'Name', placeholder: 'laptop', hint: 'Helps you tell your keys apart.' },
      {
        name: 'credit',
        label: 'Credit to add in USD',
        hint: 'Optional. Added to the balance of the account.',
      },
      ...limitFields,
      tagsField,
    ],
    submit: 'Create key',
    async send({ account: typed, name, credit, tags, ...limits }) {
      const order = { account: account ?? typed, name, credit, limits, tags };
      await showSecret(await call('POST /admin/keys', {}, order));
    },
  });
}

export function openNewOperatorKey(): void {
  openForm({
    title: 'Create an operator key',
    intro: 'It gives access to this console and the admin API. It cannot call models or spend credit.',
    fields: [
      { name: 'name', label: 'Name', hint: 'Who uses the key.' },
      {
        name: 'readOnly',
        label: 'May only read',
        type: 'checkbox',
        hint: 'Can see everything and change nothing.',
      },
      ...accessFields,
    ],
    submit: 'Create key',
    async send({ name, readOnly, ...limits }) {
      await showSecret(await call('POST /admin/keys', {}, { kind: 'operator', name, limits, readOnly }));
    },
  });
}

function openLimits(key: Key): void {
  openForm({
    title: `Change the key …${key.lastFour}`,
    fields: [
      { name: 'name', label: 'Name' },
      ...(key.kind === 'user' ? [...limitFields, tagsField] : accessFields),
    ],
    values: { ...key, ...key.limits },
    submit: 'Save',
    send(_, { name, tags, ...changed }) {
      const limits = Object.keys(changed).length > 0 ? changed : undefined;
      const order = { name: name === null ? '' : name, limits, tags: tags === null ? [] : tags };
      return call('PATCH /admin/keys/:key', { key: key.id }, order);
    },
  });
}

/** The first is chosen unless another one is: a secret that leaked must not work for another day. */
const overlaps = [
  ['0', 'Leaked: stop the old one now'],
  ['3600', 'Planned: keep it for an hour'],
  ['86400', 'Planned: keep it for a day'],
  ['604800', 'Planned: keep it for 7 days'],
  ['2592000', 'Planned: keep it for 30 days'],
] as const;

function openRotation(key: Key): void {
  openForm({
    title: `Rotate the key …${key.lastFour}`,
    intro: 'A new secret takes over the account, the limits and the spending of this one.',
    fields: [{ name: 'overlap', label: 'The old secret', type: 'select', options: overlaps }],
    submit: 'Rotate',
    async send({ overlap }) {
      const order = { overlap: Number(overlap) };
      await showSecret(await call('POST /admin/keys/:key/rotate', { key: key.id }, order));
    },
  });
}

const setDisabled = (key: string, disabled: boolean) => call('PATCH /admin/keys/:key', { key }, { disabled });

export function confirmDisable({ id, lastFour }: Pick<Key, 'id' | 'lastFour'>): void {
  confirmAction({
    title: `Disable the key …${lastFour}?`,
    text: 'Calls with this key are refused within a second. Running calls finish. You can enable it again.',
    button: 'Disable',
    done: 'The key is disabled.',
    act: () => setDisabled(id, true),
  });
}

function listActions(key: Key): readonly Action[] {
  const { role = 'owner' } = session.value ?? {};
  // An operator key has the rights of an owner.
  if (key.kind === 'operator' && role !== 'owner') return [];
  const remove = (): void =>
    confirmAction({
      title: `Delete the key …${key.lastFour}?`,
      text: 'Its calls are refused within a second, and it is no longer listed. Its calls and entries stay.',
      button: 'Delete',
      done: 'The key is deleted.',
      act: () => call('DELETE /admin/keys/:key', { key: key.id }),
    });
  const allow = (): void => void runAction(() => setDisabled(key.id, false), 'The key works again.');
  const change = 'PATCH /admin/keys/:key';
  const rotation: Action = ['Rotate', () => openRotation(key), 'POST /admin/keys/:key/rotate'];
  return [
    ['Change', () => openLimits(key), change],
    ...(key.rotatedTo === null ? [rotation] : []),
    key.disabled ? ['Enable', allow, change] : ['Disable', () => confirmDisable(key), change],
    ['Delete', remove, 'DELETE /admin/keys/:key'],
  ];
}

export function getState({ disabled, rotatedTo, limits: { expires } }: Key): string {
  if (disabled) return 'disabled';
  if (expires !== null && Date.parse(expires) <= Date.now()) return 'expired';
  return rotatedTo === null ? 'active' : 'replaced';
}

/** What a key may spend and call; operator keys do neither. */
const spending: readonly Column<Key>[] = [
  buildColumn('Spent', 'used', 'amount'),
  buildColumn('Spend cap', ({ limits }) => limits.spendCap, 'amount'),
  buildColumn('Models', ({ limits }) => limits.models?.join(', ') ?? 'all'),
  buildColumn('Calls per minute', ({ limits }) => limits.callsPerMinute, 'count'),
];

const lastUse: Column<Key> = buildColumn(
  'Last used, made',
  ({ lastUsed }) => lastUsed ?? null,
  ({ lastUsed, created }) =>
    html`${renderTime(lastUsed, 'brief')}<br /><span class="dim">${renderTime(created, 'brief')}</span>`,
);

interface KeysProps {
  readonly kind: Key['kind'];
  /** Whose they are; all keys unless given. */
  readonly account?: string | undefined;
}

function buildColumns({ kind, account: owner }: KeysProps): Column<Key>[] {
  const account = buildColumn<Key>(
    'Account',
    (key) => key.account,
    ({ account: name }) => name && renderAccounts([name]),
  );
  return [
    buildColumn(
      'Key',
      ({ id, name, lastFour, tags }) => [name, id, `…${lastFour}`, ...tags].join(' ').trim(),
      ({ id, name, lastFour, tags }) =>
        html`<a href=${buildHref('calls', { key: id })}>${name || 'unnamed'}</a>${' '}<span
            class="mono dim nowrap"
            >…${lastFour}</span
          ><br /><span class="mono dim nowrap">${id}</span>${
            tags.length > 0 && html`<br />${tags.map((tag) => html`${renderBadge(tag)} `)}`
          }`,
    ),
    ...(kind === 'user' && owner === undefined ? [account] : []),
    buildColumn(
      'State',
      getState,
      (key) => html`${renderState(getState(key))} ${key.readOnly && html` ${renderBadge('read only')}`}`,
    ),
    ...(kind === 'operator' ? [] : spending),
    buildColumn('Expires', ({ limits }) => limits.expires, 'time'),
    kind === 'operator' ? buildColumn<Key>('Created', 'created', 'time') : lastUse,
    buildActions(({ name, id }) => `the key ${name || id}`, listActions),
  ];
}

export function Keys({ kind, account }: KeysProps) {
  const keys = useList('GET /admin/keys', { kind, account, limit: largestPage });
  const [name, empty] =
    kind === 'operator'
      ? [
          'Operator keys',
          'No operator keys yet. They open this console and the admin API. A read-only one changes nothing.',
        ]
      : ['Keys', 'No keys yet. A key lets a program call models and spends from an account.'];
  return renderTable({
    name,
    ...keys,
    columns: useMemo(() => buildColumns({ kind, account }), [kind, account]),
    getKey: ({ id }) => id,
    getClass: (key) => (getState(key) === 'active' ? undefined : 'off'),
    empty,
  });
}
