/** How operators create, list, change and raise budgets, and read their warnings. */
import { z } from 'zod';
import { formatUsd, toOneLine, type GatewayError } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import { readInput } from '../../../shared/operator-routes.ts';
import type { Verbs } from '../../../shared/operator-verbs.ts';
import type { Budget } from '../../../shared/replies/budgets.ts';
import { findReached, scopes, type BudgetRecord, type Scope, type Warning } from '../budgets/budget.ts';
import { periodNames } from '../budgets/periods.ts';
import { listLine } from '../notices.ts';
import type { Store } from '../store.ts';
import { findKey, findKeys, nameKey, readKeyNames } from './key-records.ts';
import { defineOperation, type Ledger } from './operation.ts';
import {
  accountName,
  amount,
  budgetLimit,
  budgetTerms,
  moment,
  numberedPage,
  page,
  keepStated,
  tag,
  thresholds,
  buildNumberSchema,
} from './reading.ts';
import { toIso, buildPage, buildParamError, buildRefusal } from './replies.ts';
import { applyState, dryRun, stating, toShown } from './stated.ts';

const number = z.coerce.number().int('a budget is named by its number').min(1);
const budgetOrder = budgetTerms.extend({
  scope: z.enum(scopes, `a budget is of a ${scopes.join(', ')}`),
  /** A key by its id, its name or its last four characters, an account by its name, or a tag. */
  subject: tag,
});

/** The current period of a budget. `left` is what its running calls leave, too. */
export function describePeriod({ allowed, used, pending, resets }: BudgetRecord) {
  const left = allowed - used - pending;
  return {
    resets: toIso(resets),
    allowed: formatUsd(allowed),
    used: formatUsd(used),
    pending: formatUsd(pending),
    left: formatUsd(left > 0n ? left : 0n),
  };
}

/** A budget as it is shown; amounts are decimal strings in USD, and a key has its name. */
function describeBudget(budget: BudgetRecord, keyNames: ReadonlyMap<string, string>): Budget {
  const keyName = budget.scope === 'key' ? keyNames.get(budget.subject) : undefined;
  const { id, scope, subject, per, zone, hard, thresholds, start, used, allowed } = budget;
  const same = { id, scope, subject, per, zone, hard, thresholds };
  return {
    ...same,
    ...(keyName !== undefined && { key_name: keyName }),
    limit: formatUsd(budget.limit),
    raises: budget.raises.map(({ amount: by, until }) => ({ amount: formatUsd(by), until: toIso(until) })),
    created: toIso(budget.created),
    deleted: toIso(budget.deleted),
    current: {
      start: per === 'total' ? null : toIso(start),
      ...describePeriod(budget),
      reached: findReached(thresholds, used, allowed),
    },
  };
}

function readNames(store: Store, found: readonly BudgetRecord[]): Promise<ReadonlyMap<string, string>> {
  const ids = found.flatMap(({ scope, subject }) => (scope === 'key' ? subject : []));
  return readKeyNames(store, [...new Set(ids)]);
}

export function describeWarning(warning: Warning) {
  const { id, budget, event, at, start, threshold, used, allowed, scope, subject, per, zone } = warning;
  const counted = { id: budget, scope, subject, per, zone, start: per === 'total' ? null : toIso(start) };
  const figures = { allowed: formatUsd(allowed), used: formatUsd(used), threshold };
  return { id, event: `budget.${event}` as const, at: toIso(at), budget: { ...counted, ...figures } };
}

function buildBudgetError(id: unknown): GatewayError {
  return buildRefusal('not_found', `there is no budget ${String(id)}; the list of budgets has their numbers`);
}

/** What a name such as `team:company:month` says; undefined if it is none. */
function readBudgetName(name: string) {
  const [, scope, subject, per] = /^(\w+):(.+):(\w+)$/.exec(name) ?? [];
  return budgetOrder.pick({ scope: true, subject: true, per: true }).safeParse({ scope, subject, per }).data;
}

