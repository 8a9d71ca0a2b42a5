/**
 * The ledger as a member may use it: their own keys and calls, and the figures of their accounts. What this
 * file does not name is refused, so an operation that asks the store for more fails instead of telling it.
 */
import { GatewayError, type Person, type Principal } from '../../../core/index.ts';
import { readRule, type MemberRule } from './operator/teams.ts';
import { applyRule, checkRotation } from './own-keys.ts';
import type { BudgetRecord, CallRow, KeyRecord, Store } from './store.ts';

function refuse(what: string): GatewayError {
  return new GatewayError('forbidden', `A member may not ${what}. Ask an operator.`);
}

const ownersOnly = 'Only an owner may make and change the keys of operators.';

/** The most keys of a member whose calls are listed together. */
const mostKeys = 100;

const none = { accounts: 0, keys: 0, pendingCalls: 0, pendingAmount: 0n, oldestPending: undefined };

function comparePlaces(one: CallRow, other: CallRow): number {
  return other.ended - one.ended || other.number - one.number;
}

type Own = Partial<Store>;

/** Who asks: the holder of the keys, and the accounts. */
interface Member extends Pick<Person, 'accounts'> {
  readonly holder: string;
}

class OwnLedger {
  readonly #store: Store;
  readonly #member: Member;

  constructor(store: Store, member: Member) {
    this.#store = store;
    this.#member = member;
  }

  /** The account that is asked for, or else the first. Throws if it is not the member's. */
  requireAccount(account = this.#member.accounts[0]): string {
    if (account !== undefined && this.#member.accounts.includes(account)) return account;
    throw refuse(account === undefined ? 'do this without an account' : `see the account "${account}"`);
  }

  /** A live key of the member. */
  async requireKey(id: string): Promise<KeyRecord> {
    const { holder } = this.#member;
    const [key] = await this.#store.listKeys({ holder, ids: [id], limit: 1 });
    if (key) return key;
    throw new GatewayError('not_found', `you have no key "${id.slice(0, 100)}"`);
  }

  async requireRule(account: string): Promise<MemberRule> {
    const [record] = await this.#store.listAccounts({ wanted: this.requireAccount(account), limit: 1 });
    const rule = record && readRule(record);
    if (rule) return rule;
    throw refuse(`make keys of the account "${account}"`);
  }

  async listCalls(query: Parameters<Store['listCalls']>[0]): Promise<CallRow[]> {
    const { holder } = this.#member;
    const ids =
      query.key === undefined
        ? (await this.#store.listKeys({ holder, limit: mostKeys })).map(({ id }) => id)
        : [(await this.requireKey(query.key)).id];
    const found = await Promise.all(ids.map((key) => this.#store.listCalls({ ...query, key })));
    return found.flat().toSorted(comparePlaces).slice(0, query.limit);
  }

  /** What counts the calls of the member: their keys, their accounts, and the teams of these. */
  async isCounted({ scope, subject }: Pick<BudgetRecord, 'scope' | 'subject'>): Promise<boolean> {
    if (scope === 'tag') return false;
    const { accounts, holder } = this.#member;
    if (scope === 'key') return (await this.#store.listKeys({ holder, ids: [subject], limit: 1 })).length > 0;
    if (accounts.includes(subject)) return true;
    const found = accounts.map((wanted) => this.#store.listAccounts({ wanted, limit: 1 }));
    return scope === 'team' && (await Promise.all(found)).flat().some(({ line }) => line.includes(subject));
  }

  async isOwnCall(id: string): Promise<boolean> {
    const call = await this.#store.findCall(id);
    const { holder } = this.#member;
    return (
      call !== undefined && (await this.#store.listKeys({ holder, ids: [call.key], limit: 1 })).length > 0
    );
  }
}

function buildReads(store: Store, own: OwnLedger, { accounts, holder }: Member): Own {
  return {
    listAccounts: async ({ after = '', limit, wanted }) => {
      const names = accounts.filter((name) => name > after && (wanted === undefined || name === wanted));
      const found = names.toSorted().map((name) => store.listAccounts({ wanted: name, limit: 1 }));
      return (await Promise.all(found)).flat().slice(0, limit);
    },
    listTeam: async (account) => store.listTeam(own.requireAccount(account)),
    readBalance: async (account) => store.readBalance(own.requireAccount(account)),
    listKeys: (query) => store.listKeys({ ...query, holder }),
    // Of the keys of a list, which are the member's.
    findLastUses: (keys) => store.findLastUses(keys),
    listCalls: (query) => own.listCalls(query),
    findCall: async (id) => ((await own.isOwnCall(id)) ? store.findCall(id) : undefined),
    // Of a call that the member may see, or the credit of an account.
    async listEntries(query) {
      if (query.call !== undefined && (await own.isOwnCall(query.call))) return store.listEntries(query);
      const call = query.reference?.replace(/^refund:/, '');
      if (call !== undefined && (await own.isOwnCall(call))) return store.listEntries(query);
      if (query.kinds?.join('') !== 'credit') throw refuse('see these entries');
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

function buildWrites(store: Store, own: OwnLedger, { holder }: Member): Own {
  return {
    // Keys are made with their account; a member's exists.
    async createAccount({ name }) {
      own.requireAccount(name);
      return false;
    },
    async createKey(key) {
      if (key.kind !== 'user' || (key.holder ?? holder) !== holder) throw refuse('make keys for others');
      const rule = await own.requireRule(own.requireAccount(key.account));
      const order = { ...key, ...applyRule(key, rule), holder, mostHeld: rule.most };
      if (await store.createKey(order)) return true;
      throw new GatewayError('conflict', `you have ${rule.most} keys already, or your account is closed`);
    },
    async changeKey({ id, changes: { name, disabled, ...more } }) {
      await own.requireKey(id);
      if (disabled === false) throw refuse('enable a key');
      if (Object.values(more).some((value) => value !== undefined)) throw refuse('change what a key may do');
      return store.changeKey({
        id,
        changes: { ...(name !== undefined && { name }), ...(disabled && { disabled }) },
      });
    },
    async rotateKey(rotation) {
      const key = await own.requireKey(rotation.id);
      if (key.disabled) throw refuse('rotate a disabled key');
      checkRotation(key, await own.requireRule(key.account ?? ''));
      return store.rotateKey(rotation);
    },
    async deleteKey(deletion) {
      await own.requireKey(deletion.id);
      return store.deleteKey(deletion);
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

/** The store as a person may use it; whoever sends a key, and owners, have all of it. */
export function narrowStore(store: Store, { person, holder = '' }: Principal): Store {
  if (person === undefined || person.role === 'owner') return store;
  const isMember = person.role === 'member';
  const member = { holder, accounts: person.accounts };
  const own = new OwnLedger(store, member);
  const allowed: Own = isMember
    ? { ...buildReads(store, own, member), ...buildWrites(store, own, member) }
    : buildGuards(store);
  return new Proxy(store, {
    get(_store, name) {
      if (Object.hasOwn(allowed, name)) return Reflect.get(allowed, name);
      if (isMember) throw refuse('do this');
      const part: unknown = Reflect.get(store, name);
      return typeof part === 'function' ? part.bind(store) : part;
    },
  });
}
