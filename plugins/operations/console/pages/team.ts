/** An account as a team: the accounts below it, its members, invitations, and how all of it is erased. */
import type { AccountDetails, Invitation, Key } from '../../../shared/replies/accounts.ts';
import { ApiError, call, largestPage, useList } from './api.ts';
import { getPublicUrl } from './client-settings.ts';
import { openForm, splitNames } from './form.ts';
import { formatThings, formatUsd, parseUsd, renderUsd } from './format.ts';
import { modelsField, spendCapField } from './keys.ts';
import { getMessage, go, html, notify } from './kit.ts';
import {
  confirmAction,
  renderAccounts,
  renderAction,
  renderBadge,
  renderState,
  type Action,
} from './parts.ts';
import { openSecrets } from './secrets.ts';
import { buildActions, buildColumn, type Column, renderTable } from './table.ts';

export function openMove(account: string, parent: string | null): void {
  openForm({
    title: `Move ${account}`,
    intro: 'It moves with all accounts below it, and counts in the budgets of the teams above it.',
    fields: [
      {
        name: 'parent',
        label: 'Into the team',
        hint: 'The name of an account. Leave empty to move it to the top.',
      },
    ],
    values: { parent },
    submit: 'Move',
    send: ({ parent: into = null }) => call('PATCH /admin/accounts/:account', { account }, { parent: into }),
  });
}

export function openMemberKeys(account: string, rule: AccountDetails['memberKeys']): void {
  openForm({
    title: `What members of ${account} may do`,
    intro: 'Members make, rotate and revoke keys of their own on the page for key holders.',
    fields: [
      {
        name: 'most',
        label: 'Keys of each member',
        type: 'number',
        hint: '0: they make none.',
      },
      spendCapField,
      modelsField,
      {
        name: 'days',
        label: 'Days until a key expires',
        type: 'number',
        hint: 'Leave empty for never.',
      },
    ],
    values: { most: 0, ...rule },
    submit: 'Save',
    send({ most = 0, ...limits }) {
      const memberKeys = most === 0 ? null : { most, ...limits, callsPerMinute: rule?.callsPerMinute };
      return call('PATCH /admin/accounts/:account/members', { account }, { memberKeys });
    },
  });
}

const durations = [
  ['7d', '7 days'],
  ['1d', 'a day'],
  ['30d', '30 days'],
] as const;

/** Creates an invitation for each name. If one is refused, those before it are still shown. */
async function createLinks(names: readonly string[], order: object): Promise<(readonly [string, string])[]> {
  const links: (readonly [name: string, link: string])[] = [];
  const base = getPublicUrl(await call('GET /console/facts'));
  for (const name of names) {
    try {
      const { link } = await call('POST /admin/invitations', {}, { ...order, name });
      links.push([name, base + link]);
    } catch (error) {
      if (links.length === 0) throw error;
      notify(`${name} is not invited: ${getMessage(error)}`, true);
      break;
    }
  }
  return links;
}

export function openInvitation(account: string): void {
  openForm({
    title: `Invite members to ${account}`,
    fields: [
      {
        name: 'name',
        label: 'Names',
        isRequired: true,
        placeholder: 'ada@example.com, Grace Hopper',
        hint: 'Separated by commas. Each gets a link of their own, and holds the key that it gives.',
      },
      { name: 'for', label: 'The link works for', type: 'select', options: durations },
      { name: 'budget', label: 'Budget of each key in USD a month', hint: 'Leave empty for none.' },
      spendCapField,
      modelsField,
    ],
    submit: 'Create the links',
    async send({ name, for: lasts, budget, ...limits }) {
      const budgets = budget === undefined ? [] : [{ limit: budget, per: 'month' }];
      const links = await createLinks(splitNames(name), { account, for: lasts, budgets, limits });
      const about = 'Each gives a key once, to the first person who opens it. They will not be shown again.';
      openSecrets('Send these links', about, links);
    },
  });
}

/** Asks for the name, since nothing brings it back. */
export function openErasure(whose: 'account' | 'holder', name: string): void {
  const what = whose === 'account' ? 'the account' : 'the person';
  openForm({
    title: `Erase ${what} ${name}?`,
    intro:
      'Keys, calls, tags, stored responses and invitations are erased for good. Entries of money stay, ' +
      'without names. Backups keep what they have until you delete them.',
    fields: [{ name: 'typed', label: `Type ${name} to erase it`, isRequired: true }],
    submit: 'Erase for good',
    isDangerous: true,
    async send({ typed }) {
      if (typed !== name) throw new ApiError(400, 'This is another name.', 'typed');
      const { account } = await call('POST /admin/erasures', {}, { [whose]: name });
      notify('Erased; what is left goes within a minute.');
      if (account !== null) go(['accounts', account]);
    },
  });
}

