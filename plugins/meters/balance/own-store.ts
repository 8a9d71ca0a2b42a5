/**
 * The ledger as a member may use it: their own keys and calls, and the figures of their accounts. They make,
 * rotate and revoke their keys as far as the account's rule allows. Rotating shows a secret. So a key that
 * may do more than the rule allows can only be rotated with that key itself. What this file does not name is
 * refused, so an operation that asks the store for more fails instead of telling it.
 */
import { formatUsd, GatewayError, type Principal } from '../../../core/index.ts';
import { limitNames, type LimitOrder } from './accounts.ts';
import { listLine } from './notices.ts';
import { buildParamError, buildRefusal, toIso } from './operator/replies.ts';
import { readRule, type MemberRule } from './operator/teams.ts';
import type { BudgetRecord, KeyRecord, Store } from './store.ts';

const ownersOnly = 'Only an owner may make and change the keys of operators.';
const day = 24 * 3_600_000;
/** Keys that one holder may see. `memberRule` allows no more. */
export const mostListed = 1000;

const none = { accounts: 0, keys: 0, pendingCalls: 0, pendingAmount: 0n, oldestPending: undefined };

/** As a member sees a refusal of their own keys. */
function refuseMember(what: string): GatewayError {
  return new GatewayError('forbidden', `A member may not ${what}: ask an operator.`);
}

type Permits = Principal['permits'];

/** As much as a key may do that a rule, and the key that makes or rotates it, allow. */
function getMost({ days, most: _most, ...limits }: MemberRule, permits: Permits): LimitOrder {
  return { ...limits, ...permits, expires: days ? Date.now() + days * day : undefined };
}

function matchesAny(text: string, allowed: readonly string[]): boolean {
  return allowed.some((each) => (each.endsWith('*') ? text.startsWith(each.slice(0, -1)) : each === text));
}

/** The limit that allows more than `most` does. */
function findWider(asked: LimitOrder, most: LimitOrder): keyof LimitOrder | undefined {
  return limitNames.find((name) => {
    const [limit, allowed] = [asked[name] ?? undefined, most[name] ?? undefined];
    if (allowed === undefined) return false;
    if (typeof allowed === 'object')
      return typeof limit !== 'object' || !limit.every((each) => matchesAny(each, allowed));
    return limit === undefined || typeof limit === 'object' || limit > allowed;
  });
}

function formatLimit(name: keyof LimitOrder, limit: LimitOrder[keyof LimitOrder]): string {
  if (typeof limit === 'bigint') return `${formatUsd(limit)} USD`;
  if (name === 'expires') return toIso(Number(limit));
  return typeof limit === 'object' ? (limit?.join(', ') ?? '') : String(limit);
}

/** What a member's key may do: as much as is allowed, where nothing else is asked for. */
function applyRule(asked: LimitOrder, rule: MemberRule, permits: Permits): LimitOrder {
  const most = getMost(rule, permits);
  const limited = limitNames.reduce<LimitOrder>(
    (all, name) => ({ ...all, [name]: asked[name] ?? most[name] }),
    {},
  );
  const wider = findWider(limited, most);
  if (wider === undefined) return limited;
  throw buildParamError(
    `limits.${wider}`,
    permits && wider in permits
      ? 'the key that makes this one is limited to less'
      : `your team allows at most ${formatLimit(wider, most[wider])}`,
  );
}

/** Who asks for what is their own. */
export interface Member {
  readonly held: { readonly holder: string; readonly account?: string };
  /** Accounts whose keys they make. */
  readonly accounts: readonly string[];
  /** The key that asks, and where and for what it may be used; in the console there is none. */
  readonly key?: string;
  readonly permits?: Permits;
}

type Rotation = Parameters<Store['rotateKey']>[0];

/** What a member asks of the ledger, and makes in it. */
export class OwnLedger {
  readonly #store: Store;
  readonly #member: Member;

  constructor(store: Store, member: Member) {
    this.#store = store;
    this.#member = member;
  }

  listKeys(query: Parameters<Store['listKeys']>[0]): Promise<readonly KeyRecord[]> {
    return this.#store.listKeys({ ...query, ...this.#member.held });
  }

  /** Other people's keys get the same error as unknown ones. */
  async requireKey(id: string): Promise<KeyRecord> {
    const [key] = await this.listKeys({ ids: [id], limit: 1 });
    if (key) return key;
    throw buildRefusal('not_found', `you have no key "${id.slice(0, 100)}"`);
  }

