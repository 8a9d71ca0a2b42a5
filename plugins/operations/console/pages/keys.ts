/** Keys: a table of them, and dialogs that create, limit, rotate and disable them. */
import { api, session } from './api.ts';
import { ClientSettings, publicUrl, type Facts } from './client-settings.ts';
import { Form, type Field, type Values } from './form.ts';
import { Time } from './format.ts';
import { closeDialog, html, openDialog } from './kit.ts';
import { Amount } from './money.ts';
import { attempt, Badge, Code, confirmThat } from './parts.ts';
import { href } from './router.ts';
import { Table, type Column } from './table.ts';

export interface Key {
  readonly id: string;
  readonly lastFour: string;
  readonly name: string;
  readonly kind: 'user' | 'operator';
  readonly readOnly?: boolean;
  readonly account: string | null;
  readonly disabled: boolean;
  readonly created: string;
  readonly limits: {
    readonly spendCap: string | null;
    readonly models: readonly string[] | null;
    readonly expires: string | null;
    readonly callsPerMinute: number | null;
  };
  readonly used: string;
  readonly pending: string;
  readonly rotatedTo: string | null;
}

type NewKey = Key & { readonly key: string; readonly warning?: string };

const isUser = { user: true, operator: false };

function limitFields(kind: Key['kind'], limits?: Key['limits']): Field[] {
  const expiry: Field = {
    name: 'expires',
    label: 'Expires',
    type: 'datetime-local',
    value: limits?.expires ? localText(limits.expires) : '',
    hint: 'Local time. Empty: never.',
  };
  if (!isUser[kind]) return [expiry];
  return [
    {
      name: 'spendCap',
      label: 'Spend cap in USD',
      value: limits?.spendCap ?? '',
      hint: 'All that the key may ever spend. Empty: what the account has.',
    },
    {
      name: 'models',
      label: 'Models',
      value: limits?.models?.join(', ') ?? '',
      placeholder: 'openai/*, anthropic/claude-sonnet-5',
      hint: 'Ids, or the beginning of ids and a star. Empty: all models.',
    },
    {
      name: 'callsPerMinute',
      label: 'Calls per minute',
      type: 'number',
      value: String(limits?.callsPerMinute ?? ''),
      hint: 'Empty: no limit.',
    },
    expiry,
  ];
}

