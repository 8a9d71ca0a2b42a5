/** How operators create, list and change keys. Only the reply that creates a secret shows it. */
import { z } from 'zod';
import { GatewayError, toOneLine } from '../../../../core/index.ts';
import { roles } from '../../../shared/operations.ts';
import { readInput } from '../../../shared/operator-routes.ts';
import {
  buildCountFlag,
  buildListFlag,
  nestFlags,
  type Fields,
  type Flags,
  type OperatorClient,
  type Verbs,
} from '../../../shared/operator-verbs.ts';
import type { Key, NewKey } from '../../../shared/replies/accounts.ts';
import { formatFacts, formatTable } from '../../../shared/table.ts';
import { issueKey, createKeySecret, isKeyId } from '../keys.ts';
import type { KeyRecord, NewKey as StoredKey, Store } from '../store.ts';
import { addCredit, shownAccount } from './accounts.ts';
import { budgetFlag, budgetListing, formatBudget } from './budgets.ts';
import { describeKey, findKey } from './key-records.ts';
import { defineOperation, namedKey, type Ledger } from './operation.ts';
import {
  checkOffered,
  accountName,
  amount,
  budgetTerms,
  holder,
  label,
  limits,
  moment,
  page,
  keepStated,
  tags,
} from './reading.ts';
import { buildPage, buildParamError, buildRefusal, toIso } from './replies.ts';
import { applyState, dryRun, stating, toShown } from './stated.ts';

/** What a new key may do. */
export const keyTerms = z.strictObject({
  limits: limits.default({}),
  /** Tags that every call of the key gets. */
  tags: tags.default([]),
  budgets: z.array(budgetTerms).max(10).default([]),
});

const keyOrder = keyTerms.extend({
  /** The account that the key belongs to, which is created if no account has this name yet. */
  account: accountName.optional(),
  /** `operator` keys use the admin API, belong to no account and spend nothing. */
  kind: z.enum(['user', 'operator']).default('user'),
  name: label.default(''),
  /** The person or member who gets the key. */
  holder: holder.optional(),
  readOnly: z.boolean().default(false),
  credit: amount.optional(),
});
const longestOverlap = 30 * 24 * 3600;

/**
 * Throws if limits are set that an operator key cannot have. It spends nothing and calls no model, so only
 * an expiry and its networks make sense.
 */
function checkOperatorKey(
  { expires: _expires, networks: _networks, ...stated }: z.output<typeof limits>,
  more: Readonly<Record<string, unknown>>,
): void {
  const limited = Object.entries(stated).map(([name, value]) => [`limits.${name}`, value] as const);
  const asked = [...Object.entries(more), ...limited];
  const [param] = asked.find(([, value]) => value !== undefined && value !== null) ?? [];
  if (param !== undefined) throw buildParamError(param, 'an operator key spends nothing and calls no model');
}

async function createKey(
  { store, offer, isMember }: Ledger,
  order: z.output<typeof keyOrder>,
  more: Pick<StoredKey, 'onlyNamed'> = {},
): Promise<NewKey> {
  const { account, kind, name, readOnly, limits: stated, credit, tags: tagged, budgets } = order;
  if (isMember && (credit !== undefined || budgets.length > 0))
    throw new GatewayError('forbidden', 'A member may not add credit or budgets. Ask an operator.');
  await checkOffered(stated, offer);
  if ((account === undefined) !== (kind === 'operator'))
    throw buildParamError('account', 'a user key has an account, and an operator key has none');
  if (kind === 'user' && readOnly)
    throw buildParamError('readOnly', 'only an operator key can be limited to reading');
  if (kind === 'operator') checkOperatorKey(stated, { credit, tags: tagged[0], budgets: budgets[0] });
  if (account !== undefined) await store.createAccount({ name: account, at: Date.now() });
  const owned = { account, name, holder: order.holder, readOnly, tags: tagged };
  const made = await issueKey(store, { ...owned, ...stated, ...more });
  if (!made) throw buildRefusal('not_found', `there is no open account "${account}" to make a key for`);
  if (credit !== undefined && account !== undefined)
    await addCredit(store, { account, amount: credit, kind: 'top-up' });
  for (const budget of budgets)
    await store.createBudget({ ...budget, scope: 'key', subject: made.id, at: Date.now() });
  const [payer] = account === undefined ? [] : await store.listAccounts({ wanted: account, limit: 1 });
  const warning = `The account "${account}" has no credit, so every call that costs something is refused.`;
  return {
    key: made.secret,
    ...(await findKey(store, made.id)),
    ...(payer && payer.total <= 0n && !payer.terms.postpaid && { warning }),
  };
}

