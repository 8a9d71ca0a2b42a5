/** What the doctor checks of the ledger: that it opens, that a gateway can start on it, and its books. */
import { getMessage, type Examination, type Finding } from '../../../core/index.ts';
import { checkMarkups } from './markup/rules.ts';
import { formatCount } from './operator/operation.ts';
import type { Store } from './store.ts';
import { NoLedger } from './versions.ts';

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
