/**
 * Accounts, keys and budgets as a repository states them. A `PUT` makes what is missing and changes what is
 * different, so that the same order again changes nothing. What is not stated stays as it is, and null takes
 * a limit away. A name is the handle: of a key within its account, of a budget `team:company:month`.
 */
import { z } from 'zod';
import { formatUsd } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import { readInput } from '../../../shared/operator-routes.ts';
import type { Fields } from '../../../shared/operator-verbs.ts';
import type { Replies, RouteName } from '../../../shared/replies/routes.ts';
import type { Scope } from '../budgets/budget.ts';
import { periodNames } from '../budgets/periods.ts';
import { issueKey } from '../keys.ts';
import { accountStates, type KeyRecord } from '../store.ts';
import { accountOperations, describeRecord, requireRecord } from './accounts.ts';
import { agreementOperations } from './agreements.ts';
import { readBudgetName } from './budgets.ts';
import { describeKey, findKeys } from './key-records.ts';
import { defineOperation, type Ledger } from './operation.ts';
import * as reading from './reading.ts';
import { buildParamError, buildRefusal, toIso } from './replies.ts';
import { describeRule, memberRule, readRule } from './teams.ts';
import { allowanceChange } from './terms.ts';

type Stated = Replies['PUT /admin/budgets/:budget'];
type Changes = Stated['changes'];

const dryRun = z.boolean().default(false);

const budgetState = z.strictObject({
  limit: reading.budgetLimit,
  zone: reading.budgetTerms.shape.zone.unwrap().optional(),
  hard: z.boolean().optional(),
  thresholds: reading.thresholds.optional(),
});
const usualBudget = reading.budgetTerms.omit({ limit: true, per: true }).parse({});

const accountState = z.strictObject({
  parent: reading.accountName.nullable().optional(),
  state: z.enum(accountStates, `the states of an account are ${accountStates.join(', ')}`).optional(),
  postpaid: z.boolean().optional(),
  allowance: allowanceChange.nullable().optional(),
  memberKeys: memberRule.nullable().optional(),
  /** Of the account itself. One that pays later needs a budget from the start. */
  budgets: z
    .array(budgetState.extend({ per: reading.budgetTerms.shape.per }))
    .max(10)
    .default([]),
  /** Only says what would change. */
  dryRun,
});

const keyState = z.strictObject({
  account: reading.accountName,
  holder: reading.holder.nullable().optional(),
  disabled: z.boolean().optional(),
  /** A time in the past is refused only if it is new: a repository may state keys that have expired. */
  limits: reading.limits.extend({ expires: reading.moment.nullable().optional() }).optional(),
  tags: reading.tags.optional(),
  dryRun,
});

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What is stated and different. Both are as replies show them. */
function listChanges(before: Fields, after: Fields, above = ''): Changes {
  return Object.entries(after).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const known = before[name] ?? null;
    const path = above + name;
    if (isFields(value)) return listChanges(isFields(known) ? known : {}, value, `${path}.`);
    return JSON.stringify(known) === JSON.stringify(value) ? [] : [{ path, before: known, after: value }];
  });
}

function describeOutcome(
  what: Pick<Stated, 'kind' | 'name' | 'id' | 'made' | 'dryRun'>,
  changes: Changes,
): Stated {
  return { ...what, changed: what.made || changes.length > 0, changes };
}

interface Counted {
  readonly scope: Scope;
  /** Undefined: what it is of does not exist yet. */
  readonly subject: string | undefined;
  readonly per: (typeof periodNames)[number];
  readonly dryRun: boolean;
}

