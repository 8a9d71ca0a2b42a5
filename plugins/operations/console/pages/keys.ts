/** Keys in a table, with what can be done to each. */
import type { Key } from '../../../shared/replies/accounts.ts';
import { api, mayChange, type LoadedList } from './api.ts';
import { actionsColumn, amountColumn, column, countColumn, timeColumn, type Column } from './columns.ts';
import { addressOf, openLimits, openRotation } from './key-dialogs.ts';
import { html } from './kit.ts';
import { attempt, badge, confirmThat, RowMenu, type Tone } from './parts.ts';
import { href } from './router.ts';
import { table } from './table.ts';

function actionsOf(key: Key, done: () => void) {
  if (!mayChange()) return null;
  const turn = (disabled: boolean) => api.patch(addressOf(key), { disabled }).then(done);
  const disable = (): void =>
    confirmThat({
      title: `Disable the key …${key.lastFour}?`,
      text: 'It is refused within a second. Running calls finish. You can enable it again.',
      button: 'Disable',
      done: 'The key is disabled.',
      act: () => turn(true),
    });
  const remove = (): void =>
    confirmThat({
      title: `Delete the key …${key.lastFour}?`,
      text: 'It is refused within a second and no longer listed. Its calls and entries stay.',
      button: 'Delete',
      done: 'The key is deleted.',
      act: () => api.delete(addressOf(key)).then(done),
    });
  const items = [
    ['Change', () => openLimits(key, done)],
    key.rotatedTo === null && ['Rotate', () => openRotation(key, done)],
    key.disabled
      ? ['Enable', () => void attempt(() => turn(false), 'The key works again.')]
      : ['Disable', disable],
    ['Delete', remove],
  ];
  return html`<${RowMenu} of=${`the key ${key.name || key.id}`} id=${`menu-${key.id}`} items=${items} />`;
}

function stateOf({ disabled, rotatedTo, limits: { expires } }: Key): string {
  if (disabled) return 'disabled';
  if (expires !== null && Date.parse(expires) <= Date.now()) return 'expired';
  return rotatedTo === null ? 'active' : 'replaced';
}

const tones: Readonly<Record<string, Tone>> = { active: 'good', replaced: 'warn' };

/** What a key may spend and call; operator keys do neither. */
const spending: readonly Column<Key>[] = [
  amountColumn('Spent', ({ used }) => used),
  amountColumn('Spend cap', ({ limits }) => limits.spendCap),
  column('Models', ({ limits }) => limits.models?.join(', ') ?? 'all'),
  countColumn('Calls per minute', ({ limits }) => limits.callsPerMinute),
];

interface KeysProps extends LoadedList<Key> {
  readonly name: string;
  readonly withAccount?: boolean;
  readonly areOperators?: boolean;
  done(): void;
}

function columnsOf({ withAccount = false, areOperators = false, done }: KeysProps): Column<Key>[] {
  const account = column<Key>(
    'Account',
    (key) => key.account,
    ({ account: name }) => name && html`<a href=${href(['accounts', name])}>${name}</a>`,
  );
  return [
    column(
      'Key',
      ({ id, name, lastFour, tags }) => [name, id, `…${lastFour}`, ...tags].join(' ').trim(),
      ({ id, name, lastFour, tags }) =>
        html`${name || html`<span class="dim">unnamed</span>`} <span class="mono dim">…${lastFour}</span
          ><br /><span class="mono dim nowrap">${id}</span>${
            tags.length > 0 && html`<br />${tags.map((tag) => html`${badge(tag)} `)}`
          }`,
    ),
    ...(withAccount ? [account] : []),
    column(
      'State',
      stateOf,
      (key) =>
        html`${badge(stateOf(key), tones[stateOf(key)] ?? 'bad')} ${key.readOnly && badge('read only')}`,
    ),
    ...(areOperators ? [] : spending),
    timeColumn('Expires', ({ limits }) => limits.expires),
    timeColumn('Created', ({ created }) => created),
    actionsColumn((key) => actionsOf(key, done)),
  ];
}

export function keyTable({ done, ...props }: KeysProps) {
  const about = props.areOperators
    ? 'An operator key opens this console and the admin API; one that may only read changes nothing.'
    : 'A key lets a program call models and spends from an account.';
  return table({
    ...props,
    key: props.name,
    columns: columnsOf({ ...props, done }),
    rowKey: ({ id }) => id,
    rowClass: (key) => (stateOf(key) === 'active' ? undefined : 'off'),
    empty: `There is no key yet. ${about}`,
  });
}