  /** Undefined if members of the account may make no keys. */
  async findRule(account = ''): Promise<MemberRule | undefined> {
    const [record] = await this.#store.listAccounts({ wanted: account, limit: 1 });
    return record && this.#member.accounts.includes(account) ? readRule(record) : undefined;
  }

  async requireRule(account = ''): Promise<MemberRule> {
    const rule = await this.findRule(account);
    if (rule) return rule;
    const which = `The account "${account}" lets its members make no keys`;
    throw new GatewayError('forbidden', `${which}: ask an operator for a key.`);
  }

  async makeKey(key: Parameters<Store['createKey']>[0]): Promise<true> {
    const { holder } = this.#member.held;
    if (key.kind !== 'user' || (key.holder ?? holder) !== holder) throw refuseMember('make keys for others');
    const rule = await this.requireRule(key.account);
    const order = { ...key, ...applyRule(key, rule, this.#member.permits), holder, mostHeld: rule.most };
    if (await this.#store.createKey(order)) return true;
    const most = `you have ${rule.most} keys already, the most that your team allows: revoke one`;
    throw buildRefusal('conflict', `${most}. Or your account is closed`);
  }

  async rotateKey(rotation: Rotation): ReturnType<Store['rotateKey']> {
    const record = await this.requireKey(rotation.id);
    if (record.disabled) throw refuseMember('rotate a disabled key');
    const { key, permits } = this.#member;
    const rule = await this.requireRule(record.account);
    const wider = record.id === key ? undefined : findWider(record, getMost(rule, permits));
    if (wider !== undefined)
      throw refuseMember(`rotate a key that may do more than they may allow it (${wider})`);
    return this.#store.rotateKey(rotation);
  }

  async revokeKey(deletion: Parameters<Store['deleteKey']>[0]): Promise<boolean> {
    const { account } = await this.requireKey(deletion.id);
    // A leaked key must not revoke other keys if its holder cannot make new ones.
    if (this.#member.key !== undefined) await this.requireRule(account);
    return this.#store.deleteKey(deletion);
  }

  /** The account that is asked for, or else the first. Throws if it is not the member's. */
  requireAccount(account = this.#member.accounts[0]): string {
    if (account !== undefined && this.#member.accounts.includes(account)) return account;
    throw refuseMember(account === undefined ? 'do this without an account' : `see the account "${account}"`);
  }

  /** What counts the calls of the member, as `team search`: their keys, accounts, and teams of these. */
  async listCounting(): Promise<ReadonlySet<string>> {
    const { accounts } = this.#member;
    const teams = await Promise.all(accounts.map((account) => listLine(this.#store, account)));
    const keys = await this.listKeys({ limit: mostListed });
    return new Set([
      ...accounts.map((account) => `account ${account}`),
      ...teams.flat().map((team) => `team ${team}`),
      ...keys.map(({ root }) => `key ${root}`),
    ]);
  }

  async isOwnCall(id: string): Promise<boolean> {
    const call = await this.#store.findCall(id);
    return call !== undefined && (await this.listKeys({ ids: [call.key], limit: 1 })).length > 0;
  }
}

type Own = Partial<Store>;

/** What vendors bill is known to operators alone: to a member it equals what is charged. */
function hideMargin<Row extends { readonly margin: bigint }>(row: Row): Row {
  return { ...row, margin: 0n };
}

function buildReads(store: Store, own: OwnLedger, { accounts, held }: Member): Own {
  const listOwn: Store['listEntries'] = async (query) =>
    (await store.listEntries(query)).map((entry) => ({ ...entry, vendor: undefined }));
  return {
    listAccounts: async ({ after = '', limit, wanted }) => {
      const names = wanted === undefined ? accounts : [own.requireAccount(wanted)];
      const found = names
        .filter((name) => name > after)
        .toSorted()
        .map((name) => store.listAccounts({ wanted: name, limit: 1 }));
      return (await Promise.all(found)).flat().slice(0, limit);
    },
    listTeam: async (account) => store.listTeam(own.requireAccount(account)),
    readBalance: async (account) => store.readBalance(own.requireAccount(account)),
    listKeys: (query) => own.listKeys(query),
    async findLastUses(ids) {
      const held = await own.listKeys({ ids, limit: ids.length });
      return store.findLastUses(held.map(({ id }) => id));
    },
    async listCalls(query) {
      if (query.key !== undefined) await own.requireKey(query.key);
      const calls = await store.listCalls({ ...query, holder: held.holder });
      return calls.map(hideMargin);
    },
    async findCall(id) {
      const call = (await own.isOwnCall(id)) ? await store.findCall(id) : undefined;
      return call && hideMargin(call);
    },
    // Of a call that the member may see, or the credit of an account.
    async listEntries(query) {
      if (query.call !== undefined && (await own.isOwnCall(query.call))) return listOwn(query);
      const call = query.reference?.replace(/^refund:/, '');
      if (call !== undefined && (await own.isOwnCall(call))) return listOwn(query);
      if (query.kinds?.join('') !== 'credit') throw refuseMember('see these entries');
      return store.listEntries({ ...query, account: own.requireAccount(query.account) });
    },
    async sumUsage(query) {
      const rows = await store.sumUsage({ ...query, account: own.requireAccount(query.account) });
      return rows.map((row) => ({ ...row, vendor: row.cost }));
    },
    async sumCalls(query) {
      const rows = await store.sumCalls({ ...query, account: own.requireAccount(query.account) });
      return rows.map(hideMargin);
    },
    sumCreditsBefore: async (query) =>
      store.sumCreditsBefore({ ...query, account: own.requireAccount(query.account) }),
    sumTotals: async () => none,
    countUnsummed: () => store.countUnsummed(),
    async listBudgets(query) {
      const counting = await own.listCounting();
      const found: BudgetRecord[] = [];
      for (let { after = 0 } = query, isMore = true; isMore && found.length < query.limit;) {
        const page = await store.listBudgets({ ...query, after });
        found.push(...page.filter(({ scope, subject }) => counting.has(`${scope} ${subject}`)));
        after = page.at(-1)?.id ?? after;
        isMore = page.length === query.limit && query.id === undefined;
      }
      return found.slice(0, query.limit);
    },
  };
}

function buildWrites(store: Store, own: OwnLedger): Own {
  return {
    // Keys are made with their account; a member's exists.
    async createAccount({ name }) {
      own.requireAccount(name);
      return false;
    },
    createKey: (key) => own.makeKey(key),
    async changeKey({ id, changes: { name, disabled, ...more } }) {
      await own.requireKey(id);
      if (disabled === false) throw refuseMember('enable a key');
      if (Object.values(more).some((value) => value !== undefined))
        throw refuseMember('change what a key may do');
      return store.changeKey({
        id,
        changes: { ...(name !== undefined && { name }), ...(disabled && { disabled }) },
      });
    },
    rotateKey: (rotation) => own.rotateKey(rotation),
    deleteKey: (deletion) => own.revokeKey(deletion),
  };
}

/** An operator key has the rights of an owner, so no other person makes one or gets a secret of one. */
function buildGuards(store: Store): Own {
  const check = async (id: string): Promise<void> => {
    const [key] = await store.listKeys({ ids: [id], limit: 1 });
    if (key?.kind === 'operator') throw new GatewayError('forbidden', ownersOnly);
  };
  return {
    async createKey(key) {
      if (key.kind === 'operator') throw new GatewayError('forbidden', ownersOnly);
      return store.createKey(key);
    },
    changeKey: (change) => check(change.id).then(() => store.changeKey(change)),
    rotateKey: (rotation) => check(rotation.id).then(() => store.rotateKey(rotation)),
    deleteKey: (deletion) => check(deletion.id).then(() => store.deleteKey(deletion)),
  };
}

function replaceMethods(store: Store, allowed: Own, getOther: (name: string | symbol) => unknown): Store {
  return new Proxy(store, {
    get: (_store, name) => (Object.hasOwn(allowed, name) ? Reflect.get(allowed, name) : getOther(name)),
  });
}

export function narrowToMember(store: Store, member: Member): Store {
  const own = new OwnLedger(store, member);
  return replaceMethods(store, { ...buildReads(store, own, member), ...buildWrites(store, own) }, () => {
    throw refuseMember('do this');
  });
}

/** The store as a person may use it. Owners, and callers with an operator key, may use all of it. */
export function narrowStore(store: Store, { person, holder = '' }: Principal): Store {
  if (person === undefined || person.role === 'owner') return store;
  if (person.role === 'member') return narrowToMember(store, { held: { holder }, accounts: person.accounts });
  return replaceMethods(store, buildGuards(store), (name) => {
    const part: unknown = Reflect.get(store, name);
    return typeof part === 'function' ? part.bind(store) : part;
  });
}
