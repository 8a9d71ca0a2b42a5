/** The verbs about keys and credit. Each opens the ledger for itself, so they work with and without a running server. */
import { formatUsd, parseUsd, type Command, type CommandResult, type Nano } from '../../../core/index.ts';
import { issueKey, keyId } from './keys.ts';
import { creditKinds, type Balance, type CreditKind, type KeyRecord, type Store } from './store.ts';

type Options = Readonly<Record<string, string | boolean | undefined>>;

function option(options: Options, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

function positiveUsd(text: string): Nano {
  const amount = parseUsd(text);
  if (amount <= 0n) throw new RangeError(`the amount has to be above 0, and is ${text}`);
  return amount;
}

function accountName(text: string | undefined): string {
  if (text === undefined || !/^[\w.@:+-]{1,128}$/.test(text)) throw new RangeError('an account is named by 1 to 128 letters, digits and . _ - @ : +');
  return text;
}

function creditKind(text: string): CreditKind {
  const kind = creditKinds.find((known) => known === text);
  if (!kind) throw new RangeError(`there is no kind of credit "${text}"; there are: ${creditKinds.join(', ')}`);
  return kind;
}

function shown({ hash, lastFour, name, account, disabled, created }: KeyRecord) {
  return { id: keyId(hash), lastFour, name, account, disabled, created: new Date(created).toISOString() };
}

function keyLine(key: KeyRecord): string {
  const { id, lastFour, name, account, disabled, created } = shown(key);
  return `${id}  …${lastFour}  ${account}  ${created}${disabled ? '  disabled' : ''}${name && `  ${name}`}`;
}

function balanceResult(account: string, { total, used, pending }: Balance): CommandResult {
  const [balance, available] = [total - used, total - used - pending].map(formatUsd);
  const json = { account, currency: 'USD', balance, total: formatUsd(total), used: formatUsd(used), pending: formatUsd(pending), available };
  return { json, text: `${account}: ${balance} USD (${json.total} credited, ${json.used} used); ${json.pending} reserved, ${available} available` };
}

async function balanceOf(store: Store, account: string): Promise<CommandResult> {
  const balance = await store.balance(account);
  if (!balance) throw new Error(`there is no account "${account}"; keys create --account ${account} makes it`);
  return balanceResult(account, balance);
}

async function addCredit(store: Store, account: string, amount: Nano, kind: CreditKind, reference?: string): Promise<CommandResult> {
  const credited = await store.credit({ account, amount, kind, reference, at: Date.now() });
  if (credited === 'reference_taken') throw new Error(`the reference "${reference}" stands for another credit`);
  const { json, text } = await balanceOf(store, account);
  const note = credited === 'already_credited' ? ' (that reference was credited before; nothing was added)' : '';
  return { json, text: text + note };
}

async function createKey(store: Store, options: Options): Promise<CommandResult> {
  const account = accountName(option(options, 'account') ?? 'default');
  const name = option(options, 'name') ?? '';
  const credit = option(options, 'credit');
  const amount = credit === undefined ? undefined : positiveUsd(credit);
  await store.createAccount({ name: account, at: Date.now() });
  const { secret, id } = await issueKey(store, { account, name });
  if (amount !== undefined) await addCredit(store, account, amount, 'top-up');
  return { json: { key: secret, id, account, name }, text: `${secret}\nKept nowhere: this is the only time it is shown. Account "${account}", key ${id}.` };
}

async function listKeys(store: Store): Promise<CommandResult> {
  const keys = await store.listKeys();
  return { json: keys.map(shown), text: keys.map(keyLine).join('\n') || 'There are no keys.' };
}

async function disableKey(store: Store, wanted: string): Promise<CommandResult> {
  const keys = await store.listKeys();
  const found = keys.filter(({ hash, lastFour }) => lastFour === wanted || keyId(hash) === wanted);
  const [key, other] = found;
  if (!key) throw new Error(`there is no key "${wanted}"; name it by its id or its last four characters`);
  if (other) throw new Error(`"${wanted}" can be any of these, name one by its id:\n${found.map(keyLine).join('\n')}`);
  await store.disableKey(key.hash);
  const disabled = { ...key, disabled: true };
  return { json: shown(disabled), text: keyLine(disabled) };
}

/** The verbs, on a ledger that `open` opens. */
export function ledgerCommands(open: () => Promise<Store>): Command[] {
  async function using(work: (store: Store) => Promise<CommandResult>): Promise<CommandResult> {
    const store = await open();
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }
  return [
    {
      name: 'keys create',
      description: 'make a key, and its account where there is none yet',
      options: [
        { flags: '--account <name>', description: 'whose key it is ("default" unless given)' },
        { flags: '--name <label>', description: 'what the key is for' },
        { flags: '--credit <usd>', description: 'credit to add to the account' },
      ],
      run: (_, options) => using((store) => createKey(store, options)),
    },
    { name: 'keys list', description: 'show all keys', run: () => using(listKeys) },
    {
      name: 'keys disable <key>',
      description: 'refuse a key from now on, named by its id or its last four characters',
      run: ([key = '']) => using((store) => disableKey(store, key)),
    },
    {
      name: 'credit add <account> <usd>',
      description: 'add credit to an account',
      options: [
        { flags: '--kind <kind>', description: `${creditKinds.join(', ')} (top-up unless given)` },
        { flags: '--reference <text>', description: 'what the credit is known by elsewhere: it is added once' },
      ],
      async run([account, amount = ''], options) {
        const [name, nano, kind] = [accountName(account), positiveUsd(amount), creditKind(option(options, 'kind') ?? 'top-up')];
        return using((store) => addCredit(store, name, nano, kind, option(options, 'reference')));
      },
    },
    {
      name: 'balance <account>',
      description: 'show what an account has',
      run: ([account = '']) => using((store) => balanceOf(store, account)),
    },
  ];
}