function formatLimits(limits: Key['limits']): string {
  const { spendCap, models, expires, callsPerMinute, networks, protocols, operations } = limits;
  const facts = [
    spendCap !== null && `at most ${spendCap} USD`,
    models !== null && `only ${models.map(toOneLine).join(', ')}`,
    expires !== null && `until ${expires}`,
    callsPerMinute !== null && `${callsPerMinute} calls a minute`,
    networks !== null && `from ${networks.join(', ')}`,
    protocols !== null && `with ${protocols.map(toOneLine).join(', ')}`,
    operations !== null && `for ${operations.join(', ')}`,
  ];
  return facts.filter((each) => each !== false).join('; ');
}

const headings = ['KEY', 'ENDS', 'ACCOUNT', 'CREATED', 'USED USD', 'LIMITS', 'STATE', 'NAME'];

function formatKeyCells(key: Key): string[] {
  const { id, lastFour, account, kind, created, used, name } = key;
  const state = key.disabled ? 'disabled' : '';
  return [id, `…${lastFour}`, account ?? kind, created, used, formatLimits(key.limits), state, name];
}

function formatKeys(shown: readonly Key[]): string {
  return formatTable(headings, shown.map(formatKeyCells), { many: 'keys', of: ['USED USD'] });
}

function formatSecret({ key, account, id, warning }: NewKey): string {
  const owner = account === null ? 'Operator' : `Account "${account}"`;
  const lines = [
    key,
    `Save this key now. It cannot be shown again. ${owner}, key ${id}.`,
    ...(warning === undefined ? [] : [`${warning} Add some: tollgate credit add ${account} 5`]),
  ];
  return lines.join('\n');
}

export const limitFlags = nestFlags('limits', {
  '--spend-cap <usd>': 'lifetime spending limit in USD; "none" removes it, and any limit below',
  '--models <ids>': buildListFlag('models that it may call; <owner>/* is all of an owner'),
  '--expires <time>': 'expiry date: 2027-01-31 or 2027-01-31T09:30:00Z',
  '--calls-per-minute <count>': buildCountFlag('how many calls it may make in a minute'),
  '--networks <cidrs>': buildListFlag('networks of its clients: 10.0.0.0/8,2001:db8::/32'),
  '--protocols <names>': buildListFlag('protocols that it may use: messages,responses'),
  '--operations <names>': buildListFlag(
    'operations that it may use: generate, edit, count, compact, models, stored',
  ),
});

/** What else is said of a new key. */
export const termFlags: Flags = {
  '--tags <tags>': buildListFlag('tags for every call'),
  '--budget <limits>': budgetFlag,
};

const formatKey = (key: Key): string => formatKeys([key]);

const shown = defineOperation({
  route: 'GET /admin/keys/:key',
  summary: `Show a key, ${namedKey}`,
  roles: roles.readOwn,
  run: ({ store }, _, { key }) => findKey(store, key),
});

/**
 * The filter of a list, a report or an export. Throws if it names an account or a key that does not exist.
 * Ids are not looked up: deleted keys have calls and entries too.
 */
export async function findOwners(filter: Fields, { call }: OperatorClient<Ledger>): Promise<Fields> {
  const { account, key } = filter;
  if (typeof account === 'string') await call(shownAccount, { params: { account } });
  if (typeof key === 'string' && !isKeyId(key)) await call(shown, { params: { key } });
  return filter;
}

