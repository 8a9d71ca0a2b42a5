/**
 * Any history of operations on the ledger, against a ledger in memory that answers by the rules and nothing
 * else.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Nano } from '../../core/index.ts';
import type {
  Claim,
  Extended,
  Reserved,
  ReserveRequest,
  Scope,
  Store,
} from '../../plugins/meters/balance/store.ts';
import { newKey, progress, settlement } from '../balance/calls.ts';
import type { Bench } from './bench.ts';
import { expectSound } from './books.ts';
import { Model, type ModelBudget, account, anyQuote, owed, owner } from './history-model.ts';

/** Steps that share a turn, and so a transaction. */
const step = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('credit' as const),
      account,
      amount: fc.bigInt(1n, 500n),
      reference: fc.constantFrom(undefined, 'p', 'q'),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('reserve' as const),
      account,
      owner,
      key: fc.constantFrom('capped', 'free', 'unknown'),
      claim: fc.constantFrom(undefined, undefined, 'c', 'd'),
      tags: fc.subarray(['t', 'u']),
      quotes: fc.array(anyQuote, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('extend' as const),
      which: fc.nat(12),
      owner,
      quote: anyQuote,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('settle' as const),
      which: fc.nat(12),
      amount: fc.option(owed, { nil: undefined }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('beat' as const), owner, which: fc.nat(12), owed }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('limit' as const),
      which: fc.nat(3),
      limit: fc.bigInt(0n, 1500n),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('terms' as const), account, postpaid: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('recover' as const), owner }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('expire' as const) }) },
);

type Step = typeof step extends fc.Arbitrary<infer Of> ? Of : never;
let histories = 0;

/** The model knows no ids of budgets. */
function omitBudget(answer: Reserved | Extended): unknown {
  if (answer.status !== 'short') return answer;
  const { status, by, available } = answer;
  return { status, by, available };
}

/** One history: the store and the model are asked the same, and have to answer the same. */
class History {
  readonly #stores: readonly Store[];
  readonly #model = new Model();
  readonly #prefix: string;
  /** When it plays, so that nothing of another is old enough to expire with it. */
  readonly #at: number;
  readonly #beats: [number, number];
  readonly #budgets: number[] = [];
  #reservations = 0;
  #extensions = 0;
  readonly #requests = new Map<string, ReserveRequest>();

  constructor(stores: readonly Store[]) {
    histories += 1;
    this.#prefix = `h${histories}-`;
    this.#at = -1_000_000 + histories;
    this.#stores = stores;
    this.#beats = [0, 0];
  }

