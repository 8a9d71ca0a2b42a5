/**
 * All operations of the ledger, and the verbs that run several of them. Its routes and its commands are made
 * of these lists.
 */
import type { Command } from '../../../../core/index.ts';
import type { Operation } from '../../../shared/operations.ts';
import { buildCommands, listVerbs, type Verbs } from '../../../shared/operator-verbs.ts';
import { markupOperations, markupVerbs } from '../markup/rules.ts';
import type { Store } from '../store.ts';
import { accountOperations, accountVerbs } from './accounts.ts';
import { actionOperations, buildVerbAction, findCommandAuthor } from './actions.ts';
import { auditOperations } from './audit.ts';
import { budgetOperations, budgetVerbs } from './budgets.ts';
import { callOperations, callVerbs } from './calls.ts';
import { correctionOperations } from './corrections.ts';
import { exportOperations, exportVerbs } from './export.ts';
import { keyOperations, keyVerbs } from './keys.ts';
import type { Offer } from './model-patterns.ts';
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

const verbs: Verbs<Ledger> = {
  ...listVerbs(operations),
  ...keyVerbs,
  ...accountVerbs,
  ...budgetVerbs,
  ...markupVerbs,
  ...callVerbs,
  ...exportVerbs,
};

/** What the verbs with a first word in common are for. */
const groups = {
  keys: 'create, limit and rotate API keys',
  accounts: 'create, move and close accounts',
  credit: 'add and correct credit',
  budgets: 'limit spending by hour, day, week or month',
  markups: 'charge more or less than vendors',
  calls: 'show calls',
  actions: 'show what operators changed',
  entries: 'export the entries of the ledger',
};

type Open = (settings: { readonly mustExist: boolean }) => Promise<Store>;

/** The verbs, on a ledger that `open` opens. They work with and without a running server. */
export function listCommands(open: Open, offer: Offer): Command[] {
  const author = findCommandAuthor();
  return buildCommands(
    verbs,
    async ({ name, creates = false }, { words, options }) => {
      const store = await open({ mustExist: !creates });
      const changing = store.withAction(buildVerbAction(author, name, words, options));
      return {
        getContext: (changes) => ({ store: changes ? changing : store, offer, author }),
        close: () => store.close(),
      };
    },
    groups,
  );
}