async function applyBudget(
  ledger: Ledger,
  counted: Counted,
  terms: z.output<typeof budgetState>,
): Promise<Pick<Stated, 'id' | 'made' | 'changes'>> {
  const { store } = ledger;
  const { scope, subject, per } = counted;
  const at = Date.now();
  const query = { scope, subject, at, limit: periodNames.length };
  const known = (subject === undefined ? [] : await store.listBudgets(query)).find(
    (each) => each.per === per,
  );
  const before = known ? { ...known, limit: formatUsd(known.limit) } : {};
  const changes = listChanges({ ...before }, { ...terms, limit: formatUsd(terms.limit) });
  if (known && changes.some(({ path }) => path === 'zone')) {
    const clocks = `the budget ${known.id} counts by the clocks of ${known.zone}`;
    throw buildRefusal('conflict', `${clocks}; delete it to count by others`, 'zone');
  }
  if (counted.dryRun) return { id: known?.id ?? null, made: !known, changes };
  const { zone, ...rest } = reading.keepStated(terms);
  if (known) {
    if (changes.length > 0) await store.changeBudget({ id: known.id, changes: rest, at });
    return { id: known.id, made: false, changes };
  }
  const order = { ...usualBudget, ...rest, ...(zone !== undefined && { zone }), limit: terms.limit };
  const created = await store.createBudget({ ...order, scope, subject: subject ?? '', per, at });
  // Another process made it just now.
  if (created.status === 'exists') return applyBudget(ledger, counted, terms);
  if (created.status === 'not_found')
    throw buildRefusal('not_found', `there is no ${scope} to make this budget for`);
  return { id: created.id, made: true, changes };
}

/** The operations that change an account, in their order, each with the fields that it takes. */
const patches: readonly (readonly [RouteName, ...(readonly string[])])[] = [
  ['PATCH /admin/accounts/:account', 'parent'],
  ['PATCH /admin/accounts/:account/terms', 'postpaid', 'allowance'],
  ['PATCH /admin/accounts/:account/members', 'memberKeys'],
  ['PATCH /admin/accounts/:account/state', 'state'],
];

async function changeAccount(
  ledger: Ledger,
  account: string,
  after: Fields,
  changes: Changes,
): Promise<void> {
  const changed = new Set(changes.map(({ path }) => path.replace(/\..*/s, '')));
  for (const [route, ...names] of patches) {
    const wanted = names.filter((name) => changed.has(name));
    if (wanted.length === 0) continue;
    const input = Object.fromEntries(wanted.map((name) => [name, after[name]]));
    const operation = [...accountOperations, ...agreementOperations].find((each) => each.route === route);
    await operation?.run(ledger, { params: { account }, input });
  }
}

async function applyAccount(
  ledger: Ledger,
  state: z.output<typeof accountState>,
  account: string,
): Promise<Stated> {
  const { store, offer } = ledger;
  const { budgets: orders, dryRun: isDry, ...terms } = state;
  await reading.checkModelPatterns(terms.memberKeys?.models, offer, 'memberKeys.models');
  const [known] = await store.listAccounts({ wanted: account, limit: 1 });
  const { allowance, memberKeys } = terms;
  const after = {
    ...terms,
    allowance:
      allowance?.amount === undefined ? allowance : { ...allowance, amount: formatUsd(allowance.amount) },
    memberKeys: memberKeys && describeRule(memberKeys),
  };
  const rule = known && readRule(known);
  const before = known
    ? { ...describeRecord(known), memberKeys: rule ? describeRule(rule) : null }
    : { state: 'open', postpaid: false };
  const changes = listChanges({ ...before }, after);
  if (!isDry && terms.parent) await requireRecord(store, terms.parent);
  if (!isDry && !known && !(await store.createAccount({ name: account, at: Date.now() }))) {
    const [other] = await store.listAccounts({ wanted: account, limit: 1 });
    if (other) return applyAccount(ledger, state, account);
    throw buildRefusal('conflict', `"${account}" was erased: its name is not used again`);
  }
  let all = changes;
  for (const { per, ...budget } of orders) {
    const counted = { scope: 'account', subject: account, per, dryRun: isDry } as const;
    const { changes: more } = await applyBudget(ledger, counted, budget);
    all = [...all, ...more.map((change) => ({ ...change, path: `budgets.${per}.${change.path}` }))];
  }
  if (!isDry) await changeAccount(ledger, account, after, changes);
  const what = { kind: 'account', name: account, id: null, made: !known, dryRun: isDry } as const;
  return describeOutcome(what, all);
}

/** The key of this name that was not replaced. */
async function findNamed({ store }: Ledger, account: string, name: string): Promise<KeyRecord | undefined> {
  const found = await store.listKeys({ account, name, limit: 20 });
  const [key, other] = found.filter((each) => each.rotatedTo === undefined && each.name === name);
  if (key && other) {
    const ids = `${key.id} and ${other.id}`;
    throw buildRefusal('conflict', `the account "${account}" has two keys "${name}": rename one of ${ids}`);
  }
  return key;
}

