/** Keys in a table, and the dialogs that create, limit and rotate them and show a new secret once. */
import type { Key, NewKey } from '../../../shared/replies/accounts.ts';
import type { Model } from '../../../shared/replies/models.ts';
import { call, largestPage, mayChange, session, useList } from './api.ts';
import { ClientSettings, getPublicUrl } from './client-settings.ts';
import { toLocalTime, openForm, splitWords, type Field, type Values } from './form.ts';
import { renderTime } from './format.ts';
import { html, openDialog, buildHref, useMemo } from './kit.ts';
import { runAction, renderBadge, renderState, confirmAction, RowMenu, renderCode } from './parts.ts';
import { buildColumn, type Column, renderTable } from './table.ts';

function buildLimitFields(kind: Key['kind'], limits?: Key['limits']): Field[] {
  const expiry: Field = {
    name: 'expires',
    label: 'Expires',
    type: 'datetime-local',
    value: toLocalTime(limits?.expires),
    hint: 'Local time. Leave empty for a key that never expires.',
  };
  const networks: Field = {
    name: 'networks',
    label: 'Networks',
    value: limits?.networks?.join(', ') ?? '',
    placeholder: '203.0.113.0/24, 2001:db8::/32',
    hint: 'Addresses that it may be used from. Leave empty for all.',
  };
  if (kind === 'operator') return [expiry, networks];
  return [
    {
      name: 'spendCap',
      label: 'Spend cap in USD',
      value: limits?.spendCap ?? '',
      hint: 'The most the key may ever spend. Leave empty for no cap.',
    },
    {
      name: 'models',
      label: 'Models',
      value: limits?.models?.join(', ') ?? '',
      placeholder: 'openai/*, anthropic/claude-sonnet-5',
      hint: 'Model ids, or prefixes such as openai/*. Leave empty for all models.',
    },
    {
      name: 'callsPerMinute',
      label: 'Calls per minute',
      type: 'number',
      value: String(limits?.callsPerMinute ?? ''),
      hint: 'Leave empty for no limit.',
    },
    networks,
    {
      name: 'protocols',
      label: 'Protocols',
      value: limits?.protocols?.join(', ') ?? '',
      placeholder: 'chat-completions, messages',
      hint: 'Protocols of its clients. Leave empty for all.',
    },
    {
      name: 'operations',
      label: 'Operations',
      value: limits?.operations?.join(', ') ?? '',
      placeholder: 'generate, count, models',
      hint: 'Of generate, edit, count, compact, models and stored. Leave empty for all.',
    },
    expiry,
  ];
}

const buildTagField = (tags: readonly string[] = []): Field => ({
  name: 'tags',
  label: 'Tags',
  value: tags.join(', '),
  placeholder: 'team:search, research',
  hint: 'Added to every call of the key, for budgets and the overview.',
});

/** Limits in the API's form; null removes one. */
function readLimits(kind: Key['kind'], { spendCap, callsPerMinute, expires, ...lists }: Values) {
  const readList = (text: string | undefined): string[] | null => (text ? splitWords(text) : null);
  const usual = {
    expires: expires === undefined ? null : new Date(expires).toISOString(),
    networks: readList(lists['networks']),
  };
  if (kind === 'operator') return usual;
  return {
    ...usual,
    spendCap: spendCap ?? null,
    models: readList(lists['models']),
    protocols: readList(lists['protocols']),
    operations: readList(lists['operations']),
    callsPerMinute: callsPerMinute === undefined ? null : Number(callsPerMinute),
  };
}

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

/** The secret, which no later page can show, with settings that hold it. */
async function showSecret(made: NewKey): Promise<void> {
  const asked = made.kind === 'user' ? call('GET /console/facts') : undefined;
  // The secret is shown whatever happens to the settings.
  const facts = await asked?.catch(() => undefined);
  const models = facts ? await listModels(made) : [];
  openDialog(
    'Copy the secret now',
    html`<p>Copy it now: it will not be shown again. The gateway stores only its hash.</p>
      <div class="secret">${renderCode(made.key, 'Copy secret')}</div>
      ${made.warning && html`<p class="hint">${made.warning}</p>`}
      ${
        facts &&
        html`<h3>Settings for clients</h3>
          <${ClientSettings}
            facts=${facts}
            base=${getPublicUrl(facts)}
            apiKey=${made.key}
            models=${models}
          />`
      }`,
  );
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
      ...buildLimitFields('user'),
      buildTagField(),
    ],
    submit: 'Create key',
    async send({ account: typed, name, credit, tags, ...values }) {
      const limits = readLimits('user', values);
      const order = { account: account ?? typed, name, credit, limits, tags: splitWords(tags) };
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
      ...buildLimitFields('operator'),
    ],
    submit: 'Create key',
    async send({ name, readOnly, ...values }) {
      const limits = readLimits('operator', values);
      const order = { kind: 'operator', name, limits, readOnly: readOnly === 'on' };
      await showSecret(await call('POST /admin/keys', {}, order));
    },
  });
}

function openLimits(key: Key): void {
  const before: Readonly<Record<string, unknown>> = { ...key.limits };
  const isUser = key.kind === 'user';
  openForm({
    title: `Change the key …${key.lastFour}`,
    fields: [
      { name: 'name', label: 'Name', value: key.name },
      ...buildLimitFields(key.kind, key.limits),
      ...(isUser ? [buildTagField(key.tags)] : []),
    ],
    submit: 'Save',
    send({ name = '', tags, ...values }) {
      const { expires, ...others } = readLimits(key.kind, values);
      // The field shows no milliseconds, and an hour that comes twice only once.
      const isKept = toLocalTime(expires) === toLocalTime(key.limits.expires);
      const changed = Object.entries(isKept ? others : { ...others, expires }).filter(
        ([limit, value]) => String(value) !== String(before[limit] ?? null),
      );
      const limits = changed.length > 0 ? Object.fromEntries(changed) : undefined;
      const order = { name, limits, tags: isUser ? splitWords(tags) : undefined };
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
    fields: [{ name: 'overlap', label: 'The old secret', type: 'select', value: '0', options: overlaps }],
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

function renderActions(key: Key) {
  if (!mayChange('PATCH /admin/keys/:key')) return null;
  const { role = 'owner' } = session.value ?? {};
  // An operator key has the rights of an owner.
  if (key.kind === 'operator' && role !== 'owner') return null;
  const remove = (): void =>
    confirmAction({
      title: `Delete the key …${key.lastFour}?`,
      text: 'Its calls are refused within a second, and it is no longer listed. Its calls and entries stay.',
      button: 'Delete',
      done: 'The key is deleted.',
      act: () => call('DELETE /admin/keys/:key', { key: key.id }),
    });
  const items = [
    ['Change', () => openLimits(key)],
    key.rotatedTo === null && ['Rotate', () => openRotation(key)],
    key.disabled
      ? ['Enable', () => void runAction(() => setDisabled(key.id, false), 'The key works again.')]
      : ['Disable', () => confirmDisable(key)],
    ['Delete', remove],
  ];
  return html`<${RowMenu} of=${`the key ${key.name || key.id}`} id=${`menu-${key.id}`} items=${items} />`;
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
    ({ account: name }) => name && html`<a href=${buildHref(['accounts', name])}>${name}</a>`,
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
    buildColumn('', undefined, renderActions),
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
