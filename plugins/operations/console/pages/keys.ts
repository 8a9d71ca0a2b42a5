/** Keys in a table, with what can be done to each. */
import { api, session } from './api.ts';
import { amountColumn } from './columns.ts';
import { Time } from './format.ts';
import { addressOf, openLimits, openRotation, type Key } from './key-dialogs.ts';
import { closeDialog, html } from './kit.ts';
import { attempt, Badge, confirmThat } from './parts.ts';
import { href } from './router.ts';
import { RowMenu } from './row-menu.ts';
import { Table, type Column } from './table.ts';

function Actions({ of, done }: { readonly of: Key; readonly done: () => void }) {
  if (session.value?.readOnly) return null;
  const turn = (disabled: boolean, text: string) =>
    attempt(async () => {
      await api.patch(addressOf(of), { disabled });
      closeDialog();
      done();
    }, text);
  const enable = {
    title: 'Enable',
    act: () => void turn(false, 'The key works again.'),
  };
  const disable = {
    title: 'Disable',
    act: () =>
      confirmThat(
        `Disable the key …${of.lastFour}?`,
        'It is refused within a second. Running calls finish. You can enable it again.',
        'Disable',
        () => turn(true, 'The key is disabled.'),
      ),
  };
  const rotate = { title: 'Rotate', act: () => openRotation(of, done) };
  const remove = {
    title: 'Delete',
    act: () =>
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
      ),
  };
  return html`<${RowMenu}
    id=${`menu-${of.id}`}
    label=${`Actions for the key ${of.name || of.id}`}
    items=${[
      { title: 'Change', act: () => openLimits(of, done) },
      ...(of.rotatedTo === null ? [rotate] : []),
      of.disabled ? enable : disable,
      remove,
    ]}
  />`;
}

export function stateOf({ disabled, rotatedTo, limits: { expires } }: Key): string {
  if (disabled) return 'disabled';
  if (expires !== null && Date.parse(expires) <= Date.now()) return 'expired';
  return rotatedTo === null ? 'active' : 'replaced';
}

const tones: Readonly<Record<string, string>> = { active: 'good', replaced: 'warn' };

/** What a key may spend and call; operator keys do neither. */
const spending: readonly Column<Key>[] = [
  amountColumn('Spent', ({ used }) => used),
  amountColumn('Spend cap', ({ limits }) => limits.spendCap),
  { title: 'Models', value: ({ limits }) => limits.models?.join(', ') ?? 'all' },
  { title: 'Per minute', value: ({ limits }) => limits.callsPerMinute, isFigure: true },
];

interface KeysProps {
  readonly name: string;
  readonly keys: readonly Key[] | undefined;
  readonly error?: Error | undefined;
  readonly withAccount?: boolean;
  readonly areOperators?: boolean;
  readonly more?: (() => void) | undefined;
  done(): void;
}

function columnsOf(shown: KeysProps): Column<Key>[] {
  const { withAccount = false, areOperators = false, done } = shown;
  const account: Column<Key> = {
    title: 'Account',
    value: (key) => key.account,
    cell: ({ account: name }) => name && html`<a href=${href(['accounts', name])}>${name}</a>`,
  };
  return [
    {
      title: 'Key',
      value: ({ id, name, lastFour, tags }) => [name, id, `…${lastFour}`, ...tags].join(' ').trim(),
      cell: ({ id, name, lastFour, tags }) =>
        html`${name || html`<span class="dim">unnamed</span>`} <span class="mono dim">…${lastFour}</span
          ><br /><span class="mono dim nowrap">${id}</span>${
            tags.length > 0 && html`<br />${tags.map((tag) => html`<${Badge}>${tag}</${Badge}> `)}`
          }`,
    },
    ...(withAccount ? [account] : []),
    {
      title: 'State',
      value: stateOf,
      cell: (key) =>
        html`<${Badge} tone=${tones[stateOf(key)] ?? 'bad'}>${stateOf(key)}</${Badge}>
        ${key.readOnly && html` <${Badge}>read only</${Badge}>`}`,
    },
    ...(areOperators ? [] : spending),
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

export function Keys(props: KeysProps) {
  const { name, keys, error, areOperators = false, more } = props;
  return html`<${Table}
    name=${name}
    columns=${columnsOf(props)}
    rows=${keys}
    error=${error}
    rowKey=${({ id }: Key) => id}
    rowClass=${(key: Key) => (stateOf(key) === 'active' ? undefined : 'off')}
    more=${more}
    empty=${html`<p>
      There is no key yet.${' '}
      ${
        areOperators
          ? 'An operator key opens this console and the admin API; one that may only read changes nothing.'
          : 'A key lets a program call models and spends from an account.'
      }
    </p>`}
  />`;
}
