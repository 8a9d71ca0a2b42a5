/** How operators create an account in one step, with its terms and keys, and change its terms later. */
import { z } from 'zod';
import { roles } from '../../../shared/operations.ts';
import { readInput } from '../../../shared/operator-routes.ts';
import { buildListFlag } from '../../../shared/operator-verbs.ts';
import type { ListedAccount } from '../../../shared/replies/accounts.ts';
import type { Store, TermsChange } from '../store.ts';
import {
  accountFields,
  addCredit,
  buildAccountError,
  describeRecord,
  formatBalance,
  memberChange,
  move,
  requireRecord,
  stateChange,
} from './accounts.ts';
import { budgetFlag, budgetState, listBudgets, statedBudget } from './budgets.ts';
import { keyCreation } from './keys.ts';
import { defineOperation, type Ledger } from './operation.ts';
import { accountName, amount, budgetTerms, checkModelPatterns, label } from './reading.ts';
import { buildParamError, buildRefusal } from './replies.ts';
import { applyState, dryRun, stating, toShown } from './stated.ts';
import { describeRule, readRule } from './teams.ts';
import { allowanceChange, formatTerms, readTermFlags, termFlags } from './terms.ts';

const unchanged = {
  closed: 'a closed account stays as it is',
  no_budget:
    'postpaid: no budget that refuses calls counts this account or a team that it is in, so nothing would ' +
    'limit what it owes; set one first',
} as const;

async function changeTerms(store: Store, account: string, changes: TermsChange['changes']): Promise<void> {
  const changed = await store.setTerms({ account, changes, at: Date.now() });
  if (changed === 'not_found') throw buildAccountError(account);
  if (changed === 'no_amount') throw buildParamError('allowance.amount', 'say how much, as 100/month');
  if (changed !== 'changed')
    throw buildRefusal('conflict', unchanged[changed], changed === 'closed' ? undefined : 'postpaid');
}

const accountOrder = z
  .strictObject({
    name: accountName,
    /** The account below which it is. */
    parent: accountName.optional(),
    credit: amount.optional(),
    postpaid: z.boolean().default(false),
    allowance: allowanceChange.extend({ amount }).optional(),
    /** Of the account itself. */
    budgets: z.array(budgetTerms).max(10).default([]),
    /** What its first keys are called. */
    keys: z.array(label.min(1, 'a key needs a name')).max(100, 'at most 100 keys at once').default([]),
  })
  .refine(({ postpaid, budgets }) => !postpaid || budgets.some(({ hard }) => hard), {
    path: ['postpaid'],
    message: 'a budget has to limit what it owes, as --budget 500/month',
  });

function formatTerm(account: ListedAccount): string {
  return [formatBalance(account), formatTerms(account)].filter(Boolean).join('\n');
}

/** An account as it is shown, with what is stated of it. */
async function findAccount({ store }: Ledger, account: string) {
  const [record] = await store.listAccounts({ wanted: account, limit: 1 });
  if (!record) return undefined;
  const rule = readRule(record);
  const found = await listBudgets(store, 'account', account);
  const budgets = toShown(Object.fromEntries(found.map((budget) => [budget.per, budget])));
  return { id: null, ...describeRecord(record), memberKeys: rule ? describeRule(rule) : null, budgets };
}

