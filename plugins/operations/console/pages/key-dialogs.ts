/** Dialogs that create, limit and rotate keys, and show a new secret once. */
import type { Key, NewKey } from '../../../shared/replies/accounts.ts';
import type { Model } from '../../../shared/replies/models.ts';
import { call } from './api.ts';
import { ClientSettings, getPublicUrl } from './client-settings.ts';
import { toLocalTime, openForm, keepTyped, splitWords, type Field, type Values } from './form.ts';
import { html, openDialog } from './kit.ts';
import { renderCode } from './parts.ts';

function buildLimitFields(kind: Key['kind'], limits?: Key['limits']): Field[] {
  const expiry: Field = {
    name: 'expires',
    label: 'Expires',
    type: 'datetime-local',
    value: toLocalTime(limits?.expires),
    hint: 'Local time. Leave empty for a key that never expires.',
  };
  if (kind === 'operator') return [expiry];
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
function readLimits(
  kind: Key['kind'],
  values: Values,
): { readonly expires: string | null; readonly [limit: string]: unknown } {
  const { spendCap = '', models = '', callsPerMinute = '', expires = '' } = values;
  const patterns = splitWords(models);
  const expiry = { expires: expires === '' ? null : new Date(expires).toISOString() };
  if (kind === 'operator') return expiry;
  return {
    ...expiry,
    spendCap: spendCap === '' ? null : spendCap,
    models: patterns.length === 0 ? null : patterns,
    callsPerMinute: callsPerMinute === '' ? null : Number(callsPerMinute),
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

export function openNewKey(account: string | undefined, onDone: () => void): void {
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
    async send({ name, credit, tags, ...values }) {
      const order = {
        account: account ?? values['account'],
        name,
        limits: readLimits('user', values),
        tags: splitWords(tags),
        ...keepTyped('credit', credit),
      };
      await showSecret(await call('POST /admin/keys', {}, order));
    },
    onDone,
  });
}

export function openNewOperatorKey(onDone: () => void): void {
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
    onDone,
  });
}

export function openLimits(key: Key, onDone: () => void): void {
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
    send({ name, tags, ...values }) {
      const { expires, ...others } = readLimits(key.kind, values);
      // The field shows no milliseconds, and an hour that comes twice only once.
      const isKept = toLocalTime(expires) === toLocalTime(key.limits.expires);
      const changed = Object.entries(isKept ? others : { ...others, expires }).filter(
        ([limit, value]) => String(value) !== String(before[limit] ?? null),
      );
      return call(
        'PATCH /admin/keys/:key',
        { key: key.id },
        {
          name,
          ...(changed.length > 0 ? { limits: Object.fromEntries(changed) } : {}),
          ...(isUser ? { tags: splitWords(tags) } : {}),
        },
      );
    },
    onDone,
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

export function openRotation(key: Key, onDone: () => void): void {
  openForm({
    title: `Rotate the key …${key.lastFour}`,
    intro: 'A new secret takes over the account, the limits and the spending of this one.',
    fields: [{ name: 'overlap', label: 'The old secret', type: 'select', value: '0', options: overlaps }],
    submit: 'Rotate',
    async send({ overlap }) {
      await showSecret(
        await call('POST /admin/keys/:key/rotate', { key: key.id }, { overlap: Number(overlap) }),
      );
    },
    onDone,
  });
}