  #mark(name: string): string {
    return this.#prefix + name;
  }

  #getStore(owner: number): Store {
    const store = this.#stores[owner];
    if (!store) throw new RangeError(`there is no store ${owner}`);
    return store;
  }

  async begin(): Promise<void> {
    const store = this.#getStore(0);
    for (const name of ['x', 'y']) await store.createAccount({ name: this.#mark(name), at: 1 });
    for (const [name, spendCap] of [
      ['capped', 600n],
      ['free', undefined],
    ] as const) {
      const id = this.#formatKey(name);
      await store.createKey(newKey(id, this.#mark('x'), { spendCap }));
      this.#model.keys.set(id, { cap: spendCap, used: 0n, pending: 0n });
    }
    await store.moveAccount({ account: this.#mark('y'), parent: this.#mark('x') });
    const [x, y, free] = [this.#mark('x'), this.#mark('y'), this.#formatKey('free')];
    await this.#createBudget('team', x, { accounts: [x, y], limit: 1200n });
    await this.#createBudget('account', y, { accounts: [y], limit: 700n });
    await this.#createBudget('key', free, { key: free, limit: 600n });
    await this.#createBudget('tag', this.#mark('t'), { tag: this.#mark('t'), limit: 500n });
  }

  async #createBudget(
    scope: Scope,
    subject: string,
    model: Partial<ModelBudget> & { limit: Nano },
  ): Promise<void> {
    const terms = { limit: model.limit, hard: true, thresholds: [50, 100] };
    const made = await this.#getStore(0).createBudget({
      scope,
      subject,
      per: 'total',
      zone: 'UTC',
      ...terms,
      at: 1,
    });
    if (made.status !== 'created') throw new Error(`the budget is ${made.status}`);
    this.#budgets.push(made.id);
    this.#model.budgets.push({
      accounts: [],
      key: undefined,
      tag: undefined,
      used: 0n,
      pending: 0n,
      ...model,
    });
  }

  #formatKey(name: string): string {
    return `${this.#prefix}${name}`.padStart(16, '-').slice(0, 16);
  }

  /** What the store answers to a step, and what it should have. */
  ask(step: Step): [Promise<unknown>, unknown] {
    const { type } = step;
    const id = type === 'settle' || type === 'beat' || type === 'extend' ? this.#mark(`${step.which}`) : '';
    switch (type) {
      case 'credit': {
        const [name, reference] = [this.#mark(step.account), step.reference && this.#mark(step.reference)];
        return [
          this.#getStore(0).addCredit({
            account: name,
            amount: step.amount,
            kind: 'bonus',
            reference,
            at: 1,
          }),
          this.#model.credit(name, step.amount, reference),
        ];
      }
      case 'reserve':
        return this.#reserve(step);
      case 'extend':
        return this.#extend(id, step);
      case 'settle':
        return [this.#getStore(0).settle(settlement(id, step.amount)), this.#model.settle(id, step.amount)];
      case 'beat': {
        this.#beats[step.owner === 0 ? 0 : 1] += 1;
        this.#model.beat(step.owner, id, step.owed);
        return [
          this.#getStore(step.owner).beat({ lease: 1000, progress: [progress(id, step.owed)] }),
          undefined,
        ];
      }
      case 'limit':
        return this.#limit(step);
      case 'terms': {
        const { postpaid } = step;
        const name = this.#mark(step.account);
        this.#model.pay(name, postpaid);
        return [this.#getStore(0).setTerms({ account: name, changes: { postpaid }, at: 1 }), 'changed'];
      }
      case 'recover':
        return [this.#recover(step.owner), this.#model.recover(step.owner)];
      case 'expire':
        return [this.#expire(), this.#model.expire()];
    }
  }

  #reserve({
    owner: whose,
    account: whom,
    key: which,
    quotes,
    claim,
    tags: some,
  }: Extract<Step, { type: 'reserve' }>): [Promise<unknown>, unknown] {
    const [id, name] = [this.#mark(`${this.#reservations}`), this.#mark(whom)];
    this.#reservations += 1;
    const [key, tags] = [this.#formatKey(which), some.map((tag) => this.#mark(tag))];
    const claimed: Claim | undefined = claim && {
      name: this.#mark(claim),
      fingerprint: 'f',
      expires: 1e15,
    };
    const request = { id, account: name, key, quotes, claim: claimed, tags, at: this.#at };
    this.#requests.set(id, request);
    const answer = this.#getStore(whose)
      .reserve(request)
      .then((reserved) =>
        reserved.status === 'claimed'
          ? { status: 'claimed', call: reserved.claim.call, state: reserved.claim.state }
          : omitBudget(reserved),
      );
    return [answer, this.#model.reserve(id, whose, name, key, quotes, claimed?.name, tags)];
  }

  #extend(
    id: string,
    { owner: whose, quote }: Extract<Step, { type: 'extend' }>,
  ): [Promise<unknown>, unknown] {
    const { account: name, key, tags } = this.#requests.get(id) ?? { account: this.#mark('x'), key: 'none' };
    this.#extensions += 1;
    const attempts = this.#extensions;
    const answer = this.#getStore(whose)
      .extend({ id, account: name, key, tags, quote, attempts, at: this.#at })
      .then(omitBudget);
    return [answer, this.#model.extend(id, quote)];
  }

  #limit({ which, limit }: Extract<Step, { type: 'limit' }>): [Promise<unknown>, unknown] {
    const [id, budget] = [this.#budgets[which], this.#model.budgets[which]];
    if (id === undefined || !budget) throw new RangeError(`there is no budget ${which}`);
    budget.limit = limit;
    return [this.#getStore(0).changeBudget({ id, changes: { limit }, at: this.#at }), true];
  }

  async #recover(whose: number): Promise<string[]> {
    const { owner: name } = this.#getStore(whose);
    const beat = (await this.#getStore(0).listOwners()).find((each) => each.owner === name)?.beat ?? 0;
    return (await this.#getStore(0).recover({ owner: name, beat, limit: 1000, at: 1 }))
      .map(({ id }) => id)
      .toSorted();
  }

  async #expire(): Promise<string[]> {
    return [...(await this.#getStore(0).expire({ before: this.#at + 1, limit: 1000, at: 1 }))].toSorted();
  }

  async finish(): Promise<void> {
    for (const [name, balance] of this.#model.accounts)
      expect(await this.#getStore(0).readBalance(name)).toEqual(balance);
    for (const [id, { used, pending }] of this.#model.keys)
      expect(await this.#getStore(0).findKey(id.padEnd(64, '0'))).toMatchObject({ used, pending });
    for (const [place, id] of this.#budgets.entries()) {
      const [kept] = await this.#getStore(0).listBudgets({ id, limit: 1, at: this.#at });
      const { used, pending } = this.#model.budgets[place] ?? {};
      expect(kept).toMatchObject({ used, pending });
    }
    for (const whose of [0, 1]) await this.#recover(whose);
  }
}

/**
 * Those that read before they write are turns of their own: the store reads in another lane than it writes.
 */
function isAlone({ type }: Step): boolean {
  return type === 'recover' || type === 'expire';
}

export function testHistories({ opened, store }: Bench, runs: number): void {
  it(
    'any history answers as a ledger in memory would, turn by turn, and leaves sound books',
    { timeout: 60_000 + runs * 200 },
    async () => {
      // Two owners that have nothing else pending, since a recovery takes all there is.
      const stores = [await opened().another(), await opened().another()];
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 14 }),
          async (turns) => {
            const history = new History(stores);
            await history.begin();
            for (const turn of turns) {
              const together = turn.filter((each) => !isAlone(each));
              const owners = new Set(
                together.flatMap((each) =>
                  each.type === 'reserve' || each.type === 'beat' || each.type === 'extend'
                    ? [each.owner]
                    : [],
                ),
              );
              // What two stores are asked at once has no order to compare by.
              const parts = owners.has(1) ? together.map((each) => [each]) : [together];
              for (const part of [...parts, ...turn.filter(isAlone).map((each) => [each])]) {
                const pairs = part.map((each) => history.ask(each));
                expect(await Promise.all(pairs.map(([answer]) => answer))).toEqual(
                  pairs.map(([, expected]) => expected),
                );
              }
            }
            await history.finish();
          },
        ),
        { numRuns: runs },
      );
      for (const each of stores) await each.close();
      const books = await opened().books();
      expect(books.entries.length).toBeGreaterThan(60);
      expectSound(books);
      expect(await store().audit()).toMatchObject({ ok: true, findings: [] });
    },
  );
}
