/**
 * All operations of the ledger, and the verbs that run several of them, with the log of what operators
 * changed. The ledger's routes and commands are made of these lists.
 */
import { z } from 'zod';
import type { Command, RouteRequest } from '../../../../core/index.ts';
import { type Operation, roles } from '../../../shared/operations.ts';
import { buildCommands, findCommandAuthor, listVerbs, type Verbs } from '../../../shared/operator-verbs.ts';
import { formatTable } from '../../../shared/table.ts';
import { markupOperations, markupVerbs } from '../markups.ts';
import type { Store, Action } from '../store.ts';
import { accountOperations, accountVerbs } from './accounts.ts';
import { agreementOperations } from './agreements.ts';
import { applyVerbs } from './apply.ts';
import { auditOperations } from './audit.ts';
import { budgetOperations, budgetVerbs } from './budgets.ts';
import { callOperations, callVerbs } from './calls.ts';
import { erasureOperations } from './erasures.ts';
import { exportOperations, exportVerbs } from './export.ts';
import { invitationOperations } from './invitations.ts';
import { nameKey, readKeyNames } from './key-records.ts';
import { keyOperations, keyVerbs } from './keys.ts';
import { type Ledger, defineOperation } from './operation.ts';
import { overviewOperations } from './overview.ts';
import { buildNumberSchema, checkPeriod, label, period } from './reading.ts';
import { reconcileVerbs } from './reconcile.ts';
import { toIso, buildPage } from './replies.ts';
import { reportOperations } from './reports.ts';
import { searchOperations } from './search.ts';
import { sessionOperations } from './sessions.ts';
import { statementOperations } from './statement.ts';

/** Characters of a body or of options that are stored. */
const longestDetail = 4000;

/** Orders hold no secrets: the gateway creates the secrets of keys, and shows them only in the reply. */
function shortenDetail(detail: unknown): string {
  return (JSON.stringify(detail) ?? '{}').slice(0, longestDetail);
}

const subjectsSchema = z.looseObject({}).catch({});
/** What an order is about that names nothing in its path or its arguments: the first that it states. */
const subjects = ['account', 'key', 'call', 'reference', 'subject', 'model', 'name'];

function findSubject(named: readonly string[], order: unknown): string {
  if (named.length > 0) return named.join(' ');
  const stated = subjectsSchema.parse(order);
  const found = subjects.map((name) => stated[name]).find((each) => typeof each === 'string');
  return typeof found === 'string' ? found.slice(0, 200) : '';
}

export function buildRouteAction(author: string, route: string, { params, body }: RouteRequest): Action {
  const subject = findSubject(Object.values(params), body);
  return { at: Date.now(), author, action: route, subject, detail: shortenDetail(body) };
}

export function buildVerbAction(
  author: string,
  verb: string,
  args: readonly string[],
  options: Readonly<Record<string, unknown>>,
): Action {
  const [action = verb] = verb.split(/ [<[]/);
  const subject = findSubject(args, options);
  return { at: Date.now(), author, action, subject, detail: shortenDetail(options) };
}

const actionOperations = [
  defineOperation({
    route: 'GET /admin/actions',
    summary: 'List what operators changed, newest first',
    roles: roles.read,
    input: checkPeriod(
      z.strictObject({
        before: buildNumberSchema(1).optional(),
        /** The same as `before`, as other lists have it. */
        after: buildNumberSchema(1).optional(),
        author: label.optional(),
        action: label.optional(),
        subject: label.optional(),
        ...period,
        limit: buildNumberSchema(1, 1000).default(100),
      }),
    ),
    async run({ store }, { after, before = after, author: key, ...query }) {
      const { key: author } = await nameKey(store, { key });
      const actions = await store.listActions({ ...query, author, before });
      const names = await readKeyNames(store, [...new Set(actions.map(({ author }) => author))]);
      return buildPage(
        actions,
        query.limit,
        ({ at, ...action }) => ({ ...action, at: toIso(at), author_name: names.get(action.author) }),
        ({ number }) => number,
      );
    },
    verbs: {
      'actions list': {
        flags: { '--limit <count>': 'how many (100 unless given)' },
        format: ({ data }) =>
          formatTable(
            ['AT', 'AUTHOR', 'ACTION', 'SUBJECT', 'DETAIL'],
            data.map(({ at, author, action, subject, detail }) => [at, author, action, subject, detail]),
            { many: 'actions' },
          ),
      },
    },
  }),
];

export const operations: readonly Operation<Ledger>[] = [
  ...keyOperations,
  ...accountOperations,
  ...agreementOperations,
  ...erasureOperations,
  ...invitationOperations,
  ...budgetOperations,
  ...markupOperations,
  ...reportOperations,
  ...statementOperations,
  ...callOperations,
  ...exportOperations,
  ...overviewOperations,
  ...searchOperations,
  ...sessionOperations,
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
  ...applyVerbs,
  ...reconcileVerbs,
};

/** What the verbs with a first word in common are for. */
const groups = {
  erase: 'erase what is kept of an account or a person',
  invitations: 'invite members to an account',
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
export function listCommands(open: Open, shared: Pick<Ledger, 'offer' | 'erase'>): Command[] {
  const author = findCommandAuthor();
  return buildCommands(
    verbs,
    async ({ name, creates = false }, { words, options }) => {
      const store = await open({ mustExist: !creates });
      const changing = store.withAction(buildVerbAction(author, name, words, options));
      return {
        getContext: (changes) => ({ ...shared, store: changes ? changing : store, author }),
        close: () => store.close(),
      };
    },
    groups,
  );
}
