/** The people who have signed in at the identity provider, and who of them may do so again. */
import type { Replies } from '../../../shared/replies/routes.ts';
import { call, largestPage, useList } from './api.ts';
import { html } from './kit.ts';
import { confirmAction, renderAccounts, renderBadge, renderHead, runAction, type Action } from './parts.ts';
import { buildActions, buildColumn, type Column, renderTable } from './table.ts';

type Person = Replies['GET /admin/people']['data'][number];

const tones = { active: 'good', refused: 'warn', removed: 'bad' } as const;

function listActions({ id: person, name, state }: Person): readonly Action[] {
  const remove = (): void =>
    confirmAction({
      title: `Remove ${name}?`,
      text: 'Their sessions end, their keys are disabled, and they cannot sign in until they are restored.',
      button: 'Remove',
      done: `${name} is removed.`,
      act: () => call('DELETE /admin/people/:person', { person }),
    });
  const restore = () => call('POST /admin/people/:person/restore', { person });
  const onRestore = (): void => void runAction(restore, `${name} may sign in again.`);
  return state === 'removed'
    ? [['Restore', onRestore, 'POST /admin/people/:person/restore']]
    : [['Remove', remove, 'DELETE /admin/people/:person']];
}

const columns: readonly Column<Person>[] = [
  buildColumn('Person', 'name', ({ name, holder }) => html`<span title=${holder}>${name}</span>`),
  buildColumn('Role', 'role'),
  buildColumn(
    'Accounts',
    ({ accounts }) => accounts.join(', '),
    ({ accounts }) => renderAccounts(accounts),
  ),
  buildColumn('State', 'state', ({ state }) => renderBadge(state, tones[state])),
  buildColumn('Last checked', 'checked', 'time'),
  buildActions(({ name }) => name, listActions),
];

export function Page() {
  const people = useList('GET /admin/people', { limit: largestPage });
  return html`${renderHead('People')}
  ${renderTable({
    name: 'People',
    columns,
    ...people,
    getKey: ({ id }) => id,
    empty: 'Nobody has signed in at the identity provider.',
  })}`;
}
