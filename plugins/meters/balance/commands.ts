/**
 * The verbs for accounts, keys, credit and usage. Each opens the ledger itself, so they work with and without
 * a running server.
 */
import { type Command, type CommandOption, type CommandResult } from '../../../core/index.ts';
import { read } from '../../shared/operator-routes.ts';
import {
  accountBalance,
  accountOrder,
  addCredit,
  createAccount,
  creditOrder,
  listAccounts,
  type ShownBalance,
} from './operator/accounts.ts';
import { budgetVerbs, counting, countingOptions } from './operator/budget-commands.ts';
import {
  changeKey,
  createKey,
  keyChanges,
  keyOrder,
  keyQuery,
  listKeys,
  rotateKey,
  rotationOrder,
  type NewKey,
  type ShownKey,
} from './operator/keys.ts';
import { page } from './operator/reading.ts';
import { usage, usageCsv, usageQuery } from './operator/reports.ts';
import { creditKinds, usageGroups, type Store } from './store.ts';

type Options = Readonly<Record<string, string | boolean | undefined>>;
type Work = (store: Store, args: readonly string[], options: Options) => Promise<CommandResult>;

/** Reads all pages of a list: the admin API needs pages, and a terminal does not. */
async function all<Row>(
  list: (
    after: string | undefined,
  ) => Promise<{ readonly data: readonly Row[]; readonly next: string | null }>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after: string | null | undefined; after !== null;) {
    const { data, next } = await list(after);
    for (const row of data) rows.push(row);
    after = next;
  }
  return rows;
}

/** A typed number as a number. Text that is none stays text, so that it is refused as such. */
function numeric(text: string | boolean | undefined): unknown {
  return typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : text;
}

/** `none` takes a limit away; a limit that is not given stays. */
function limitsOf({ spendCap, models, expires, callsPerMinute }: Options): Record<string, unknown> {
  const patterns = typeof models === 'string' && models !== 'none' ? models.split(',') : models;
  const stated = { spendCap, models: patterns, expires, callsPerMinute: numeric(callsPerMinute) };
  return Object.fromEntries(
    Object.entries(stated).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value === 'none' ? null : value]],
    ),
  );
}

function limitsText({ spendCap, models, expires, callsPerMinute }: ShownKey['limits']): string {
  const facts = [
    spendCap !== null && `at most ${spendCap} USD`,
    models !== null && `only ${models.join(', ')}`,
    expires !== null && `until ${expires}`,
    callsPerMinute !== null && `${callsPerMinute} calls a minute`,
  ];
  return facts.filter((each) => each !== false).join('; ');
}

function keyLine({ id, lastFour, name, kind, account, disabled, created, limits, used }: ShownKey): string {
  const limited = limitsText(limits);
  const parts = [
    `${id}  …${lastFour}`,
    account ?? kind,
    created,
    `${used} USD used`,
    limited,
    disabled && 'disabled',
    name,
  ];
  return parts.filter((part) => part !== '' && part !== false).join('  ');
}

function balanceLine({ account, balance, total, used, pending, available }: ShownBalance): string {
  return `${account}: ${balance} USD (${total} credited, ${used} used); ${pending} reserved, ${available} available`;
}

function secretResult(made: NewKey): CommandResult {
  const { key, account, id, warning } = made;
  const owner = account === null ? 'Operator' : `Account "${account}"`;
  const lines = [
    key,
    `Kept nowhere: this is the only time it is shown. ${owner}, key ${id}.`,
    ...(warning === undefined ? [] : [warning]),
  ];
  return { json: made, text: lines.join('\n') };
}

function keyResult(key: ShownKey): CommandResult {
  return { json: key, text: keyLine(key) };
}

const limitOptions: readonly CommandOption[] = [
  {
    flags: '--spend-cap <usd>',
    description: 'what it may spend in all ("none" takes the limit away, here and below)',
  },
  {
    flags: '--models <ids>',
    description: 'the models it may call, with commas between; <owner>/* is all of an owner',
  },
  {
    flags: '--expires <time>',
    description: 'from when on it is refused: 2027-01-31, or 2027-01-31T09:30:00Z',
  },
  { flags: '--calls-per-minute <count>', description: 'how many calls it may make in a minute' },
];

const createKeyWork: Work = async (
  store,
  _,
  { account, name, credit, operator, readOnly, tags, budget, ...limits },
) => {
  const whose = operator === true ? { kind: 'operator', account } : { account: account ?? 'default' };
  const order = { ...whose, name, readOnly, credit, ...counting({ tags, budget }), limits: limitsOf(limits) };
  return secretResult(await createKey(store, read(keyOrder, order)));
};

const addCreditWork: Work = async (store, [account, amount], { kind, reference }) => {
  const added = await addCredit(store, read(creditOrder, { account, amount, kind, reference }));
  return {
    json: added,
    text:
      balanceLine(added) +
      (added.status === 'already_credited' ? ' (that reference was credited before; nothing was added)' : ''),
  };
};

const listKeysWork: Work = async (store, _, { account }) => {
  const keys = await all((after) => listKeys(store, read(keyQuery, { account, after, limit: 1000 })));
  return { json: keys, text: keys.map(keyLine).join('\n') || 'There are no keys.' };
};

