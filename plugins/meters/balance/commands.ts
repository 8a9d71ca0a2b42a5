/**
 * The verbs for accounts, keys, credit and usage. Each opens the ledger itself, so they work with and without
 * a running server.
 */
import { z } from 'zod';
import { formatTable, formatUsd, parseUsd, type Command, isGatewayError } from '../../../core/index.ts';
import { readInput } from '../../shared/operator-routes.ts';
import { markupVerbs } from './markup/rules.ts';
import {
  requireBalance,
  accountOrder,
  addCredit,
  createAccount,
  creditOrder,
  listAccounts,
  type ShownBalance,
} from './operator/accounts.ts';
import { buildVerbAction, findCommandAuthor } from './operator/actions.ts';
import { budgetVerbs } from './operator/budget-commands.ts';
import { callVerbs } from './operator/call-commands.ts';
import { correctionVerbs } from './operator/correction-commands.ts';
import { exportVerb } from './operator/export.ts';
import { keyVerbs } from './operator/key-commands.ts';
import { ledgerVerbs } from './operator/ledger-commands.ts';
import { page } from './operator/reading.ts';
import { reportUsage, formatUsageCsv, usageQuery } from './operator/reports.ts';
import {
  findOwners,
  readAll,
  only,
  requireConfirmation,
  yesOption,
  type Bench,
  type Verb,
  type Work,
  type Options,
} from './operator/verbs.ts';
import { creditKinds, usageGroups, type Store } from './store.ts';

/** Fields that are typed under another name. */
const otherNames: Readonly<Record<string, string>> = {
  amount: 'usd',
  budgets: 'budget',
  per: 'limit',
  thresholds: 'warn',
};

type Typed = Pick<Verb, 'name' | 'options'>;

/** The flag or argument for the innermost field of a path that has one. */
function findTyped(verb: Typed, path: readonly PropertyKey[]): { text: string; option?: string } | undefined {
  const flags = (verb.options ?? []).map((option) => option.flags.split(' ')[0] ?? '');
  const parameters = verb.name.split(' ');
  for (const field of path.map(String).toReversed())
    for (const name of [field, otherNames[field] ?? field]) {
      const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
      if (flags.includes(flag)) return { text: flag, option: name };
      if (parameters.includes(`<${name}>`)) return { text: `<${name}>` };
    }
  return undefined;
}

/** The error with the options and arguments that a person typed, or the same error if it names no field. */
export function rewordError(error: unknown, verb: Typed, options: Options): unknown {
  if (!isGatewayError(error)) return error;
  const { message, cause, details } = error;
  if (cause instanceof z.ZodError) {
    const lines = cause.issues.map((issue) => {
      const typed = findTyped(verb, issue.path);
      if (!typed) return [issue.path.join('.'), issue.message].filter(Boolean).join(': ');
      const isMissing = typed.option !== undefined && options[typed.option] === undefined;
      return `${typed.text}${isMissing ? ' is missing' : ''}: ${issue.message}`;
    });
    return new Error([...new Set(lines)].join('; '), { cause });
  }
  const { param = '' } = details;
  const typed = message.startsWith(`${param}: `) ? findTyped(verb, param.split('.')) : undefined;
  return typed ? new Error(typed.text + message.slice(param.length), { cause: error }) : error;
}

function formatBalance({ account, balance, total, used, pending, available }: ShownBalance): string {
  return (
    `${account}: ${balance} USD (${total} credited, ${used} used); ` +
    `${pending} reserved, ${available} available`
  );
}

const runAddCredit: Work = async ({ store }, [account, amount], { kind, reference }) => {
  const added = await addCredit(store, readInput(creditOrder, { account, amount, kind, reference }));
  return {
    json: added,
    text:
      formatBalance(added) +
      (added.status === 'already_credited' ? ' (that reference was credited before; nothing was added)' : ''),
  };
};

const amounts = ['balance', 'total', 'used', 'pending', 'available'] as const;

type ListedAccount = Awaited<ReturnType<typeof listAccounts>>['data'][number];

function formatAccounts(accounts: readonly ListedAccount[]): string {
  const totals = amounts.map((name) =>
    formatUsd(accounts.reduce((sum, account) => sum + parseUsd(account[name]), 0n)),
  );
  return formatTable(
    ['ACCOUNT', 'STATE', 'BALANCE USD', 'CREDITED', 'USED', 'RESERVED', 'AVAILABLE'],
    accounts.map((account) => [account.account, account.state, ...amounts.map((name) => account[name])]),
    accounts.length > 1 ? [`${accounts.length} accounts`, '', ...totals] : undefined,
  );
}

