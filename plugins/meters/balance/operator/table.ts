/**
 * All operations of the ledger, and the verbs that run several of them. Its routes and its commands are made
 * of these lists.
 */
import type { Operation } from '../../../shared/operations.ts';
import { listVerbs, type Verb } from '../../../shared/operator-verbs.ts';
import { markupOperations, markupVerbs } from '../markup/rules.ts';
import { accountOperations, accountVerbs } from './accounts.ts';
import { actionOperations } from './actions.ts';
import { auditOperations } from './audit.ts';
import { budgetOperations, budgetVerbs } from './budgets.ts';
import { callOperations, callVerbs } from './calls.ts';
import { correctionOperations } from './corrections.ts';
import { exportOperations, exportVerbs } from './export.ts';
import { keyOperations, keyVerbs } from './keys.ts';
import type { Ledger } from './operation.ts';
import { overviewOperations } from './overview.ts';
import { reportOperations } from './reports.ts';
import { statementOperations } from './statement.ts';

export const operations: readonly Operation<Ledger>[] = [
  ...keyOperations,
  ...accountOperations,
  ...correctionOperations,
  ...budgetOperations,
  ...markupOperations,
  ...reportOperations,
  ...statementOperations,
  ...callOperations,
  ...exportOperations,
  ...overviewOperations,
  ...actionOperations,
  ...auditOperations,
];

export const verbs: readonly Verb<Ledger>[] = [
  ...listVerbs(operations),
  ...keyVerbs,
  ...accountVerbs,
  ...budgetVerbs,
  ...markupVerbs,
  ...callVerbs,
  ...exportVerbs,
];
