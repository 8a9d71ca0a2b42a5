/** What the doctor checks of the ledger: that it opens, and that its books keep their rules. */
import { getMessage, type Examination, type Finding } from '../../../core/index.ts';
import { formatCount } from './operator/verbs.ts';
import type { Store } from './store.ts';

const subject = 'ledger';

async function auditStore(store: Store): Promise<Finding> {
  const { ok, entries, accounts, broken } = await store.audit();
  if (ok)
    return {
      subject,
      state: 'well',
      message:
        `opens, and its books are sound: ` +
        `${formatCount(entries, 'entry', 'entries')} of ${formatCount(accounts, 'account')}`,
    };
  const remedy = 'tollgate audit names each of them; keep the file as it is until the cause is known';
  return { subject, state: 'fault', message: `its books break ${formatCount(broken, 'rule')}`, remedy };
}

export function createExamination(open: () => Promise<Store>): Examination {
  return {
    name: subject,
    async examine() {
      try {
        const store = await open();
        try {
          return [await auditStore(store)];
        } finally {
          await store.close();
        }
      } catch (error) {
        const message = `it cannot be opened or read: ${getMessage(error)}`;
        const remedy =
          'look at its disk and its rights, or at the database and its address; ' +
          'without a ledger no call is served';
        return [{ subject, state: 'fault', message, remedy }];
      }
    },
  };
}
