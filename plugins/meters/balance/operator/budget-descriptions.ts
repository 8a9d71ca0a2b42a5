/** What the addresses of budgets take and return, for the OpenAPI document. */
import { z } from 'zod';
import type { Description } from '../../../../core/index.ts';
import { json, list, time, usd } from '../../../shared/operator-description.ts';
import { scopes } from '../budgets/budget.ts';
import { periodNames } from '../budgets/periods.ts';
import { accountMove } from './accounts.ts';
import { budgetChanges, budgetOrder, budgetQuery, raiseOrder, warningQuery } from './budgets.ts';

const counted = {
  id: z.int(),
  scope: z.enum(scopes),
  subject: z.string(),
  per: z.enum(periodNames),
  zone: z.string().meta({ description: 'An IANA time zone.' }),
};
const budget = z
  .looseObject({
    ...counted,
    limit: usd,
    hard: z.boolean().meta({ description: 'Whether it refuses calls; otherwise it only warns.' }),
    thresholds: z.array(z.int()),
    raises: z.array(z.object({ amount: usd, until: time })),
    created: time,
    deleted: time.nullable(),
    current: z.object({
      start: time.nullable(),
      resets: time.nullable(),
      allowed: usd,
      used: usd,
      pending: usd,
      left: usd,
      reached: z
        .int()
        .meta({ description: 'The highest threshold that its use has reached, in per cent; 0: none.' }),
    }),
  })
  .meta({ title: 'Budget' });
const warning = z
  .looseObject({
    id: z.int(),
    event: z.enum(['budget.threshold', 'budget.exhausted']),
    at: time,
    budget: z.object({ ...counted, start: time.nullable(), allowed: usd, used: usd, threshold: z.int() }),
    delivered: z.boolean(),
    attempts: z.int(),
  })
  .meta({ title: 'BudgetWarning' });
const moved = z.looseObject({ account: z.string(), parent: z.string().nullable() });

export const budgetDescriptions: Readonly<Record<string, Omit<Description, 'error'>>> = {
  'PATCH /admin/accounts/:account': {
    summary: 'Move an account below another one, or to the top',
    body: json(accountMove),
    replies: { 200: json(moved) },
  },
  'GET /admin/budgets': {
    summary: 'Budgets',
    query: budgetQuery,
    replies: { 200: json(list(budget, z.int())) },
  },
  'POST /admin/budgets': {
    summary: 'Make a budget',
    details: 'A subject has one budget for each period. It counts calls from then on.',
    body: json(budgetOrder),
    replies: { 201: json(budget) },
  },
  'GET /admin/budgets/:budget': {
    summary: 'One budget, with what is left of it and when it resets',
    replies: { 200: json(budget) },
  },
  'PATCH /admin/budgets/:budget': {
    summary: 'Change a budget',
    body: json(budgetChanges),
    replies: { 200: json(budget) },
  },
  'DELETE /admin/budgets/:budget': { summary: 'Delete a budget', replies: { 200: json(budget) } },
  'POST /admin/budgets/:budget/raises': {
    summary: 'Raise a budget for a time',
    body: json(raiseOrder),
    replies: { 201: json(budget) },
  },
  'GET /admin/budget-warnings': {
    summary: 'Thresholds that budgets reached, and budgets that refused calls',
    query: warningQuery,
    replies: { 200: json(list(warning, z.int())) },
  },
};
