/** Keys in a table, with what can be done to each. */
import type { Key } from '../../../shared/replies/accounts.ts';
import { call, mayChange, type LoadedList } from './api.ts';
import {
  buildActionsColumn,
  buildAmountColumn,
  buildColumn,
  buildCountColumn,
  buildTimeColumn,
  type Column,
} from './columns.ts';
import { openLimits, openRotation } from './key-dialogs.ts';
import { html } from './kit.ts';
import { runAction, renderBadge, confirmAction, RowMenu, type Tone } from './parts.ts';
import { buildHref } from './router.ts';
import { renderTable } from './table.ts';

function renderActions(key: Key, onDone: () => void) {
  if (!mayChange()) return null;
  const setDisabled = (disabled: boolean) =>
    call('PATCH /admin/keys/:key', { key: key.id }, { disabled }).then(onDone);
  const disable = (): void =>
    confirmAction({
      title: `Disable the key …${key.lastFour}?`,
      text: 'Calls with this key are refused within a second. Running calls finish. You can enable it again.',
      button: 'Disable',
      done: 'The key is disabled.',
      act: () => setDisabled(true),
    });
  const remove = (): void =>
    confirmAction({
      title: `Delete the key …${key.lastFour}?`,
      text: 'Its calls are refused within a second, and it is no longer listed. Its calls and entries stay.',
      button: 'Delete',
      done: 'The key is deleted.',
      act: () => call('DELETE /admin/keys/:key', { key: key.id }).then(onDone),
    });
  const items = [
    ['Change', () => openLimits(key, onDone)],
    key.rotatedTo === null && ['Rotate', () => openRotation(key, onDone)],
    key.disabled
      ? ['Enable', () => void runAction(() => setDisabled(false), 'The key works again.')]
      : ['Disable', disable],
    ['Delete', remove],
  ];
  return html`<${RowMenu} of=${`the key ${key.name || key.id}`} id=${`menu-${key.id}`} items=${items} />`;
}

function getState({ disabled, rotatedTo, limits: { expires } }: Key): string {
  if (disabled) return 'disabled';
  if (expires !== null && Date.parse(expires) <= Date.now()) return 'expired';
  return rotatedTo === null ? 'active' : 'replaced';
}

const tones: Readonly<Record<string, Tone>> = { active: 'good', replaced: 'warn' };

/** What a key may spend and call; operator keys do neither. */
const spending: readonly Column<Key>[] = [
  buildAmountColumn('Spent', ({ used }) => used),
  buildAmountColumn('Spend cap', ({ limits }) => limits.spendCap),
  buildColumn('Models', ({ limits }) => limits.models?.join(', ') ?? 'all'),
  buildCountColumn('Calls per minute', ({ limits }) => limits.callsPerMinute),
];

interface KeysProps extends LoadedList<Key> {
  readonly name: string;
  readonly withAccount?: boolean;
  readonly areOperators?: boolean;
  onDone(): void;
}

function buildColumns({ withAccount = false, areOperators = false, onDone }: KeysProps): Column<Key>[] {
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
        html`${name || html`<span class="dim">unnamed</span>`} <span class="mono dim">…${lastFour}</span
          ><br /><span class="mono dim nowrap">${id}</span>${
            tags.length > 0 && html`<br />${tags.map((tag) => html`${renderBadge(tag)} `)}`
          }`,
    ),
    ...(withAccount ? [account] : []),
    buildColumn(
      'State',
      getState,
      (key) =>
        html`${renderBadge(getState(key), tones[getState(key)] ?? 'bad')}
        ${key.readOnly && html` ${renderBadge('read only')}`}`,
    ),
    ...(areOperators ? [] : spending),
    buildTimeColumn('Expires', ({ limits }) => limits.expires),
    buildTimeColumn('Created', ({ created }) => created),
    buildActionsColumn((key) => renderActions(key, onDone)),
  ];
}

export function renderKeys({ onDone, ...props }: KeysProps) {
  const empty = props.areOperators
    ? 'No operator keys yet. They open this console and the admin API. A read-only one changes nothing.'
    : 'No keys yet. A key lets a program call models and spends from an account.';
  return renderTable({
    ...props,
    key: props.name,
    columns: buildColumns({ ...props, onDone }),
    getKey: ({ id }) => id,
    getClass: (key) => (getState(key) === 'active' ? undefined : 'off'),
    empty,
  });
}
