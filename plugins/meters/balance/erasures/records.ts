/** Erasures as the ledger stores them: of an account, or of all keys of a holder. */
import * as rows from '../rows.ts';

export const readErasure = rows.createReader({
  id: rows.readText,
  /** The name that the account has now; undefined if a holder is erased. */
  account: rows.pickColumn('account_name', rows.allowNull(rows.readText)),
  /** The name that the account had, or the holder; undefined once all is erased. */
  former: rows.allowNull(rows.readText),
  /** The ids of the keys, until all is erased. */
  keys: rows.readTexts,
  created: rows.readCount,
  /** How many calls were erased. */
  erased: rows.readCount,
  ended: rows.allowNull(rows.readCount),
});
export type ErasureRecord = ReturnType<typeof readErasure>;

export interface NewErasure {
  readonly id: string;
  readonly account?: string | undefined;
  readonly holder?: string | undefined;
  readonly at: number;
}

/** `running`: it was begun before and has not ended. */
export type BegunErasure =
  | { readonly status: 'created' | 'running'; readonly id: string }
  | { readonly status: 'not_found' | 'held' };

export interface ErasedPart {
  readonly isDone: boolean;
  /** The idempotency claim from which the next part continues. */
  readonly after: string;
}