const listing = defineOperation({
  route: 'GET /admin/keys',
  summary: 'List keys',
  roles: roles.readOwn,
  input: page.extend({
    account: accountName.optional(),
    kind: z.enum(['user', 'operator']).optional(),
    holder: holder.optional(),
  }),
  async run({ store, flush }, query) {
    await flush?.();
    const found = await store.listKeys(query);
    const uses = await store.findLastUses(found.map(({ id }) => id));
    const lastUses = new Map(uses.map(({ key, at }) => [key, at]));
    const describe = (key: KeyRecord): Key => ({
      ...describeKey(key),
      lastUsed: toIso(lastUses.get(key.id)),
    });
    return buildPage(found, query.limit, describe, ({ id }) => id);
  },
  verbs: {
    'keys list': {
      all: true,
      flags: {
        '--account <name>': 'only of one account',
        '--holder <name>': 'only of one person or member',
      },
      complete: findOwners,
      format: ({ data }) => formatKeys(data),
    },
  },
});

export const keyDeletion = defineOperation({
  route: 'DELETE /admin/keys/:key',
  summary: 'Delete a key; its calls and entries stay',
  roles: roles.manageOwn,
  async run({ store }, _, { key: wanted }) {
    const key = await findKey(store, wanted);
    await store.deleteKey({ id: key.id, at: Date.now() });
    return { ...key, deleted: true };
  },
  verbs: {
    'keys delete <key>': {
      async ask({ call }, { args }) {
        const { id, lastFour, account } = await call(shown, { params: args });
        const owner = account === null ? 'an operator' : `the account "${account}"`;
        return `Delete the key ${id} (…${lastFour}) of ${owner}? It stops working for good.`;
      },
      format: ({ id }) => `Deleted ${id}.`,
    },
  },
});

export const keyCreation = defineOperation({
  route: 'POST /admin/keys',
  summary: 'Create a key (and its account if needed)',
  roles: roles.manageOwn,
  statuses: [201],
  input: keyOrder,
  run: (ledger, order) => createKey(ledger, order),
  verbs: {
    'keys create': {
      creates: true,
      flags: {
        '--account <name>': 'account that pays ("default" unless given)',
        '--name <label>': 'what the key is for',
        '--holder <name>': 'the person or member who gets it',
        '--credit <usd>': 'credit to add to the account',
        ...termFlags,
        '--operator': {
          field: 'kind',
          description: 'an operator key: it uses the admin API and spends nothing',
          read: () => 'operator',
        },
        '--read-only': 'with --operator: it sees everything and changes nothing',
        ...limitFlags,
      },
      complete: (input) => (input.kind === 'operator' ? input : { account: 'default', ...input }),
      format: formatSecret,
    },
  },
});

export const keyRotation = defineOperation({
  route: 'POST /admin/keys/:key/rotate',
  summary: 'Give a key a new secret; limits and spending stay',
  roles: roles.manageOwn,
  statuses: [201],
  input: z
    .strictObject({
      /** Seconds for which the old secret still works. */
      overlap: z.int('it has to be a whole number of seconds').min(0).max(longestOverlap).default(0),
    })
    .prefault({}),
  async run({ store }, { overlap }, { key }) {
    const { id, kind } = await findKey(store, key);
    const { secret, kept } = createKeySecret(kind);
    const isRotated = await store.rotateKey({ id, until: kept.at + overlap * 1000, key: kept });
    if (!isRotated) throw buildRefusal('conflict', `the key ${id} was rotated before`);
    return { key: secret, ...(await findKey(store, kept.id)) };
  },
  verbs: {
    'keys rotate <key>': {
      flags: {
        '--overlap <seconds>': buildCountFlag(
          'how long the old secret still works; unless given it stops now, as a leaked one must',
        ),
      },
      format: formatSecret,
    },
  },
});

const keyChange = z.strictObject({
  name: label.optional(),
  holder: holder.nullable().optional(),
  disabled: z.boolean().optional(),
  limits: limits.optional(),
  tags: tags.optional(),
});

