/**
 * The ledger as a member may use it: their own keys and calls, and the figures of their accounts. What this
 * file does not name is refused, so an operation that asks the store for more fails instead of telling it.
 */
import { GatewayError, type Principal } from '../../../core/index.ts';
import { OwnKeys, refuseMember, type Member } from './own-keys.ts';
import type { BudgetRecord, CallRow, Store } from './store.ts';

const ownersOnly = 'Only an owner may make and change the keys of operators.';

/** The most keys of a member whose calls are listed together. */
const mostKeys = 100;

const none = { accounts: 0, keys: 0, pendingCalls: 0, pendingAmount: 0n, oldestPending: undefined };

function comparePlaces(one: CallRow, other: CallRow): number {
  return other.ended - one.ended || other.number - one.number;
}

type Own = Partial<Store>;

class OwnLedger {
  readonly #store: Store;
  readonly #member: Member;
  readonly keys: OwnKeys;

  constructor(store: Store, member: Member) {
    this.#store = store;
    this.#member = member;
    this.keys = new OwnKeys(store, member);
  }

  /** The account that is asked for, or else the first. Throws if it is not the member's. */
  requireAccount(account = this.#member.accounts[0]): string {
    if (account !== undefined && this.#member.accounts.includes(account)) return account;
    throw refuseMember(account === undefined ? 'do this without an account' : `see the account "${account}"`);
  }

  async listCalls(query: Parameters<Store['listCalls']>[0]): Promise<CallRow[]> {
    const { key } = query;
    const held =
      key === undefined ? await this.keys.list({ limit: mostKeys }) : [await this.keys.require(key)];
    const found = await Promise.all(held.map(({ id }) => this.#store.listCalls({ ...query, key: id })));
    return found.flat().toSorted(comparePlaces).slice(0, query.limit);
  }

  async #holds(id: string): Promise<boolean> {
    return (await this.keys.list({ ids: [id], limit: 1 })).length > 0;
  }

  /** What counts the calls of the member: their keys, their accounts, and the teams of these. */
  async isCounted({ scope, subject }: Pick<BudgetRecord, 'scope' | 'subject'>): Promise<boolean> {
    if (scope === 'tag') return false;
    if (scope === 'key') return this.#holds(subject);
    const { accounts } = this.#member;
    if (accounts.includes(subject)) return true;
    const found = accounts.map((wanted) => this.#store.listAccounts({ wanted, limit: 1 }));
    return scope === 'team' && (await Promise.all(found)).flat().some(({ line }) => line.includes(subject));
  }

  async isOwnCall(id: string): Promise<boolean> {
    const call = await this.#store.findCall(id);
    return call !== undefined && this.#holds(call.key);
  }
}

function buildReads(store: Store, own: OwnLedger, { accounts }: Member): Own {
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
    listKeys: (query) => own.keys.list(query),
    async findLastUses(ids) {
      const held = await own.keys.list({ ids, limit: ids.length });
      return store.findLastUses(held.map(({ id }) => id));
    },
    listCalls: (query) => own.listCalls(query),
    findCall: async (id) => ((await own.isOwnCall(id)) ? store.findCall(id) : undefined),
    // Of a call that the member may see, or the credit of an account.
    async listEntries(query) {
      if (query.call !== undefined && (await own.isOwnCall(query.call))) return store.listEntries(query);
      const call = query.reference?.replace(/^refund:/, '');
      if (call !== undefined && (await own.isOwnCall(call))) return store.listEntries(query);
      if (query.kinds?.join('') !== 'credit') throw refuseMember('see these entries');
      return store.listEntries({ ...query, account: own.requireAccount(query.account) });
    },
    sumUsage: async (query) => store.sumUsage({ ...query, account: own.requireAccount(query.account) }),
    sumCalls: async (query) => store.sumCalls({ ...query, account: own.requireAccount(query.account) }),
    sumCreditsBefore: async (query) =>
      store.sumCreditsBefore({ ...query, account: own.requireAccount(query.account) }),
    sumTotals: async () => none,
    countUnsummed: () => store.countUnsummed(),
    async listBudgets(query) {
      const found: BudgetRecord[] = [];
      for (let { after = 0 } = query, isMore = true; isMore && found.length < query.limit;) {
        const page = await store.listBudgets({ ...query, after });
        for (const budget of page) if (await own.isCounted(budget)) found.push(budget);
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
    createKey: (key) => own.keys.make(key),
    async changeKey({ id, changes: { name, disabled, ...more } }) {
      await own.keys.require(id);
      if (disabled === false) throw refuseMember('enable a key');
      if (Object.values(more).some((value) => value !== undefined))
        throw refuseMember('change what a key may do');
      return store.changeKey({
        id,
        changes: { ...(name !== undefined && { name }), ...(disabled && { disabled }) },
      });
    },
    rotateKey: (rotation) => own.keys.rotate(rotation),
    async deleteKey(deletion) {
      await own.keys.revoke(deletion);
      return true;
    },
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

/** The store as a person may use it. Owners, and callers with an operator key, may use all of it. */
export function narrowStore(store: Store, { person, holder = '' }: Principal): Store {
  if (person === undefined || person.role === 'owner') return store;
  const isMember = person.role === 'member';
  const member = { held: { holder }, accounts: person.accounts };
  const own = new OwnLedger(store, member);
  const allowed: Own = isMember
    ? { ...buildReads(store, own, member), ...buildWrites(store, own) }
    : buildGuards(store);
  return new Proxy(store, {
    get(_store, name) {
      if (Object.hasOwn(allowed, name)) return Reflect.get(allowed, name);
      if (isMember) throw refuseMember('do this');
      const part: unknown = Reflect.get(store, name);
      return typeof part === 'function' ? part.bind(store) : part;
    },
  });
}
