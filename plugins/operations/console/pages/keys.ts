/** Keys in a table, with what can be done to each. */
import { api, session } from './api.ts';
import { amountColumn } from './columns.ts';
import { Time } from './format.ts';
import { addressOf, openLimits, openRotation, type Key } from './key-dialogs.ts';
import { closeDialog, html } from './kit.ts';
import { Amount } from './money.ts';
import { attempt, Badge, confirmThat } from './parts.ts';
import { href } from './router.ts';
import { Table, type Column } from './table.ts';

function Actions({ of, done }: { readonly of: Key; readonly done: () => void }) {
  if (session.value?.readOnly) return null;
  const turn = (disabled: boolean, text: string) =>
    attempt(async () => {
      await api.patch(addressOf(of), { disabled });
      closeDialog();
      done();
    }, text);
  return html`<div class="row">
    <button class="quiet" onClick=${() => openLimits(of, done)}>Change</button>
    ${
      of.rotatedTo === null &&
      html`<button class="quiet" onClick=${() => openRotation(of, done)}>Rotate</button>`
    }
    ${
      of.disabled
        ? html`<button class="quiet" onClick=${() => void turn(false, 'The key works again.')}>
            Enable
          </button>`
        : html`<button
            class="quiet"
            onClick=${() =>
              confirmThat(
                `Disable the key …${of.lastFour}?`,
                'It is refused within a second. Running calls finish. You can enable it again.',
                'Disable',
                () => turn(true, 'The key is disabled.'),
              )}
          >
            Disable
          </button>`
    }
    <button
      class="quiet"
      onClick=${() =>
        confirmThat(
          `Delete the key …${of.lastFour}?`,
          'It is refused within a second and no longer listed. Its calls and entries stay.',
          'Delete',
          () =>
            attempt(async () => {
              await api.delete(addressOf(of));
              closeDialog();
              done();
            }, 'The key is deleted.'),
        )}
    >
      Delete
    </button>
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
        html`${name || html`<span class="dim">unnamed</span>`}<br /><span class="mono dim nowrap"
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
    amountColumn('Spent', ({ used }) => used),
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