const listAccountsWork: Work = async (store) => {
  const accounts = await all((after) => listAccounts(store, read(page, { after, limit: 1000 })));
  return { json: accounts, text: accounts.map(balanceLine).join('\n') || 'There are no accounts.' };
};

const usageWork: Work = async (store, _, { csv, ...options }) => {
  const query = read(usageQuery, options);
  const { data } = await usage(store, query);
  if (csv === true) return { json: data, text: (await usageCsv(store, query)).trimEnd() };
  const lines = data.map(({ calls, input, output, cost, ...row }) => {
    const group = Object.values(row).join('  ');
    return `${group}  ${calls} calls, ${input} tokens in, ${output} out, ${cost} USD`.trim();
  });
  return { json: data, text: lines.join('\n') || 'There is no usage.' };
};

const auditWork: Work = async (store) => {
  const report = await store.audit();
  const { ok, entries, accounts, pending, broken, findings } = report;
  const looked = `${entries} entries of ${accounts} accounts, ${pending} reservations pending`;
  const lines = findings.map(({ rule, entry, account, message }) => {
    const parts = [rule, entry === undefined ? undefined : `entry ${entry}`, account, message];
    return parts.filter((part) => part !== undefined).join('  ');
  });
  const text = ok
    ? `The books are sound: ${looked}.`
    : [`The books break ${broken} rules: ${looked}.`, ...lines].join('\n');
  return { json: report, text, failed: !ok };
};

export interface Verb extends Omit<Command, 'run'> {
  readonly work: Work;
}

const verbs: readonly Verb[] = [
  ...budgetVerbs,
  {
    name: 'keys create',
    description: 'make a key, and its account where there is none yet',
    options: [
      { flags: '--account <name>', description: 'whose key it is ("default" unless given)' },
      { flags: '--name <label>', description: 'what the key is for' },
      { flags: '--credit <usd>', description: 'credit to add to the account' },
      ...countingOptions,
      { flags: '--operator', description: 'an operator key: it uses the admin API and spends nothing' },
      { flags: '--read-only', description: 'with --operator: it sees everything and changes nothing' },
      ...limitOptions,
    ],
    work: createKeyWork,
  },
  {
    name: 'keys list',
    description: 'show all keys',
    options: [{ flags: '--account <name>', description: 'only those of one account' }],
    work: listKeysWork,
  },
  {
    name: 'keys disable <key>',
    description: 'refuse a key from now on, named by its id or its last four characters',
    work: async (store, [key = '']) => keyResult(await changeKey(store, key, { disabled: true })),
  },
  {
    name: 'keys enable <key>',
    description: 'take a key again that was disabled',
    work: async (store, [key = '']) => keyResult(await changeKey(store, key, { disabled: false })),
  },
  {
    name: 'keys rotate <key>',
    description: 'give a key a new secret; limits and spending stay',
    options: [
      { flags: '--overlap <seconds>', description: 'how long the old secret still works (0 unless given)' },
    ],
    work: async (store, [key = ''], { overlap }) =>
      secretResult(await rotateKey(store, key, read(rotationOrder, { overlap: numeric(overlap) }))),
  },
  {
    name: 'keys limit <key>',
    description: 'change what a key may do',
    options: limitOptions,
    work: async (store, [key = ''], options) =>
      keyResult(await changeKey(store, key, read(keyChanges, { limits: limitsOf(options) }))),
  },
  {
    name: 'accounts create <name>',
    description: 'make an account',
    async work(store, [name]) {
      const made = await createAccount(store, read(accountOrder, { name }));
      return { json: made, text: balanceLine(made) };
    },
  },
  { name: 'accounts list', description: 'show all accounts and what they have', work: listAccountsWork },
  {
    name: 'credit add <account> <usd>',
    description: 'add credit to an account',
    options: [
      { flags: '--kind <kind>', description: `${creditKinds.join(', ')} (top-up unless given)` },
      { flags: '--reference <text>', description: 'what the credit is known by elsewhere: it is added once' },
    ],
    work: addCreditWork,
  },
  {
    name: 'balance <account>',
    description: 'show what an account has',
    async work(store, [account = '']) {
      const shown = await accountBalance(store, account);
      return { json: shown, text: balanceLine(shown) };
    },
  },
  {
    name: 'audit',
    description: 'read all books and say where they break a rule; exits with 1 where they do',
    work: auditWork,
  },
  {
    name: 'usage',
    description: 'show calls, tokens and what they cost, by key, model and day',
    options: [
      { flags: '--by <groups>', description: `${usageGroups.join(', ')}, with commas between` },
      { flags: '--account <name>', description: 'only of one account' },
      { flags: '--key <id>', description: 'only by one key' },
      { flags: '--model <id>', description: 'only of one model' },
      { flags: '--from <time>', description: 'from then on: 2027-01-31, or 2027-01-31T09:30:00Z' },
      { flags: '--to <time>', description: 'until before then' },
      { flags: '--csv', description: 'as CSV' },
    ],
    work: usageWork,
  },
];

/** The verbs, on a ledger that `open` opens. */
export function ledgerCommands(open: () => Promise<Store>): Command[] {
  return verbs.map(({ work, ...verb }) => ({
    ...verb,
    async run(args, options) {
      const store = await open();
      try {
        return await work(store, args, options);
      } finally {
        await store.close();
      }
    },
  }));
}
