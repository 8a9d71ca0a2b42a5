/**
 * How operators create, move, close and list accounts, add credit, and correct it: adjustments in both
 * directions, refunds of calls, chargebacks of credits. Each correction has a reason and an author. A refund
 * or a chargeback is made once.
 */
import { z } from 'zod';
import { formatUsd, parseUsd, type GatewayError, type Nano, usd } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import { allowNone, type VerbRow, type Verbs } from '../../../shared/operator-verbs.ts';
import type { Account, ListedAccount } from '../../../shared/replies/accounts.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import { formatTable } from '../../../shared/table.ts';
import {
  accountStates,
  creditKinds,
  deepestTeam,
  mostCredit,
  shownSources,
  type AccountRecord,
  type Balance,
  type Credit,
  type Entry,
  type EntryQuery,
  type Store,
} from '../store.ts';
import { budgetListing, formatBudget } from './budgets.ts';
import { defineOperation, type Ledger } from './operation.ts';
import {
  accountName,
  amount,
  checkModelPatterns,
  creditKind,
  numberedPage,
  page,
  reference,
  largestAmount,
} from './reading.ts';
import { toIso, buildPage, buildRefusal } from './replies.ts';
import { describeRule, describeTeam, formatRule, formatTeam, memberFlags, memberRule } from './teams.ts';
import { describeTerms, formatTerms, formatTermsBriefly } from './terms.ts';

export const creditOrder = z.strictObject({
  account: accountName,
  amount,
  kind: creditKind.default('top-up'),
  reference: reference.optional(),
});

/** An account as it is shown; amounts are decimal strings in USD. */
function describeBalance(account: string, { total, used, pending }: Balance): Account {
  return {
    account,
    currency: 'USD',
    balance: formatUsd(total - used),
    total: formatUsd(total),
    used: formatUsd(used),
    pending: formatUsd(pending),
    available: formatUsd(total - used - pending),
  };
}

export function buildAccountError(account: string): GatewayError {
  return buildRefusal(
    'not_found',
    `there is no account "${account}"; create it first, or create its first key`,
  );
}

const tooMuch = `an account can be credited ${formatUsd(mostCredit)} USD in all: add less`;

const unchanged = {
  held: 'calls of this account are still running: disable it, wait for them, and close it then',
  closed: 'a closed account stays closed',
} as const;

const unmoved = {
  cycle: 'an account cannot move below itself or an account below it',
  deep: `a tree of accounts has at most ${deepestTeam} levels`,
} as const;

export async function* readAllCredits(
  store: Store,
  query: Pick<EntryQuery, 'account' | 'from' | 'to'>,
): AsyncGenerator<Entry> {
  const limit = 1000;
  for (let after = 0, isMore = true; isMore;) {
    const entries = await store.listEntries({ ...query, kinds: ['credit'], after, limit });
    yield* entries;
    after = entries.at(-1)?.number ?? after;
    isMore = entries.length === limit;
  }
}

export function describeRecord(record: AccountRecord): ListedAccount {
  const { name, created, line, state } = record;
  const place = { parent: line[0] ?? null, state, created: toIso(created) };
  return { ...describeBalance(name, record), ...place, ...describeTerms(record) };
}

export async function requireRecord(store: Store, account: string): Promise<AccountRecord> {
  const [record] = await store.listAccounts({ wanted: account, limit: 1 });
  if (!record) throw buildAccountError(account);
  return record;
}

export async function requireBalance(store: Store, account: string): Promise<Account> {
  const balance = await store.readBalance(account);
  if (!balance) throw buildAccountError(account);
  return describeBalance(account, balance);
}

/** Adds credit, once for each reference. A repeated order changes nothing, and the reply says so. */
export async function addCredit(store: Store, credit: Omit<Credit, 'at'>) {
  const { account, reference } = credit;
  const status = await store.addCredit({ ...credit, at: Date.now() });
  if (status === 'not_found') throw buildAccountError(account);
  if (status === 'reference_taken')
    throw buildRefusal('conflict', `the reference "${reference}" belongs to another credit`, 'reference');
  if (status === 'too_much') throw buildRefusal('invalid_request', tooMuch, 'amount');
  return { status, ...(await requireBalance(store, account)) };
}

