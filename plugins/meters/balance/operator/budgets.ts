/** How operators create, list, change and raise budgets, and read their warnings. */
import { z } from 'zod';
import { formatUsd, type GatewayError } from '../../../../core/index.ts';
import { findReached, scopes, type BudgetRecord, type Warning } from '../budgets/budget.ts';
import type { Store } from '../store.ts';
import { findKey, readKeyNames } from './keys.ts';
import {
  amount,
  budgetLimit,
  budgetTerms,
  moment,
  page,
  keepStated,
  tag,
  thresholds,
  buildNumberSchema,
} from './reading.ts';
import { toIso, buildPage, buildRefusal } from './replies.ts';

const number = z.coerce.number().int('a budget is named by its number').min(1);
export const budgetOrder = budgetTerms.extend({
  scope: z.enum(scopes, `a budget is of a ${scopes.join(', ')}`),
  /** A key by its id or its last four characters, an account by its name, or a tag. */
  subject: tag,
});
export const budgetChanges = z.strictObject({
  limit: budgetLimit.optional(),
  hard: z.boolean().optional(),
  thresholds: thresholds.optional(),
});
export const raiseOrder = z.strictObject({
  amount,
  until: moment.refine((time) => time > Date.now(), 'that time is over; name one to come'),
});
export const budgetQuery = page.extend({
  after: buildNumberSchema(0).optional(),
  scope: budgetOrder.shape.scope.optional(),
  subject: z.string().max(200).optional(),
});
export const warningQuery = page.extend({
  after: buildNumberSchema(0).optional(),
  budget: number.optional(),
});

/** A budget as it is shown; amounts are decimal strings in USD, and a key has its name. */
function describeBudget(budget: BudgetRecord, keyNames: ReadonlyMap<string, string>) {
  const keyName = budget.scope === 'key' ? keyNames.get(budget.subject) : undefined;
  const { limit, raises, created, deleted, start, resets, used, pending, allowed, ...same } = budget;
  const left = allowed - used - pending;
  return {
    ...same,
    ...(keyName !== undefined && { key_name: keyName }),
    limit: formatUsd(limit),
    raises: raises.map(({ amount: by, until }) => ({ amount: formatUsd(by), until: toIso(until) })),
    created: toIso(created),
    deleted: toIso(deleted),
    current: {
      start: same.per === 'total' ? null : toIso(start),
      resets: toIso(resets),
      allowed: formatUsd(allowed),
      used: formatUsd(used),
      pending: formatUsd(pending),
      left: formatUsd(left > 0n ? left : 0n),
      reached: findReached(same.thresholds, used, allowed),
    },
  };
}

export type ShownBudget = ReturnType<typeof describeBudget>;

/** The names of the keys that budgets are of. */
function readNames(store: Store, found: readonly BudgetRecord[]): Promise<ReadonlyMap<string, string>> {
  const ids = found.flatMap(({ scope, subject }) => (scope === 'key' ? subject : []));
  return readKeyNames(store, [...new Set(ids)]);
}

/** A warning as it is shown, and as it is delivered. */
export function describeWarning(warning: Warning) {
  const { id, budget, event, at, start, threshold, used, allowed, scope, subject, per, zone } = warning;
  return {
    id,
    event: `budget.${event}`,
    at: toIso(at),
    budget: {
      id: budget,
      scope,
      subject,
      per,
      zone,
      start: per === 'total' ? null : toIso(start),
      allowed: formatUsd(allowed),
      used: formatUsd(used),
      threshold,
    },
  };
}

function buildBudgetError(id: unknown): GatewayError {
  return buildRefusal('not_found', `there is no budget ${String(id)}; the list of budgets has their numbers`);
}

export async function findBudget(store: Store, wanted: unknown): Promise<ShownBudget> {
  const { data: id } = number.safeParse(wanted);
  const [found] = id === undefined ? [] : await store.listBudgets({ id, limit: 1, at: Date.now() });
  if (!found) throw buildBudgetError(wanted);
  return describeBudget(found, await readNames(store, [found]));
}

type BudgetOrder = z.output<typeof budgetOrder>;

/**
 * Creates a budget. If this subject already has one for the period, `exists` is its number and nothing
 * changes.
 */
async function storeBudget(store: Store, order: BudgetOrder): Promise<{ id: number; exists: boolean }> {
  const { scope } = order;
  const subject = scope === 'key' ? (await findKey(store, order.subject)).id : order.subject;
  const created = await store.createBudget({ ...order, subject, at: Date.now() });
  if (created.status === 'not_found')
    throw buildRefusal(
      'not_found',
      scope === 'key'
        ? `the key "${subject}" spends nothing: it is an operator key`
        : `there is no account "${subject}" to make a budget for`,
      'subject',
    );
  return { id: created.id, exists: created.status === 'exists' };
}

export async function createBudget(store: Store, order: BudgetOrder): Promise<ShownBudget> {
  const { id, exists } = await storeBudget(store, order);
  if (exists)
    throw buildRefusal(
      'conflict',
      `the budget ${id} is of this ${order.scope} for each ${order.per} already: change it`,
    );
  return findBudget(store, id);
}

/** Creates a budget, or changes the one of the same subject and period. Its time zone cannot change. */
export async function setBudget(
  store: Store,
  order: BudgetOrder,
  stated: Changes & { readonly zone?: string | undefined },
): Promise<ShownBudget> {
  const { id, exists } = await storeBudget(store, order);
  if (!exists) return findBudget(store, id);
  const { zone, ...changes } = stated;
  const found = await findBudget(store, id);
  if (zone !== undefined && zone !== found.zone)
    throw buildRefusal(
      'conflict',
      `the budget ${id} counts by the clocks of ${found.zone}; delete it to count by those of ${zone}`,
      'zone',
    );
  return changeBudget(store, id, { limit: order.limit, ...changes });
}

type Changes = z.output<typeof budgetChanges>;

export async function changeBudget(store: Store, wanted: unknown, stated: Changes): Promise<ShownBudget> {
  const { id } = await findBudget(store, wanted);
  if (!(await store.changeBudget({ id, changes: keepStated(stated), at: Date.now() })))
    throw buildBudgetError(wanted);
  return findBudget(store, id);
}

type Raise = z.output<typeof raiseOrder>;

export async function raiseBudget(store: Store, wanted: unknown, raise: Raise): Promise<ShownBudget> {
  const { id } = await findBudget(store, wanted);
  if (!(await store.raiseBudget({ id, ...raise, at: Date.now() }))) throw buildBudgetError(wanted);
  return findBudget(store, id);
}

export async function deleteBudget(store: Store, wanted: unknown): Promise<ShownBudget> {
  const { id } = await findBudget(store, wanted);
  if (!(await store.deleteBudget({ id, at: Date.now() }))) throw buildBudgetError(wanted);
  return findBudget(store, id);
}

export async function listBudgets(store: Store, query: z.output<typeof budgetQuery>) {
  const budgets = await store.listBudgets({ ...query, at: Date.now() });
  const names = await readNames(store, budgets);
  return buildPage(
    budgets,
    query.limit,
    (budget) => describeBudget(budget, names),
    ({ id }) => id,
  );
}

export async function listWarnings(store: Store, query: z.output<typeof warningQuery>) {
  return buildPage(
    await store.listWarnings(query),
    query.limit,
    (warning) => ({
      ...describeWarning(warning),
      delivered: warning.due === undefined,
      attempts: warning.attempts,
    }),
    ({ id }) => id,
  );
}