const childColumns: readonly Column<AccountDetails['children'][number]>[] = [
  buildColumn(
    'Account',
    'account',
    ({ account, state }) => html`${renderAccounts([account])} ${state !== 'open' && renderState(state)}`,
  ),
  buildColumn('Spent with all below it', ({ team }) => team.spent, 'amount'),
  buildColumn('Calls', ({ team }) => team.calls, 'count'),
  buildColumn('Accounts', ({ team }) => team.accounts, 'count'),
  buildColumn('Available', 'available', 'amount'),
];

/** The accounts below an account. */
export function renderChildren(details: AccountDetails | undefined, create: () => void) {
  return renderTable({
    name: 'Accounts of the team',
    columns: childColumns,
    rows: details?.children,
    getKey: ({ account }) => account,
    tools: renderAction('New account in this team', create, 'POST /admin/accounts'),
    empty: 'No accounts below it. A team is an account with accounts below it, which share its budgets.',
  });
}

interface Member {
  readonly name: string;
  readonly keys: readonly Key[];
}

const memberColumns: readonly Column<Member>[] = [
  buildColumn('Member', 'name'),
  buildColumn('Keys', ({ keys }) => keys.length, 'count'),
  buildColumn(
    'Spent',
    ({ keys }) => formatUsd(keys.reduce((sum, { used }) => sum + parseUsd(used), 0n)),
    'amount',
  ),
  buildActions(
    ({ name }) => `the member ${name}`,
    ({ name }) => [['Erase', () => openErasure('holder', name), 'POST /admin/erasures']],
  ),
];

function listActions({ id, name, state }: Invitation): readonly Action[] {
  const remove = (): void =>
    confirmAction({
      title: `Withdraw the invitation of ${name}?`,
      text: 'Its link gives no key any more.',
      button: 'Withdraw',
      act: () => call('DELETE /admin/invitations/:invitation', { invitation: id }),
    });
  return state === 'open' ? [['Withdraw', remove, 'DELETE /admin/invitations/:invitation']] : [];
}

const tones = { open: 'plain', redeemed: 'good', withdrawn: 'warn', expired: 'warn' } as const;

const invitationColumns: readonly Column<Invitation>[] = [
  buildColumn('Invited', 'name'),
  buildColumn('State', 'state', ({ state }) => renderBadge(state, tones[state])),
  buildColumn('Expires', 'expires', 'time'),
  buildColumn('Created', 'created', 'time'),
  buildActions(({ name }) => `the invitation of ${name}`, listActions),
];

/** Holders of an account's keys, and who was invited. */
export function Members({
  account,
  details,
}: {
  readonly account: string;
  readonly details: AccountDetails | undefined;
}) {
  const { rows: keys, ...state } = useList('GET /admin/keys', { account, limit: largestPage });
  const invitations = useList('GET /admin/invitations', { account, limit: largestPage });
  const held = keys && Map.groupBy(keys, ({ holder }) => holder ?? '');
  const rule = details?.memberKeys ?? null;
  return html`${renderTable({
      name: 'Members',
      columns: memberColumns,
      ...state,
      rows: held && [...held].flatMap(([name, own]) => (name === '' ? [] : [{ name, keys: own }])),
      getKey: ({ name }) => name,
      tools: html`<span class="dim">
          ${rule ? `Each may have ${formatThings(rule.most, 'key')}.` : 'They make no keys of their own.'}
        </span>
        ${renderAction(
          'What they may do',
          () => openMemberKeys(account, rule),
          'PATCH /admin/accounts/:account/members',
        )}
        ${renderAction('Invite', () => openInvitation(account), 'POST /admin/invitations')}`,
      empty: 'No members yet. A member holds keys of this account. Invite one, or name the holder of a key.',
    })}
    <h2>Invitations</h2>
    ${renderTable({
      name: 'Invitations',
      columns: invitationColumns,
      ...invitations,
      getKey: ({ id }) => id,
      empty: 'Nobody is invited.',
    })}`;
}

/** What an account spent, and with all accounts below it if it is a team. */
export function buildSpentTile({ own, team, children }: AccountDetails) {
  const formatCalls = (sums: AccountDetails['team']): string => `in ${formatThings(sums.calls, 'call')}`;
  if (children.length === 0) return ['Spent', renderUsd(own.spent), formatCalls(own)] as const;
  const alone = html`${formatCalls(team)}; ${renderUsd(own.spent)} ${formatCalls(own)} by this account alone`;
  return [`Spent by the team of ${team.accounts} accounts`, renderUsd(team.spent), alone] as const;
}