const change = defineOperation({
  route: 'PATCH /admin/keys/:key',
  summary: 'Rename, limit, disable or enable a key',
  roles: roles.manageOwn,
  input: keyChange,
  async run({ store, offer }, { limits: changed, ...rest }, { key }) {
    await checkOffered(changed ?? {}, offer);
    const { id, kind } = await findKey(store, key);
    if (kind === 'operator' && changed) checkOperatorKey(changed, { tags: rest.tags?.[0] });
    await store.changeKey({ id, changes: keepStated({ ...rest, ...changed }) });
    return findKey(store, id);
  },
  verbs: {
    'keys disable <key>': {
      description: `refuse a key from now on, named ${namedKey}`,
      input: { disabled: true },
      format: formatKey,
    },
    'keys enable <key>': {
      description: 'accept a disabled key again',
      input: { disabled: false },
      format: formatKey,
    },
    'keys limit <key>': {
      description: 'change what a key may do',
      flags: limitFlags,
      complete(input) {
        if (input.limits === undefined)
          throw new GatewayError('invalid_request', 'name a limit to change, as --spend-cap 10');
        return input;
      },
      format: formatKey,
    },
  },
});

/** The key of this name that was not replaced. */
async function findNamed(store: Store, account: string, name: string): Promise<Key | undefined> {
  const found = await store.listKeys({ account, name, limit: 20 });
  const [key, other] = found.filter((each) => each.rotatedTo === undefined && each.name === name);
  if (!key || !other) return key && describeKey(key);
  const ids = `${key.id} and ${other.id}`;
  throw buildRefusal('conflict', `the account "${account}" has two keys "${name}": rename one of ${ids}`);
}

/** A repository may state keys that have expired. */
const anyExpiry = moment.transform((at): string => toIso(at)).nullish();

export const statedKey = defineOperation({
  ...stating,
  route: 'PUT /admin/keys/:key',
  summary: 'State what a key of an account has to be, by its name',
  details: `${stating.details} Only the reply that makes it has its secret.`,
  input: keyChange.omit({ name: true }).extend({
    account: accountName,
    limits: limits.extend({ expires: anyExpiry }).optional(),
    dryRun,
  }),
  async run(ledger, { account, dryRun: isDry, ...terms }, { key }) {
    const { store, offer } = ledger;
    const name = readInput(label.min(1), key);
    await checkOffered(terms.limits ?? {}, offer);
    const after = toShown(terms);
    const { disabled: _disabled, holder: owner, ...order } = after;
    return applyState({
      kind: 'key',
      name,
      dryRun: isDry,
      after,
      find: () => findNamed(store, account, name),
      make() {
        const made = { ...order, account, name, holder: owner ?? undefined };
        return createKey(ledger, readInput(keyOrder, made), { onlyNamed: true });
      },
      change: (changed, { id }, isDry) =>
        isDry
          ? readInput(keyChange, changed)
          : change.run(ledger, { params: { key: String(id) }, input: changed }),
    });
  },
});

export const keyOperations = [listing, keyCreation, shown, statedKey, change, keyDeletion, keyRotation];

export const keyVerbs: Verbs<Ledger> = {
  'keys show <key>': {
    description: `show one key, named ${namedKey}`,
    async run({ call }, { args }) {
      const key = await call(shown, { params: args });
      const { id, lastFour, name, kind, account, disabled, created, used, pending, limits, tags } = key;
      const { data: budgets } = await call(budgetListing, {
        input: { scope: 'key', subject: id, limit: 1000 },
      });
      const facts = {
        key: `${id} (ends in ${lastFour})`,
        name: toOneLine(name),
        holder: toOneLine(key.holder ?? '') || 'none',
        account: account ?? `none: ${kind}${key.readOnly === true ? ', read-only' : ''}`,
        state: [disabled ? 'disabled' : 'enabled', key.rotatedTo && `replaced by ${key.rotatedTo}`]
          .filter(Boolean)
          .join(', '),
        created,
        used: `${used} USD, and ${pending} reserved`,
        limits: formatLimits(limits) || 'none',
        tags: tags.join(', ') || 'none',
        budgets: budgets.map(formatBudget).join('\n') || 'none',
      };
      return { json: { ...key, budgets }, text: formatFacts(facts) };
    },
  },
};
