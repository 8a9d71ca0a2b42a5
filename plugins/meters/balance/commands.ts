/**
 * The verbs for accounts, keys, credit and usage. Each opens the ledger itself, so they work with and without
 * a running server.
 */
import type { Command } from '../../../core/index.ts';
import { buildCommands } from '../../shared/operator-verbs.ts';
import { buildVerbAction, findCommandAuthor } from './operator/actions.ts';
import type { Offer } from './operator/model-patterns.ts';
import { verbs } from './operator/table.ts';
import type { Store } from './store.ts';

/** What the verbs with a first word in common are for. */
const groups: Readonly<Record<string, string>> = {
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

/** The verbs, on a ledger that `open` opens. */
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
