/** What a store is asked about budgets besides calls, and what it answers. */
import type { Nano } from '../../../../core/index.ts';
import { read, report, write } from '../definitions.ts';
import type { BudgetRecord, CreatedBudget, NewBudget, Terms, Warning } from './budget.ts';

export interface BudgetChange {
  readonly id: number;
  /** What is not named stays as it is. */
  readonly changes: Partial<Terms>;
  readonly at: number;
}

export interface BudgetRaise {
  readonly id: number;
  readonly amount: Nano;
  readonly until: number;
  readonly at: number;
}

export interface BudgetQuery {
  readonly scope?: string | undefined;
  readonly subject?: string | undefined;
  readonly id?: number | undefined;
  readonly after?: number | undefined;
  readonly limit: number;
  /** The moment whose periods are shown. */
  readonly at: number;
}

export interface WarningQuery {
  readonly budget?: number | undefined;
  readonly after?: number | undefined;
  readonly limit: number;
}

/** A place of an account in the tree: below `parent`, or at the top where it is undefined. */
export interface Move {
  readonly account: string;
  readonly parent: string | undefined;
}

/** `cycle`: the parent is the account itself or below it. `deep`: the tree would have too many levels. */
export type Moved = 'moved' | 'not_found' | 'no_parent' | 'cycle' | 'deep';

/** Warnings due at `at`. Until `until` no other caller gets them, so that one process delivers each. */
export interface WarningClaim {
  readonly at: number;
  readonly until: number;
  readonly limit: number;
}

export interface EndedWarning {
  readonly id: number;
  /** When its delivery is tried again; undefined where it was delivered, or is given up. */
  readonly due?: number | undefined;
}

export const budgetOperations = {
  /** Stores a budget; if one of this scope, subject and period exists, it stays as it is. */
  createBudget: write<(budget: NewBudget) => CreatedBudget>(),
  /** Changes a budget for its current period too; false if there is no such budget. */
  changeBudget: write<(change: BudgetChange) => boolean>(),
  /** Raises a budget's limit until a moment; false if there is no such budget. */
  raiseBudget: write<(raise: BudgetRaise) => boolean>(),
  /** Deletes a budget; false if there is no such budget. */
  deleteBudget: write<(budget: { readonly id: number; readonly at: number }) => boolean>(),
  /** Moves an account, with all accounts below it, below another one or to the top. */
  moveAccount: write<(move: Move) => Moved>(),
  /** Takes warnings that are due, and counts a try of each. */
  takeWarnings: write<(claim: WarningClaim) => readonly Warning[]>(),
  /** Notes that a warning is delivered, given up, or tried again later. */
  endWarning: write<(warning: EndedWarning) => void>(),

  /** Whether any warning is due. */
  hasDueWarnings: read<(moment: { readonly at: number }) => boolean>(),

  /** Budgets in their current periods, in the order of their ids; deleted ones only if asked for by id. */
  listBudgets: report<(query: BudgetQuery) => readonly BudgetRecord[]>(),
  /** Warnings, the newest last. */
  listWarnings: report<(query: WarningQuery) => readonly Warning[]>(),
};