function describeCredit({ number, account, at, available, source, ...entry }: Entry) {
  const { reference = null, reason = null, author = null } = entry;
  const what = { amount: formatUsd(available), kind: source ?? null, reference, reason, author };
  return { number, account, at: toIso(at), ...what };
}

export function formatBalance({ account, balance, total, used, pending, available }: Account): string {
  return (
    `${account}: ${balance} USD (${total} credited, ${used} used); ` +
    `${pending} reserved, ${available} available`
  );
}

const columns = ['account', 'state', 'balance', 'total', 'used', 'pending', 'available'] as const;

function formatAccounts(accounts: readonly ListedAccount[]): string {
  const of = ['BALANCE USD', 'CREDITED', 'USED', 'RESERVED', 'AVAILABLE'];
  return formatTable(
    ['ACCOUNT', 'STATE', ...of, 'TERMS'],
    accounts.map((account) => [...columns.map((name) => account[name]), formatTermsBriefly(account)]),
    { many: 'accounts', of },
  );
}

export const shownAccount = defineOperation({
  route: 'GET /admin/accounts/:account',
  summary: 'Show an account, with what it was credited',
  roles: roles.readOwn,
  async run({ store, flush }, _, { account }) {
    await flush?.();
    const team = await store.listTeam(account);
    const record = team.find(({ name }) => name === account);
    if (!record) throw buildAccountError(account);
    const sums = new Map<string, Nano>(shownSources.map((source) => [source, 0n]));
    for await (const { source, available } of readAllCredits(store, { account }))
      if (source) sums.set(source, (sums.get(source) ?? 0n) + available);
    const credits = Object.fromEntries([...sums].map(([source, sum]) => [source, formatUsd(sum)]));
    return { ...describeRecord(record), credits, ...describeTeam(record, team) };
  },
});

type StateRow = VerbRow<Ledger, Replies['PATCH /admin/accounts/:account/state']>;

function buildStateVerb(state: string, description: string): StateRow {
  return { description, input: { state }, format: ({ account, state: now }) => `${account} is ${now}.` };
}

const reason = z.string('say why').trim().min(1, 'say why').max(500, 'a reason has at most 500 characters');

/** A signed amount in USD: `-2.5` takes credit back. */
const signedAmount = usd
  .refine((nano) => nano !== 0n, 'the amount must not be 0')
  .refine(
    (nano) => nano <= largestAmount && nano >= -largestAmount,
    `the amount is at most ${formatUsd(largestAmount)} USD`,
  );

type Corrected = Replies['POST /admin/refunds'];

type Correction = Omit<Credit, 'at' | 'author'>;

async function addCorrection({ store, author }: Ledger, correction: Correction): Promise<Corrected> {
  const added = await addCredit(store, { ...correction, author });
  return { amount: formatUsd(correction.amount), ...added };
}

/** The reference of a call's refund, by which it is made once. */
export const nameRefund = (call: string): string => `refund:${call}`;

function formatCorrection({ account, amount: moved, balance, status }: Corrected): string {
  const again = status === 'already_credited' ? ' It was made before; nothing changed.' : '';
  return `${account}: ${moved} USD; the balance is ${balance} USD.${again}`;
}

const reasonFlag = { '--reason <text>': 'why; statements show it' };

/** What operators change of an account. */
export const accountFields = z.strictObject({
  /** The account below which it moves, with all accounts below it; null moves it to the top. */
  parent: accountName.nullable(),
  state: z.enum(accountStates, `the states of an account are ${accountStates.join(', ')}`),
  memberKeys: memberRule.nullable(),
});

export const move = defineOperation({
  route: 'PATCH /admin/accounts/:account',
  summary: 'Move an account below another one, or to the top',
  roles: roles.manage,
  input: accountFields.pick({ parent: true }),
  async run({ store }, { parent }, { account }) {
    const moved = await store.moveAccount({ account, parent: parent ?? undefined });
    if (moved === 'not_found') throw buildAccountError(account);
    if (moved === 'no_parent') throw buildAccountError(parent ?? '');
    if (moved !== 'moved') throw buildRefusal('conflict', unmoved[moved], 'parent');
    return { ...(await requireBalance(store, account)), parent };
  },
  verbs: {
    'accounts move <account> <parent>': {
      description: 'move an account, with all below it, below another one; "none" moves it to the top',
      flags: { '<parent>': { read: allowNone() } },
      format: ({ account, parent }) => `${account} is ${parent === null ? 'at the top' : `below ${parent}`}.`,
    },
  },
});