async function applyKey(ledger: Ledger, state: z.output<typeof keyState>, name: string): Promise<Stated> {
  const { store, offer } = ledger;
  const { account, dryRun: isDry, limits = {}, holder, disabled, tags } = state;
  await reading.checkOffered(limits, offer);
  const known = await findNamed(ledger, account, name);
  const { spendCap, expires } = limits;
  const shown = {
    ...limits,
    spendCap: typeof spendCap === 'bigint' ? formatUsd(spendCap) : spendCap,
    expires: typeof expires === 'number' ? toIso(expires) : expires,
  };
  const before = known ? describeKey(known) : { disabled: false, tags: [] };
  const changes = listChanges({ ...before }, { holder, disabled, tags, limits: shown });
  const isNew = changes.some(({ path }) => path === 'limits.expires');
  if (isNew && typeof expires === 'number' && expires <= Date.now())
    throw buildParamError('limits.expires', `${toIso(expires)} is in the past`);
  let { id, secret }: { id?: string | undefined; secret?: string } = { id: known?.id };
  if (!isDry && !known) {
    await store.createAccount({ name: account, at: Date.now() });
    const order = { account, name, tags: tags ?? [], holder: holder ?? undefined, ...limits };
    const issued = await issueKey(store, { ...order, onlyNamed: true });
    if (!issued && (await findNamed(ledger, account, name))) return applyKey(ledger, state, name);
    if (!issued)
      throw buildRefusal('conflict', `the account "${account}" is closed and gets no keys`, 'account');
    ({ id, secret } = issued);
  }
  const rest = reading.keepStated({ holder, disabled, tags, ...limits });
  if (!isDry && id !== undefined && changes.length > 0) await store.changeKey({ id, changes: rest });
  const what = { kind: 'key', name, id: id ?? null, made: !known, dryRun: isDry } as const;
  const outcome = describeOutcome(what, changes);
  return secret === undefined ? outcome : { ...outcome, key: secret };
}

const details =
  'Makes it if it is missing, and changes what is stated and different; the same order again gets ' +
  '`changed: false`. What is not stated stays, null takes a limit away, and `dryRun` changes nothing.';

export const statedAccount = defineOperation({
  route: 'PUT /admin/accounts/:account',
  summary: 'State what an account has to be',
  details,
  roles: roles.manage,
  statuses: [200, 201],
  input: accountState,
  run: (ledger, state, { account }) => applyAccount(ledger, state, readInput(reading.accountName, account)),
});

export const statedKey = defineOperation({
  route: 'PUT /admin/keys/:key',
  summary: 'State what a key of an account has to be, by its name',
  details: `${details} Only the reply that makes it has its secret.`,
  roles: roles.manage,
  statuses: [200, 201],
  input: keyState,
  run: (ledger, state, { key }) => applyKey(ledger, state, readInput(reading.label.min(1), key)),
});

export const statedBudget = defineOperation({
  route: 'PUT /admin/budgets/:budget',
  summary: 'State what a budget has to be, by a name such as team:company:month',
  details,
  roles: roles.spend,
  statuses: [200, 201],
  input: budgetState.extend({ dryRun }),
  async run(ledger, { dryRun: isDry, ...terms }, { budget: name }) {
    const named = readBudgetName(name);
    if (!named) throw buildParamError('budget', 'name it by scope, subject and period: team:company:month');
    const { scope, subject } = named;
    const [key, other] =
      scope === 'key'
        ? (await findKeys(ledger.store, subject)).filter(({ rotatedTo }) => rotatedTo === undefined)
        : [{ id: subject }];
    if (other) throw buildRefusal('conflict', `several keys are called "${subject}": name one by its id`);
    const { id, made, changes } = await applyBudget(
      ledger,
      { ...named, subject: key?.id, dryRun: isDry },
      terms,
    );
    return describeOutcome({ kind: 'budget', name, id, made, dryRun: isDry }, changes);
  },
});

export const statedOperations = [statedAccount, statedKey, statedBudget];
