/** Invitations as the ledger stores them: by the hash of what their link holds, with what the key may do. */
import type { NewKey } from '../accounts.ts';
import type { NewBudget } from '../budgets/budget.ts';
import * as rows from '../rows.ts';

export const readInvitation = rows.createReader({
  id: rows.readText,
  account: rows.pickColumn('account_name', rows.readText),
  /** Who is invited: the holder of the key. */
  name: rows.readText,
  /** What the key may do, as JSON in the words of the admin API. */
  terms: rows.readText,
  author: rows.readText,
  created: rows.readCount,
  expires: rows.readCount,
  /** When it was redeemed or withdrawn. */
  ended: rows.allowNull(rows.readCount),
  /** The key that it gave. */
  key: rows.allowNull(rows.readText),
});
export type InvitationRecord = ReturnType<typeof readInvitation>;

export interface NewInvitation extends Omit<InvitationRecord, 'ended' | 'key'> {
  /** SHA-256 of what the link holds. */
  readonly hash: string;
}

export interface Redemption {
  readonly hash: string;
  readonly key: NewKey;
  readonly budgets: readonly NewBudget[];
}