export const stateChange = defineOperation({
  route: 'PATCH /admin/accounts/:account/state',
  summary: 'Open, disable or close an account',
  details:
    'The keys of a disabled or closed account are refused within a second. A closed account stays closed.',
  roles: roles.manage,
  input: accountFields.pick({ state: true }),
  async run({ store }, { state }, { account }) {
    const changed = await store.setAccountState({ account, state });
    if (changed === 'not_found') throw buildAccountError(account);
    if (changed !== 'changed') throw buildRefusal('conflict', unchanged[changed], 'state');
    return { ...(await requireBalance(store, account)), state };
  },
  verbs: {
    'accounts disable <account>': buildStateVerb('disabled', 'refuse all keys of an account from now on'),
    'accounts enable <account>': buildStateVerb('open', 'accept the keys of a disabled account again'),
    'accounts close <account>': {
      ...buildStateVerb('closed', 'refuse all keys of an account for good; it gets no new keys'),
      async ask({ call }, { args }) {
        const { account, balance } = await call(shownAccount, { params: args });
        return `Close the account "${account}", which has ${balance} USD? Its keys stop working for good.`;
      },
    },
  },
});

export const memberChange = defineOperation({
  route: 'PATCH /admin/accounts/:account/members',
  summary: 'Say what keys the members of an account may make for themselves',
  roles: roles.manage,
  input: accountFields.pick({ memberKeys: true }),
  async run({ store, offer }, { memberKeys: rule }, { account }) {
    await checkModelPatterns(rule?.models, offer, 'memberKeys.models');
    const memberKeys = rule && describeRule(rule);
    const stated = memberKeys ? JSON.stringify(memberKeys) : undefined;
    if (!(await store.setMemberKeys({ account, rule: stated }))) throw buildAccountError(account);
    return { ...(await requireBalance(store, account)), memberKeys };
  },
  verbs: {
    'accounts members <account> <most>': {
      description: 'let each member of an account make so many keys; "none" lets them make none',
      flags: memberFlags,
      complete: ({ memberKeys, ...input }) => ({
        ...input,
        memberKeys: z.looseObject({}).parse(memberKeys).most === null ? null : memberKeys,
      }),
      format: ({ account, memberKeys }) => `${account}: ${formatRule(memberKeys)}.`,
    },
  },
});

