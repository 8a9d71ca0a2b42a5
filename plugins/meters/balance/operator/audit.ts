/** The audit of all books: for operators, and for the doctor, which also checks that a gateway can start. */
import { getMessage, type Examination, type Finding } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import type { AuditReport } from '../audit.ts';
import { checkMarkups } from '../markups.ts';
import { NoLedger } from '../open-store.ts';
import type { Store } from '../store.ts';
import { defineOperation, formatCount } from './operation.ts';

/** `9 entries of 2 accounts`. */
function formatExtent({ entries, accounts }: Pick<AuditReport, 'entries' | 'accounts'>): string {
  return `${formatCount(entries, 'entry', 'entries')} of ${formatCount(accounts, 'account')}`;
}

function formatAudit(report: Replies['GET /admin/audit']): string {
  const looked = `${formatExtent(report)}, ${formatCount(report.pending, 'reservation')} pending`;
  if (report.ok) return `The books are sound: ${looked}.`;
  const lines = report.findings.map(({ rule, entry, account, message }) =>
    [rule, entry && `entry ${entry}`, account, message].filter(Boolean).join('  '),
  );
  return [`The books break ${formatCount(report.broken, 'rule')}: ${looked}.`, ...lines].join('\n');
}

export const auditOperations = [
  defineOperation({
    route: 'GET /admin/audit',
    summary: 'Audit all books',
    roles: roles.read,
    run: ({ store }) => store.audit(),
    verbs: {
      audit: {
        description: 'check all books; exits with 1 if a rule is broken',
        format: formatAudit,
        isFault: ({ ok }) => !ok,
      },
    },
  }),
];

const subject = 'ledger';

async function auditStore(store: Store): Promise<Finding> {
  const report = await store.audit();
  if (report.ok)
    return { subject, state: 'well', message: `opens, and its books are sound: ${formatExtent(report)}` };
  const message = `its books break ${formatCount(report.broken, 'rule')}`;
  const remedy = 'tollgate audit names each of them; keep the file as it is until the cause is known';
  return { subject, state: 'fault', message, remedy };
}

async function examineMarkups(store: Store): Promise<Finding[]> {
  try {
    await checkMarkups(store);
    return [];
  } catch (error) {
    const remedy = 'no gateway starts before, and those that run keep the markups that they have read';
    return [{ subject: 'markups', state: 'fault', message: getMessage(error), remedy }];
  }
}

/** `open` rejects if there is no ledger. */
export function createExamination(open: () => Promise<Store>): Examination {
  return {
    name: subject,
    async examine() {
      try {
        const store = await open();
        try {
          return [await auditStore(store), ...(await examineMarkups(store))];
        } finally {
          await store.close();
        }
      } catch (error) {
        if (error instanceof NoLedger) return [{ subject, state: 'note', message: error.message }];
        const message = `it cannot be opened or read: ${getMessage(error)}`;
        const remedy =
          'look at its disk and its rights, or at the database and its address; ' +
          'without a ledger no call is served';
        return [{ subject, state: 'fault', message, remedy }];
      }
    },
  };
}