/** A moment as an input of local time takes it. */
function localText(iso: string): string {
  const date = new Date(iso);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Limits as the API takes them; null takes one away. */
function readLimits(kind: Key['kind'], values: Values): object {
  const { spendCap = '', models = '', callsPerMinute = '', expires = '' } = values;
  const words = models.split(/[\s,]+/).filter(Boolean);
  const expiry = { expires: expires === '' ? null : new Date(expires).toISOString() };
  if (!isUser[kind]) return expiry;
  return {
    ...expiry,
    spendCap: spendCap === '' ? null : spendCap,
    models: words.length === 0 ? null : words,
    callsPerMinute: callsPerMinute === '' ? null : Number(callsPerMinute),
  };
}

/** The secret, which no later page can show, with settings that hold it. */
async function showSecret(made: NewKey): Promise<void> {
  const facts = made.kind === 'user' ? await api.get<Facts>('/console/facts') : undefined;
  const [model = 'demo/echo'] = made.limits.models?.filter((each) => !each.endsWith('*')) ?? [];
  openDialog(
    'Copy the secret now',
    html`<p>This is the only time it is shown. The gateway keeps only its hash.</p>
      <${Code} text=${made.key} label="Copy secret" />
      ${made.warning && html`<p class="hint">${made.warning}</p>`}
      ${
        facts &&
        html`<h3>Settings for clients</h3>
          <${ClientSettings} facts=${facts} base=${publicUrl(facts)} apiKey=${made.key} model=${model} />`
      }`,
  );
}

export function openNewKey(account: string | undefined, done: () => void): void {
  const fields: Field[] = [
    ...(account === undefined
      ? [
          {
            name: 'account',
            label: 'Account',
            isRequired: true,
            hint: 'Made if there is none with this name.',
          } as const,
        ]
      : []),
    { name: 'name', label: 'Name', placeholder: 'laptop', hint: 'Tells your keys apart.' },
    { name: 'credit', label: 'Credit to add in USD', hint: 'Optional: added to the account.' },
    ...limitFields('user'),
  ];
  openDialog(
    'Create a key',
    html`<${Form}
      fields=${fields}
      submit="Create key"
      onSubmit=${async ({ name = '', credit = '', ...values }: Values) => {
        const limits = Object.entries(readLimits('user', values)).filter(([, value]) => value !== null);
        const order = {
          account: account ?? values['account'],
          name,
          limits: Object.fromEntries(limits),
          ...(credit === '' ? {} : { credit }),
        };
        await showSecret(await api.post<NewKey>('/admin/keys', order));
        done();
      }}
    />`,
  );
}

export function openNewOperatorKey(done: () => void): void {
  const fields: Field[] = [
    { name: 'name', label: 'Name', hint: 'Whose key it is.' },
    {
      name: 'readOnly',
      label: 'May only read',
      type: 'checkbox',
      hint: 'Sees everything and changes nothing.',
    },
    ...limitFields('operator'),
  ];
  openDialog(
    'Create an operator key',
    html`<p class="dim">It opens this console and the admin API. It calls no models and spends nothing.</p>
      <${Form}
        fields=${fields}
        submit="Create key"
        onSubmit=${async ({ name = '', readOnly, expires = '' }: Values) => {
          const limits = expires === '' ? {} : readLimits('operator', { expires });
          const order = { kind: 'operator', name, limits, ...(readOnly === 'on' ? { readOnly: true } : {}) };
          await showSecret(await api.post<NewKey>('/admin/keys', order));
          done();
        }}
      />`,
  );
}

const addressOf = ({ id }: Key): string => `/admin/keys/${encodeURIComponent(id)}`;

function openLimits(key: Key, done: () => void): void {
  openDialog(
    `Change the key …${key.lastFour}`,
    html`<${Form}
      fields=${[{ name: 'name', label: 'Name', value: key.name }, ...limitFields(key.kind, key.limits)]}
      submit="Save"
      onSubmit=${async ({ name = '', ...values }: Values) => {
        const limits = Object.entries(readLimits(key.kind, values));
        const before = Object.entries(key.limits);
        const changed = limits.filter(
          ([limit, value]) => String(value) !== String(before.find(([each]) => each === limit)?.[1] ?? null),
        );
        await api.patch(addressOf(key), {
          name,
          ...(changed.length > 0 ? { limits: Object.fromEntries(changed) } : {}),
        });
        closeDialog();
        done();
      }}
    />`,
  );
}

function openRotation(key: Key, done: () => void): void {
  openDialog(
    `Rotate the key …${key.lastFour}`,
    html`<p>A new secret takes over the account, the limits and the spending of this one.</p>
      <${Form}
        fields=${[
          {
            name: 'overlap',
            label: 'The old secret works for another',
            type: 'select',
            value: '86400',
            options: [
              ['0', 'no time'],
              ['3600', 'hour'],
              ['86400', 'day'],
              ['604800', '7 days'],
              ['2592000', '30 days'],
            ],
          },
        ]}
        submit="Rotate"
        onSubmit=${async ({ overlap }: Values) => {
          await showSecret(await api.post<NewKey>(`${addressOf(key)}/rotate`, { overlap: Number(overlap) }));
          done();
        }}
      />`,
  );
}

function Actions({ of, done }: { readonly of: Key; readonly done: () => void }) {
  if (session.value?.readOnly) return null;
  const turn = (disabled: boolean, text: string) =>
    attempt(async () => {
      await api.patch(addressOf(of), { disabled });
      closeDialog();
      done();
    }, text);
  return html`<div class="row">
    <button onClick=${() => openLimits(of, done)}>Change</button>
    ${of.rotatedTo === null && html`<button onClick=${() => openRotation(of, done)}>Rotate</button>`}
    ${
      of.disabled
        ? html`<button onClick=${() => void turn(false, 'The key works again.')}>Enable</button>`
        : html`<button
            onClick=${() =>
              confirmThat(
                `Disable the key …${of.lastFour}?`,
                'It is refused within a second. Running calls finish. You can enable it again.',
                'Disable',
                () => turn(true, 'The key is disabled.'),
                closeDialog,
              )}
          >
            Disable
          </button>`
    }
  </div>`;
}

export function stateOf({ disabled, rotatedTo, limits: { expires } }: Key): string {
  if (disabled) return 'disabled';
  if (expires !== null && Date.parse(expires) <= Date.now()) return 'expired';
  return rotatedTo === null ? 'active' : 'replaced';
}

const tones: Readonly<Record<string, string>> = { active: 'good', replaced: 'warn' };

function columnsOf(withAccount: boolean, done: () => void): Column<Key>[] {
  const account: Column<Key> = {
    title: 'Account',
    value: (key) => key.account,
    cell: ({ account: name }) => name && html`<a href=${href(['accounts', name])}>${name}</a>`,
  };
  return [
    {
      title: 'Key',
      value: ({ id, name, lastFour }) => `${name} ${id} …${lastFour}`,
      cell: ({ id, name, lastFour }) =>
        html`${name || html`<span class="dim">unnamed</span>`}<br /><span class="mono dim"
            >${id} · …${lastFour}</span
          >`,
    },
    ...(withAccount ? [account] : []),
    {
      title: 'State',
      value: stateOf,
      cell: (key) =>
        html`<${Badge} tone=${tones[stateOf(key)] ?? 'bad'}>${stateOf(key)}</${Badge}>
        ${key.readOnly && html` <${Badge}>read only</${Badge}>`}`,
    },
    {
      title: 'Spent',
      value: ({ used }) => used,
      cell: ({ used }) => html`<${Amount} usd=${used} />`,
      isFigure: true,
    },
    {
      title: 'Spend cap',
      value: ({ limits }) => limits.spendCap,
      cell: ({ limits }) => html`<${Amount} usd=${limits.spendCap} />`,
      isFigure: true,
    },
    { title: 'Models', value: ({ limits }) => limits.models?.join(', ') ?? 'all' },
    { title: 'Per minute', value: ({ limits }) => limits.callsPerMinute, isFigure: true },
    {
      title: 'Expires',
      value: ({ limits }) => limits.expires,
      cell: ({ limits }) => html`<${Time} at=${limits.expires} brief=${true} />`,
    },
    {
      title: 'Created',
      value: ({ created }) => created,
      cell: ({ created }) => html`<${Time} at=${created} brief=${true} />`,
    },
    { title: '', value: () => null, cell: (key) => html`<${Actions} of=${key} done=${done} />` },
  ];
}

export function Keys(props: {
  readonly name: string;
  readonly keys: readonly Key[] | undefined;
  readonly withAccount?: boolean;
  readonly more?: (() => void) | undefined;
  done(): void;
}) {
  const { name, keys, withAccount = false, more, done } = props;
  return html`<${Table}
    name=${name}
    columns=${columnsOf(withAccount, done)}
    rows=${keys}
    rowKey=${({ id }: Key) => id}
    rowClass=${(key: Key) => (stateOf(key) === 'active' ? undefined : 'off')}
    more=${more}
    empty=${html`<p>There is no key yet. A key lets a program call models and spends from an account.</p>`}
  />`;
}