export const accountOperations = [
  defineOperation({
    route: 'GET /admin/accounts',
    summary: 'List accounts and what they have',
    roles: roles.readOwn,
    input: page,
    run: async ({ store }, query) =>
      buildPage(await store.listAccounts(query), query.limit, describeRecord, ({ name }) => name),
    verbs: {
      'accounts list': { all: true, format: ({ data }) => formatAccounts(data) },
    },
  }),
  shownAccount,
  move,
  stateChange,
  memberChange,
  defineOperation({
    route: 'GET /admin/credits',
    summary: 'List credits',
    roles: roles.read,
    input: numberedPage.extend({ account: accountName.optional() }),
    async run({ store }, query) {
      const entries = await store.listEntries({ ...query, kinds: ['credit'] });
      return buildPage(entries, query.limit, describeCredit, ({ number }) => number);
    },
  }),
  defineOperation({
    route: 'POST /admin/credits',
    summary: 'Add credit to an account',
    details: 'A reference is credited once. The same order again changes nothing and gets 200.',
    roles: roles.spend,
    statuses: [200, 201],
    input: creditOrder,
    run: ({ store }, order) => addCredit(store, order),
    verbs: {
      'credit add <account> <usd>': {
        flags: {
          '<usd>': { field: 'amount' },
          '--kind <kind>': `${creditKinds.join(', ')} (top-up unless given)`,
          '--reference <text>': 'the id of the payment: a reference is credited once',
        },
        format(added) {
          const isRepeated = added.status === 'already_credited';
          const note = isRepeated ? ' (that reference was credited before; nothing was added)' : '';
          return formatBalance(added) + note;
        },
      },
    },
  }),
  defineOperation({
    route: 'POST /admin/adjustments',
    summary: 'Add to what an account was credited, or take from it, with a reason',
    roles: roles.correct,
    statuses: [200, 201],
    input: z.strictObject({
      account: accountName,
      amount: signedAmount,
      reason,
      reference: reference.optional(),
    }),
    run: (ledger, order) => addCorrection(ledger, { ...order, kind: 'adjustment' }),
    verbs: {
      'credit adjust <account> <usd>': {
        description: 'add to an account, or take from it with a negative amount',
        flags: {
          '<usd>': { field: 'amount' },
          ...reasonFlag,
          '--reference <text>': 'an id of your own: an adjustment is made once for it',
        },
        async ask({ call }, { args: { account: name = '', usd: moved = '' } }) {
          if (!moved.startsWith('-')) return undefined;
          const { account, balance } = await call(shownAccount, { params: { account: name } });
          const taken = formatUsd(-parseUsd(moved));
          return `Take ${taken} USD from the account "${account}", which has ${balance} USD?`;
        },
        format: formatCorrection,
      },
    },
  }),
  defineOperation({
    route: 'POST /admin/refunds',
    summary: 'Give back what a call cost, or a part of it, once',
    roles: roles.correct,
    statuses: [200, 201],
    input: z.strictObject({
      call: z.string().min(1).max(200),
      /** USD; all that the call cost unless given. */
      amount: amount.optional(),
      reason,
    }),
    async run(ledger, { call, amount: stated, reason: why }) {
      const entries = await ledger.store.listEntries({ call, limit: 20 });
      const [first] = entries;
      if (!first) throw buildRefusal('not_found', `there is no call "${call}" in the books`, 'call');
      const cost = entries.reduce<Nano>((sum, { revenue }) => sum + revenue, 0n);
      const refunded = stated ?? cost;
      if (refunded > cost || cost === 0n)
        throw buildRefusal('invalid_request', `the call cost ${formatUsd(cost)} USD`, 'amount');
      const refund = { kind: 'refund', amount: refunded, reference: nameRefund(call), reason: why } as const;
      return addCorrection(ledger, { account: first.account, ...refund });
    },
    verbs: {
      'credit refund <call>': {
        description: 'give back what a call cost, once',
        flags: { '--amount <usd>': 'only a part of it', ...reasonFlag },
        format: formatCorrection,
      },
    },
  }),
  defineOperation({
    route: 'POST /admin/chargebacks',
    summary: 'Take back a credit whose payment was reversed, once',
    details: 'The balance may become negative.',
    roles: roles.correct,
    statuses: [200, 201],
    input: z.strictObject({
      reference,
      reason,
    }),
    async run(ledger, { reference: known, reason: why }) {
      const [credit] = await ledger.store.listEntries({ reference: known, limit: 1 });
      if (!credit)
        throw buildRefusal('not_found', `there is no credit with the reference "${known}"`, 'reference');
      if (credit.available <= 0n)
        throw buildRefusal('invalid_request', `"${known}" took credit back itself`, 'reference');
      const { account, available } = credit;
      const taken = { kind: 'chargeback', amount: -available, reference: `chargeback:${known}` } as const;
      return addCorrection(ledger, { account, ...taken, reason: why });
    },
    verbs: { 'credit chargeback <reference>': { flags: reasonFlag, format: formatCorrection } },
  }),
];

export const accountVerbs: Verbs<Ledger> = {
  'accounts show <account>': {
    description:
      'show an account, what is agreed with it, the accounts around it and the budgets that count it',
    async run({ call }, { args }) {
      const shown = await call(shownAccount, { params: args });
      const { data: budgets } = await call(budgetListing, { input: { counting: shown.account } });
      const credits = Object.entries(shown.credits).filter(([, sum]) => sum !== '0');
      const lines = [
        formatBalance(shown),
        ...[shown.state === 'open' ? '' : shown.state, formatTerms(shown)].filter(Boolean),
        ...credits.map(([kind, sum]) => `${kind} ${sum} USD`),
        ...formatTeam(shown),
        ...budgets.map(formatBudget),
      ];
      return { json: { ...shown, budgets }, text: lines.join('\n') };
    },
  },
  'balance <account>': {
    description: 'show the balance of an account',
    async run({ call }, { args }) {
      const shown = await call(shownAccount, { params: args });
      const { account, currency, balance, total, used, pending, available } = shown;
      const json = { account, currency, balance, total, used, pending, available };
      return { json, text: formatBalance(json) };
    },
  },
};
