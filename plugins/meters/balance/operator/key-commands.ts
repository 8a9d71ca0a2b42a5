/** The verbs for keys. */
import {
  formatTable,
  toOneLine,
  formatUsd,
  GatewayError,
  parseUsd,
  type CommandOption,
  type CommandResult,
} from '../../../../core/index.ts';
import { readInput } from '../../../shared/operator-routes.ts';
import { formatBudget, readCounting, countingOptions } from './budget-commands.ts';
import { budgetQuery, listBudgets } from './budgets.ts';
import * as keys from './keys.ts';
import { findOwners, namedKey, readAll, toNumeric, type Options, type Verb, type Work } from './verbs.ts';

/** `none` removes a limit; an omitted limit stays. */
function readLimits({ spendCap, models, expires, callsPerMinute }: Options): Record<string, unknown> {
  const patterns = typeof models === 'string' && models !== 'none' ? models.split(',') : models;
  const stated = { spendCap, models: patterns, expires, callsPerMinute: toNumeric(callsPerMinute) };
  return Object.fromEntries(
    Object.entries(stated).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value === 'none' ? null : value]],
    ),
  );
}

function formatLimits({ spendCap, models, expires, callsPerMinute }: keys.ShownKey['limits']): string {
  const facts = [
    spendCap !== null && `at most ${spendCap} USD`,
    models !== null && `only ${models.map(toOneLine).join(', ')}`,
    expires !== null && `until ${expires}`,
    callsPerMinute !== null && `${callsPerMinute} calls a minute`,
  ];
  return facts.filter((each) => each !== false).join('; ');
}

const headings = ['KEY', 'ENDS', 'ACCOUNT', 'CREATED', 'USED USD', 'LIMITS', 'STATE', 'NAME'];

function formatKeyCells({
  id,
  lastFour,
  name,
  kind,
  account,
  disabled,
  created,
  limits,
  used,
}: keys.ShownKey): string[] {
  const state = disabled ? 'disabled' : '';
  return [id, `…${lastFour}`, account ?? kind, created, used, formatLimits(limits), state, name];
}

function formatKeys(shown: readonly keys.ShownKey[]): string {
  const used = shown.reduce((sum, key) => sum + parseUsd(key.used), 0n);
  const totals = [`${shown.length} keys`, '', '', '', formatUsd(used)];
  return formatTable(headings, shown.map(formatKeyCells), shown.length > 1 ? totals : undefined);
}

function buildSecretResult(made: keys.NewKey): CommandResult {
  const { key, account, id } = made;
  const warning = made.warning && `${made.warning} Add some: tollgate credit add ${account} 5`;
  const owner = account === null ? 'Operator' : `Account "${account}"`;
  const lines = [
    key,
    `Kept nowhere: this is the only time it is shown. ${owner}, key ${id}.`,
    ...(warning === undefined ? [] : [warning]),
  ];
  return { json: warning === undefined ? made : { ...made, warning }, text: lines.join('\n') };
}

function buildKeyResult(key: keys.ShownKey): CommandResult {
  return { json: key, text: formatKeys([key]) };
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

const runCreateKey: Work = async (
  bench,
  _,
  { account, name, credit, operator, readOnly, tags, budget, ...limits },
) => {
  const whose = operator === true ? { kind: 'operator', account } : { account: account ?? 'default' };
  const order = readInput(keys.keyOrder, {
    ...whose,
    name,
    readOnly,
    credit,
    ...readCounting({ tags, budget }),
    limits: readLimits(limits),
  });
  return buildSecretResult(await keys.createKey(bench.store, order, bench.offer));
};

const runListKeys: Work = async ({ store }, _, options) => {
  const { account } = await findOwners(store, options);
  const found = await readAll((after) =>
    keys.listKeys(store, readInput(keys.keyQuery, { account, after, limit: 1000 })),
  );
  return { json: found, text: found.length > 0 ? formatKeys(found) : 'There are no keys.' };
};

const runShowKey: Work = async ({ store }, [wanted = '']) => {
  const key = await keys.findKey(store, wanted);
  const { id, lastFour, name, kind, account, disabled, created, used, pending, limits, tags } = key;
  const { data: budgets } = await listBudgets(
    store,
    readInput(budgetQuery, { scope: 'key', subject: id, limit: 1000 }),
  );
  const facts = {
    key: `${id} (ends in ${lastFour})`,
    name: toOneLine(name),
    account: account ?? `none: ${kind}${key.readOnly === true ? ', read-only' : ''}`,
    state: [disabled ? 'disabled' : 'enabled', key.rotatedTo && `replaced by ${key.rotatedTo}`]
      .filter(Boolean)
      .join(', '),
    created,
    used: `${used} USD, and ${pending} reserved`,
    limits: formatLimits(limits) || 'none',
    tags: tags.join(', ') || 'none',
    budgets: budgets.map(formatBudget).join(`\n${' '.repeat(9)}`) || 'none',
  };
  return {
    json: { ...key, budgets },
    text: Object.entries(facts)
      .map(([fact, value]) => `${fact.padEnd(8)} ${value}`.trimEnd())
      .join('\n'),
  };
};

export const keyVerbs: readonly Verb[] = [
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
    changes: true,
    creates: true,
    run: runCreateKey,
  },
  {
    name: 'keys list',
    description: 'show all keys',
    options: [{ flags: '--account <name>', description: 'only those of one account' }],
    run: runListKeys,
  },
  {
    name: 'keys show <key>',
    description: `show one key, ${namedKey}`,
    run: runShowKey,
  },
  {
    name: 'keys delete <key>',
    description: 'delete a key; its calls and entries stay',
    changes: true,
    async confirm(store, [wanted = '']) {
      const { id, lastFour, account } = await keys.findKey(store, wanted);
      const owner = account === null ? 'an operator' : `the account "${account}"`;
      return `Delete the key ${id} (…${lastFour}) of ${owner}? It stops working for good.`;
    },
    async run({ store }, [key = '']) {
      const deleted = await keys.deleteKey(store, key);
      return { json: deleted, text: `Deleted ${deleted.id}.` };
    },
  },
  {
    name: 'keys disable <key>',
    description: `refuse a key from now on, ${namedKey}`,
    changes: true,
    run: async (bench, [key = '']) =>
      buildKeyResult(await keys.changeKey(bench.store, key, { disabled: true }, bench.offer)),
  },
  {
    name: 'keys enable <key>',
    description: 'accept a key again that was disabled',
    changes: true,
    run: async (bench, [key = '']) =>
      buildKeyResult(await keys.changeKey(bench.store, key, { disabled: false }, bench.offer)),
  },
  {
    name: 'keys rotate <key>',
    description: 'give a key a new secret; limits and spending stay',
    changes: true,
    options: [
      {
        flags: '--overlap <seconds>',
        description: 'how long the old secret still works; unless given it stops now, as a leaked one must',
      },
    ],
    run: async ({ store }, [key = ''], { overlap }) =>
      buildSecretResult(
        await keys.rotateKey(store, key, readInput(keys.rotationOrder, { overlap: toNumeric(overlap) })),
      ),
  },
  {
    name: 'keys limit <key>',
    description: 'change what a key may do',
    changes: true,
    options: limitOptions,
    async run(bench, [key = ''], options) {
      const stated = readLimits(options);
      if (Object.keys(stated).length === 0)
        throw new GatewayError('invalid_request', 'name a limit to change, as --spend-cap 10');
      const changes = readInput(keys.keyChanges, { limits: stated });
      return buildKeyResult(await keys.changeKey(bench.store, key, changes, bench.offer));
    },
  },
];
