/** The people who have signed in at the identity provider, and who of them may do so again. */
import type { Replies } from '../../../shared/replies/routes.ts';
import { call, largestPage, mayChange, useList } from './api.ts';
import { buildHref, html } from './kit.ts';
import { confirmAction, renderBadge, renderHead, runAction } from './parts.ts';
import { buildColumn, type Column, renderTable } from './table.ts';

type Person = Replies['GET /admin/people']['data'][number];

const tones = { active: 'good', refused: 'warn', removed: 'bad' } as const;

function renderActions({ id: person, name, state }: Person) {
  const remove = (): void =>
    confirmAction({
      title: `Remove ${name}?`,
      text: 'Their sessions end, their keys are disabled, and they cannot sign in until they are restored.',
      button: 'Remove',
      done: `${name} is removed.`,
      act: () => call('DELETE /admin/people/:person', { person }),
    });
  const restore = () => call('POST /admin/people/:person/restore', { person });
  if (state !== 'removed')
    return (
      mayChange('DELETE /admin/people/:person') &&
      html`<button class="quiet" aria-label=${`Remove ${name}`} onClick=${remove}>Remove</button>`
    );
  const onRestore = (): void => void runAction(restore, `${name} may sign in again.`);
  return (
    mayChange('POST /admin/people/:person/restore') &&
    html`<button class="quiet" aria-label=${`Restore ${name}`} onClick=${onRestore}>Restore</button>`
  );
}

const columns: readonly Column<Person>[] = [
  buildColumn('Person', 'name', ({ name, holder }) => html`<span title=${holder}>${name}</span>`),
  buildColumn('Role', 'role'),
  buildColumn(
    'Accounts',
    ({ accounts }) => accounts.join(', '),
    ({ accounts }) =>
      accounts.map(
        (name, index) => html`${index > 0 && ', '}<a href=${buildHref(['accounts', name])}>${name}</a>`,
      ),
  ),
  buildColumn('State', 'state', ({ state }) => renderBadge(state, tones[state])),
  buildColumn('Last checked', 'checked', 'time'),
  buildColumn('', undefined, renderActions),
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
