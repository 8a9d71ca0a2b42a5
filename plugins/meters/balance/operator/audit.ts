/** The audit of all books. */
import { roles } from '../../../shared/operations.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import { defineOperation, formatCount } from './operation.ts';

function formatAudit({
  ok,
  entries,
  accounts,
  pending,
  broken,
  findings,
}: Replies['GET /admin/audit']): string {
  const looked = [
    formatCount(entries, 'entry', 'entries'),
    `of ${formatCount(accounts, 'account')},`,
    `${formatCount(pending, 'reservation')} pending`,
  ].join(' ');
  if (ok) return `The books are sound: ${looked}.`;
  const lines = findings.map(({ rule, entry, account, message }) => {
    const parts = [rule, entry === undefined ? undefined : `entry ${entry}`, account, message];
    return parts.filter((part) => part !== undefined).join('  ');
  });
  return [`The books break ${formatCount(broken, 'rule')}: ${looked}.`, ...lines].join('\n');
}

export const auditOperations = [
  defineOperation({
    route: 'GET /admin/audit',
    summary: 'Audit all books',
    roles: roles.read,
    run: ({ store }) => store.audit(),
    verbs: [
      {
        name: 'audit',
        description: 'check all books; exits with 1 if a rule is broken',
        format: formatAudit,
        isFault: ({ ok }) => !ok,
      },
    ],
  }),
];