const creation = defineOperation({
  route: 'POST /admin/accounts',
  summary: 'Create an account, with its terms and its first keys',
  roles: roles.manage,
  statuses: [201],
  input: accountOrder,
  async run(ledger, { name: account, parent, credit, postpaid, allowance, budgets, keys }) {
    const { store } = ledger;
    if (parent !== undefined) await requireRecord(store, parent);
    const isNew = await store.createAccount({ name: account, at: Date.now() });
    if (!isNew && (await findAccount(ledger, account)))
      throw buildRefusal('conflict', `there is an account "${account}" already`);
    if (!isNew) throw buildRefusal('conflict', `"${account}" was erased: its name is not used again`);
    if (parent !== undefined) await store.moveAccount({ account, parent });
    for (const budget of budgets)
      await store.createBudget({ ...budget, scope: 'account', subject: account, at: Date.now() });
    if (postpaid || allowance) await changeTerms(store, account, { postpaid, allowance });
    if (credit !== undefined) await addCredit(store, { account, amount: credit, kind: 'top-up' });
    const made = await Promise.all(
      keys.map((each) => keyCreation.run(ledger, { input: { account, name: each } })),
    );
    return { ...describeRecord(await requireRecord(store, account)), keys: made };
  },
  verbs: {
    'accounts create <name>': {
      creates: true,
      flags: {
        ...termFlags,
        '--parent <account>': 'the account below which it is',
        '--budget <limits>': budgetFlag,
        '--credit <usd>': 'credit to add once',
        '--keys <names>': buildListFlag('names of its first keys'),
      },
      complete: readTermFlags,
      format({ keys, ...account }) {
        const width = Math.max(...keys.map(({ name }) => name.length));
        const secrets = keys.map(({ name, key }) => `${name.padEnd(width)}  ${key}`);
        const save = keys.length > 0 ? ['Save these keys now. They cannot be shown again.', ...secrets] : [];
        return [formatTerm(account), ...save].join('\n');
      },
    },
  },
});

const termFields = z.strictObject({
  postpaid: z.boolean().optional(),
  allowance: allowanceChange.nullable().optional(),
});

const termsChange = defineOperation({
  route: 'PATCH /admin/accounts/:account/terms',
  summary: 'Change whether an account pays later, and its allowance',
  details:
    'A first allowance is credited at once, for the current period. A change counts from the next period ' +
    'on, and null ends it. An account pays later only if a budget that refuses calls counts it.',
  roles: roles.spend,
  input: termFields.refine(
    ({ postpaid, allowance }) => postpaid !== undefined || allowance !== undefined,
    'name what to change: postpaid or allowance',
  ),
  async run({ store }, changes, { account }) {
    await changeTerms(store, account, changes);
    return describeRecord(await requireRecord(store, account));
  },
  verbs: {
    'accounts set <account>': {
      flags: { ...termFlags, '--prepaid': 'it pays in advance again' },
      complete: readTermFlags,
      format: formatTerm,
    },
  },
});

/** The operations that change an account, in their order: a closed one stays as it is. */
const parts = [
  [move, ['parent']],
  [termsChange, ['postpaid', 'allowance']],
  [memberChange, ['memberKeys']],
  [stateChange, ['state']],
] as const;

export const statedAccount = defineOperation({
  ...stating,
  route: 'PUT /admin/accounts/:account',
  summary: 'State what an account has to be',
  input: accountFields
    .extend(termFields.shape)
    .partial()
    .extend({
      /** Of the account itself. One that pays later needs a budget from the start. */
      budgets: z
        .array(budgetState.extend({ per: budgetTerms.shape.per }))
        .max(10)
        .default([]),
      dryRun,
    }),
  async run(ledger, { budgets, dryRun: isDry, memberKeys, ...terms }, { account: named }) {
    const account = readInput(accountName, named);
    await checkModelPatterns(memberKeys?.models, ledger.offer, 'memberKeys.models');
    const byPeriod = Object.fromEntries(budgets.map(({ per, ...budget }) => [per, budget]));
    const rule = memberKeys && describeRule(memberKeys);
    const after = toShown({ ...terms, memberKeys: rule, budgets: byPeriod });
    return applyState({
      kind: 'account',
      name: account,
      dryRun: isDry,
      after,
      find: () => findAccount(ledger, account),
      make: () => creation.run(ledger, { input: { name: account, parent: terms.parent ?? undefined } }),
      async change(changed, _, isDry) {
        for (const [per, budget] of Object.entries(byPeriod))
          await statedBudget.run(ledger, {
            params: { budget: `account:${account}:${per}` },
            input: { ...toShown(budget), dryRun: isDry },
          });
        for (const [operation, names] of isDry ? [] : parts) {
          const wanted = names.filter((name) => name in changed).map((name) => [name, after[name]]);
          const input = Object.fromEntries(wanted);
          if (wanted.length > 0) await operation.run(ledger, { params: { account }, input });
        }
      },
    });
  },
});

export const agreementOperations = [creation, statedAccount, termsChange];