const runListAccounts: Work = async ({ store }) => {
  const accounts = await readAll((after) => listAccounts(store, readInput(page, { after, limit: 1000 })));
  return { json: accounts, text: accounts.length > 0 ? formatAccounts(accounts) : 'There are no accounts.' };
};

/** The columns of usage that are counts. */
const sums = new Set(['calls', 'input', 'output']);
/** Columns in USD, with their headings. */
const money = new Map([
  ['cost', 'COST USD'],
  ['vendorCost', 'VENDOR USD'],
  ['margin', 'MARGIN USD'],
]);

const runUsage: Work = async ({ store }, _, { csv, ...options }) => {
  const query = readInput(usageQuery, await findOwners(store, options));
  const found = await reportUsage(store, query);
  const { data } = found;
  if (csv === true) return { json: data, text: formatUsageCsv(found).trimEnd() };
  if (data.length === 0) return { json: data, text: 'There is no usage.' };
  const columns = Object.keys(data[0] ?? {});
  const rows = data.map((row) => Object.values(row).map((cell) => String(cell ?? '')));
  const totals = columns.map((column, place) => {
    if (money.has(column)) return formatUsd(rows.reduce((sum, row) => sum + parseUsd(row[place] ?? '0'), 0n));
    if (!sums.has(column)) return '';
    return String(rows.reduce((sum, row) => sum + Number(row[place]), 0));
  });
  const headings = columns.map((column) => money.get(column) ?? column.toUpperCase());
  return { json: data, text: formatTable(headings, rows, rows.length > 1 ? totals : undefined) };
};

const verbs: readonly Verb[] = [
  ...keyVerbs,
  {
    name: 'accounts create <name>',
    description: 'make an account',
    changes: true,
    creates: true,
    async run({ store }, [name]) {
      const made = await createAccount(store, readInput(accountOrder, { name }));
      return { json: made, text: formatBalance(made) };
    },
  },
  { name: 'accounts list', description: 'show all accounts and what they have', run: runListAccounts },
  {
    name: 'credit add <account> <usd>',
    changes: true,
    description: 'add credit to an account',
    options: [
      { flags: '--kind <kind>', description: `${creditKinds.join(', ')} (top-up unless given)` },
      { flags: '--reference <text>', description: 'what the credit is known by elsewhere: it is added once' },
    ],
    run: runAddCredit,
  },
  {
    name: 'balance <account>',
    description: 'show what an account has',
    async run({ store }, [account = '']) {
      const shown = await requireBalance(store, account);
      return { json: shown, text: formatBalance(shown) };
    },
  },
  {
    name: 'usage',
    description: 'show calls, tokens and what they cost, by key, model and day',
    options: [
      { flags: '--by <groups>', description: `${usageGroups.join(', ')}, with commas between` },
      ...Object.values(only),
      { flags: '--csv', description: 'as CSV' },
    ],
    run: runUsage,
  },
  ...correctionVerbs,
  ...budgetVerbs,
  ...markupVerbs,
  ...callVerbs,
  exportVerb,
  ...ledgerVerbs,
];

/** What the verbs with a first word in common are for. */
const groups: Readonly<Record<string, string>> = {
  keys: 'make API keys, and change what they may do',
  accounts: 'make accounts, and see what they have',
  credit: 'add and correct credit',
  budgets: 'limit spending by hour, day, week or month',
  markups: 'charge more or less than vendors',
  calls: 'look at calls',
  actions: 'see what operators changed',
  entries: 'export the entries of the ledger',
  ledger: 'correct what can be computed from the entries',
};

/** The verbs, on a ledger that `open` opens. */
export function listCommands(
  open: (settings: { readonly mustExist: boolean }) => Promise<Store>,
  offer: Bench['offer'],
): Command[] {
  const author = findCommandAuthor();
  return verbs.map(({ run: work, confirm, creates = false, changes = false, ...verb }) => ({
    ...verb,
    ...(confirm ? { options: [...(verb.options ?? []), yesOption] } : {}),
    group: groups[verb.name.split(' ')[0] ?? ''],
    async run(args, { yes, ...options }, print) {
      const store = await open({ mustExist: !creates });
      try {
        const question = yes === true ? undefined : await confirm?.(store, args, options);
        if (question !== undefined) await requireConfirmation(question);
        const ledger = changes ? store.withAction(buildVerbAction(author, verb.name, args, options)) : store;
        return await work({ store: ledger, offer, print, author }, args, options);
      } catch (error) {
        throw rewordError(error, verb, options);
      } finally {
        await store.close();
      }
    },
  }));
}