/** The budgets of one subject, one for each period at most. */
export function listBudgets(store: Store, scope: Scope, subject: string): Promise<readonly BudgetRecord[]> {
  return store.listBudgets({ scope, subject, at: Date.now(), limit: periodNames.length });
}

async function findBudget(store: Store, wanted: unknown): Promise<Budget> {
  const { data: id } = number.safeParse(wanted);
  const named = readBudgetName(String(wanted));
  const subject = named?.scope === 'key' ? (await findKey(store, named.subject)).id : named?.subject;
  const query = named ? { scope: named.scope, subject, limit: periodNames.length } : { id, limit: 1 };
  const listed = (id ?? named) ? await store.listBudgets({ ...query, at: Date.now() }) : [];
  const found = listed.find(({ per }) => named === undefined || per === named.per);
  if (!found) throw buildBudgetError(wanted);
  return describeBudget(found, await readNames(store, [found]));
}

/** Changes the one budget that the path names. */
async function editBudget(
  store: Store,
  wanted: unknown,
  edit: (id: number) => Promise<boolean>,
): Promise<Budget> {
  const { id } = await findBudget(store, wanted);
  if (!(await edit(id))) throw buildBudgetError(wanted);
  return findBudget(store, id);
}

/** `10/day` as an amount and a period; without a period it is for each month. */
export function readBudgetText(text: string): { limit: string; per?: string } {
  const [limit = '', ...per] = text.split('/');
  return per.length > 0 ? { limit, per: per.join('/') } : { limit };
}

/** Budgets of what is created. */
export const budgetFlag = {
  field: 'budgets',
  description: 'comma-separated budgets in UTC: 10/day,100/month',
  read: (typed: string | true) => (typed === true ? typed : typed.split(',').map(readBudgetText)),
};

export function formatBudget(budget: Budget): string {
  const { id, scope, subject, per, zone, limit, hard, raises, current, deleted } = budget;
  const parts = [
    `${id}  ${scope} ${subject}`,
    per === 'total' ? `${limit} USD in all` : `${limit} USD per ${per} (${zone})`,
    !hard && 'only warns',
    ...raises.map(({ amount, until }) => `${amount} more until ${until}`),
    `${current.used} used, ${current.pending} reserved, ${current.left} left`,
    current.reached > 0 && `${current.reached} % reached`,
    current.resets !== null && `resets ${current.resets}`,
    deleted !== null && 'deleted',
  ];
  return toOneLine(parts.filter((part) => part !== false).join('  '));
}

