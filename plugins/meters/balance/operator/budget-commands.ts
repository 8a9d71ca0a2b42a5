/** The verbs for budgets, and for the teams that they count. */
import { toOneLine, type CommandOption, type CommandResult } from '../../../../core/index.ts';
import { readInput } from '../../../shared/operator-routes.ts';
import { accountMove, moveAccount } from './accounts.ts';
import * as budgets from './budgets.ts';
import { findOwners, readAll, type Verb } from './verbs.ts';

/** `10/day` as an amount and a period; without a period it is for each month. */
function readBudgetText(text: string): { limit: string; per?: string } {
  const [limit = '', ...per] = text.split('/');
  return per.length > 0 ? { limit, per: per.join('/') } : { limit };
}

function splitList(text: string | boolean | undefined): string[] | undefined {
  return typeof text === 'string' ? text.split(',') : undefined;
}

/** Options of a new key: what its calls count in. */
export const countingOptions: readonly CommandOption[] = [
  { flags: '--tags <tags>', description: 'tags of all its calls, with commas between' },
  { flags: '--budget <limits>', description: 'its budgets in UTC, with commas between: 10/day,100/month' },
];

export function readCounting({ tags, budget }: Readonly<Record<string, string | boolean | undefined>>) {
  return { tags: splitList(tags), budgets: splitList(budget)?.map(readBudgetText) };
}

export function formatBudget(budget: budgets.ShownBudget): string {
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

function buildResult(budget: budgets.ShownBudget): CommandResult {
  return { json: budget, text: formatBudget(budget) };
}

/** Percentages with commas between; `none` for none. */
function readThresholds(warn: string | boolean | undefined): unknown {
  if (typeof warn !== 'string') return warn;
  return warn === 'none' ? [] : warn.split(',').map(Number);
}

export const budgetVerbs: readonly Verb[] = [
  {
    name: 'budgets set <scope> <subject> <limit>',
    changes: true,
    description:
      'limit what a key, an account, a team (an account with all below it) or a tag may cost: ' +
      '10/day, 100/month, 5/hour, 50/week or 1000/total (per month unless given)',
    options: [
      {
        flags: '--zone <name>',
        description: 'the time zone whose clocks end the periods (UTC unless given)',
      },
      { flags: '--soft', description: 'only warn' },
      { flags: '--hard', description: 'refuse calls beyond it, as a new budget does' },
      { flags: '--warn <percentages>', description: 'when to warn: 50,80,100 unless given, or none' },
    ],
    async run({ store }, [scope, subject, limit = ''], { zone, soft, hard, warn }) {
      if (soft && hard) throw new Error('a budget is soft or hard: give one of --soft and --hard');
      const isHard = soft === true ? false : hard === true || undefined;
      const stated = { zone, hard: isHard, thresholds: readThresholds(warn) };
      const order = readInput(budgets.budgetOrder, { scope, subject, ...readBudgetText(limit), ...stated });
      const changes = readInput(
        budgets.budgetChanges.extend({ zone: budgets.budgetOrder.shape.zone.removeDefault().optional() }),
        stated,
      );
      return buildResult(await budgets.setBudget(store, order, changes));
    },
  },
  {
    name: 'budgets list',
    description: 'show all budgets, and what is left of them',
    options: [
      { flags: '--scope <scope>', description: 'only of a key, an account, a team or a tag' },
      { flags: '--subject <name>', description: 'only of one key, account, team or tag' },
    ],
    async run({ store }, _, { scope, subject: named }) {
      const { key: subject } = scope === 'key' ? await findOwners(store, { key: named }) : { key: named };
      const found = await readAll((after: number | undefined) =>
        budgets.listBudgets(store, readInput(budgets.budgetQuery, { scope, subject, after, limit: 1000 })),
      );
      return { json: found, text: found.map(formatBudget).join('\n') || 'There are no budgets.' };
    },
  },
  {
    name: 'budgets raise <budget> <usd>',
    changes: true,
    description: 'add to a budget for a time',
    options: [
      { flags: '--until <time>', description: 'when the raise ends: 2027-01-31, or 2027-01-31T09:30:00Z' },
    ],
    run: async ({ store }, [budget, amount], { until }) =>
      buildResult(await budgets.raiseBudget(store, budget, readInput(budgets.raiseOrder, { amount, until }))),
  },
  {
    name: 'budgets delete <budget>',
    changes: true,
    description: 'end a budget',
    run: async ({ store }, [budget]) => buildResult(await budgets.deleteBudget(store, budget)),
  },
  {
    name: 'accounts move <name> <parent>',
    changes: true,
    description: 'put an account, with all below it, below another one; "none" puts it to the top',
    async run({ store }, [name = '', above]) {
      const { parent, ...moved } = await moveAccount(
        store,
        name,
        readInput(accountMove, { parent: above === 'none' ? null : above }),
      );
      return {
        json: { ...moved, parent },
        text: `${name} is ${parent === null ? 'at the top' : `below ${parent}`}.`,
      };
    },
  },
];
