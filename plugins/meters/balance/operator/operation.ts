/** What the ledger's operations work with, and what their verbs share. */
import { createDefiner } from '../../../shared/operations.ts';
import type { EraseHook } from '../erasures/keeper.ts';
import type { LastAudit } from '../ledger-service.ts';
import type { Store } from '../store.ts';
import type { Offer } from './reading.ts';

export interface Ledger {
  readonly store: Store;
  readonly offer: Offer;
  readonly erase: EraseHook;
  /** Who runs the operation, for the log of operators' actions. */
  readonly author: string;
  /** Whether a member runs it, who has no money to give. */
  readonly isMember?: boolean;
  /** Stores the calls that ended in this process; a command has none. */
  flush?(): Promise<void>;
  /** The last audit of the gateway; a command knows none. */
  readonly lastAudit?: LastAudit | undefined;
}

export const defineOperation = createDefiner<Ledger>();

export const namedKey = 'by its id, its name or its last four characters';

/** Options that narrow a list, a report or an export. */
export const only = {
  owner: { '--account <name>': 'only of one account', '--key <key>': `only by one key, ${namedKey}` },
  model: { '--model <id>': 'only of one model' },
  period: {
    '--from <time>': 'start (inclusive): 2027-01-31 or 2027-01-31T09:30:00Z',
    '--to <time>': 'end (exclusive)',
  },
};

/** `1 account`, `2 accounts`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