/** What calls count by. */
interface Caller {
  readonly account: string;
  readonly key?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

/**
 * The budgets of the key, its account, the teams that the account belongs to, and the tags of its calls. A
 * key is named as it is now: its budgets may be of one that it replaced.
 */
export async function listCounted(store: Store, { account, key, tags = [] }: Caller) {
  const counted: readonly (readonly [scope: Scope, subject: string])[] = [
    ...(key === undefined ? [] : [['key', key] as const]),
    ['account', account],
    ...(await listLine(store, account)).map((team) => ['team', team] as const),
    ...tags.map((each) => ['tag', each] as const),
  ];
  const found = counted.map(async ([scope, subject]) => {
    const budgets = await listBudgets(store, scope, subject);
    return budgets.map((budget) => ({ ...budget, scope, subject }));
  });
  return (await Promise.all(found)).flat();
}

export const budgetListing = defineOperation({
  route: 'GET /admin/budgets',
  summary: 'List budgets, and what is left of them',
  roles: roles.readOwn,
  input: page.extend({
    after: buildNumberSchema(0).optional(),
    scope: budgetOrder.shape.scope.optional(),
    subject: z.string().max(200).optional(),
    /** Only those that count the calls of this account: its own, its team's and those of teams above. */
    counting: accountName.optional(),
  }),
  async run({ store }, { subject, counting, ...query }) {
    if (counting !== undefined) {
      const found = await listCounted(store, { account: counting });
      return { data: found.map((budget) => describeBudget(budget, new Map())), next: null };
    }
    const named = query.scope === 'key' ? await nameKey(store, { key: subject }) : { key: subject };
    const budgets = await store.listBudgets({ ...query, subject: named.key, at: Date.now() });
    const names = await readNames(store, budgets);
    return buildPage(
      budgets,
      query.limit,
      (budget) => describeBudget(budget, names),
      ({ id }) => id,
    );
  },
  verbs: {
    'budgets list': {
      all: true,
      flags: {
        '--scope <scope>': 'only of a key, an account, a team or a tag',
        '--subject <name>': 'only of one key, account, team or tag',
        '--counting <account>': 'only those that count the calls of an account, of teams above too',
      },
      format: ({ data }) => data.map(formatBudget).join('\n') || 'There are no budgets.',
    },
  },
});

const creation = defineOperation({
  route: 'POST /admin/budgets',
  summary: 'Create a budget',
  details: 'A subject has one budget for each period. It counts calls from then on.',
  roles: roles.spend,
  statuses: [201],
  input: budgetOrder,
  async run({ store }, order) {
    const { scope } = order;
    const subject = scope === 'key' ? (await findKey(store, order.subject)).id : order.subject;
    const created = await store.createBudget({ ...order, subject, at: Date.now() });
    const missing =
      scope === 'key'
        ? `the key "${subject}" spends nothing: it is an operator key`
        : `there is no account "${subject}" to make a budget for`;
    if (created.status === 'not_found') throw buildRefusal('not_found', missing, 'subject');
    if (created.status === 'exists')
      throw buildRefusal(
        'conflict',
        `the budget ${created.id} is of this ${scope} for each ${order.per} already: change it`,
      );
    return findBudget(store, created.id);
  },
});

const budgetChange = z.strictObject({
  limit: budgetLimit.optional(),
  hard: z.boolean().optional(),
  thresholds: thresholds.optional(),
});

const change = defineOperation({
  route: 'PATCH /admin/budgets/:budget',
  summary: 'Change a budget',
  roles: roles.spend,
  input: budgetChange,
  run: ({ store }, changes, { budget }) =>
    editBudget(store, budget, (id) =>
      store.changeBudget({ id, changes: keepStated(changes), at: Date.now() }),
    ),
});

const shown = defineOperation({
  route: 'GET /admin/budgets/:budget',
  summary: 'Show a budget, with what is left of it and when it resets',
  roles: roles.readOwn,
  run: ({ store }, _, { budget }) => findBudget(store, budget),
});

/** What is stated of a budget. */
export const budgetState = budgetChange.extend({
  limit: budgetLimit,
  zone: budgetTerms.shape.zone.unwrap().optional(),
});

export const statedBudget = defineOperation({
  ...stating,
  route: 'PUT /admin/budgets/:budget',
  summary: 'State what a budget has to be, by a name such as team:company:month',
  roles: roles.spend,
  input: budgetState.extend({ dryRun }),
  async run(ledger, { dryRun: isDry, ...terms }, { budget: name }) {
    const named = readBudgetName(name);
    if (!named) throw buildParamError('budget', 'name it by scope, subject and period: team:company:month');
    const { scope, subject, per } = named;
    const keys = scope === 'key' ? await findKeys(ledger.store, subject) : [];
    const [key, other] = keys.filter(({ rotatedTo }) => rotatedTo === undefined);
    if (other) throw buildRefusal('conflict', `several keys are called "${subject}": name one by its id`);
    const after = toShown(terms);
    const order = { ...named, ...after, subject: key?.id ?? subject };
    return applyState({
      kind: 'budget',
      name,
      dryRun: isDry,
      after,
      async find() {
        const found = await listBudgets(ledger.store, scope, order.subject);
        const known = found.find((each) => each.per === per);
        return known && describeBudget(known, new Map());
      },
      make: () => creation.run(ledger, { input: order }),
      async change({ zone, ...changed }, known, isDry) {
        const clocks = `the budget ${String(known.id)} counts by the clocks of ${String(known.zone)}`;
        if (known.zone !== undefined && zone !== undefined)
          throw buildRefusal('conflict', `${clocks}; delete it to count by others`, 'zone');
        const params = { budget: String(known.id) };
        if (!isDry) await change.run(ledger, { params, input: changed });
      },
    });
  },
});

const raising = defineOperation({
  route: 'POST /admin/budgets/:budget/raises',
  summary: 'Raise a budget for a time',
  roles: roles.spend,
  statuses: [201],
  input: z.strictObject({
    amount,
    until: moment.refine((time) => time > Date.now(), 'that time is in the past: choose a later one'),
  }),
  run: ({ store }, order, { budget }) =>
    editBudget(store, budget, (id) => store.raiseBudget({ id, ...order, at: Date.now() })),
});

export const budgetOperations = [
  budgetListing,
  creation,
  shown,
  statedBudget,
  change,
  defineOperation({
    route: 'DELETE /admin/budgets/:budget',
    summary: 'Delete a budget',
    roles: roles.spend,
    run: ({ store }, _, { budget }) =>
      editBudget(store, budget, (id) => store.deleteBudget({ id, at: Date.now() })),
    verbs: { 'budgets delete <budget>': { format: formatBudget } },
  }),
  raising,
  defineOperation({
    route: 'GET /admin/budget-warnings',
    summary: 'List thresholds that budgets reached, and budgets that refused calls',
    roles: roles.read,
    input: numberedPage.extend({ budget: number.optional() }),
    run: async ({ store }, query) =>
      buildPage(await store.listWarnings(query), query.limit, describeWarning, ({ id }) => id),
  }),
];

export const budgetVerbs: Verbs<Ledger> = {
  'budgets raise <budget> <usd>': {
    description: 'raise a budget for a time',
    flags: {
      '<usd>': { field: 'amount' },
      '--until <time>': 'when the raise ends: 2027-01-31 or 2027-01-31T09:30:00Z',
    },
    async run({ call }, { args, input: { budget: _budget, ...order } }) {
      // A budget that does not exist is named before what is missing.
      await call(shown, { params: args });
      const raised = await call(raising, { params: args, input: order });
      return { json: raised, text: formatBudget(raised) };
    },
  },
  // Creates a budget, or changes the one of the same subject and period. Its time zone cannot change.
  'budgets set <scope> <subject> <limit>': {
    description:
      'limit what a key, an account, a team (an account with all below it) or a tag may cost: ' +
      '10/day, 100/month, 5/hour, 50/week or 1000/total (per month unless given)',
    flags: {
      '<limit>': { field: '', read: (typed) => (typed === true ? typed : readBudgetText(typed)) },
      '--zone <name>': 'IANA time zone of the periods (UTC unless given)',
      '--soft': { field: 'hard', description: 'only warn', read: () => false },
      '--hard': 'refuse calls beyond it, as a new budget does',
      '--warn <percentages>': {
        field: 'thresholds',
        description: 'when to warn: 50,80,100 unless given, or none',
        read: (typed) => (typed === 'none' ? [] : String(typed).split(',').map(Number)),
      },
    },
    async run({ call }, { input, options: { soft, hard } }) {
      if (soft === true && hard === true)
        throw new Error('a budget is soft or hard: give one of --soft and --hard');
      const { scope, subject, per } = readInput(budgetOrder, input);
      const { scope: _scope, subject: _subject, per: _per, ...terms } = input;
      const params = { budget: `${scope}:${subject}:${per}` };
      const { id } = await call(statedBudget, { params, input: terms });
      const stored = await call(shown, { params: { budget: String(id) } });
      return { json: stored, text: formatBudget(stored) };
    },
  },
};
