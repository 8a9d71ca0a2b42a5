/** Accounts, keys and budgets that a repository states: in both databases, again, and many at once. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { statedAccount } from '../../plugins/meters/balance/operator/agreements.ts';
import { statedBudget } from '../../plugins/meters/balance/operator/budgets.ts';
import { statedKey } from '../../plugins/meters/balance/operator/keys.ts';
import type { Ledger } from '../../plugins/meters/balance/operator/operation.ts';
import { listCommands } from '../../plugins/meters/balance/operator/table.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { isSecret } from '../../plugins/shared/secret.ts';
import { makeFolder } from '../support/folder.ts';
import { ledgers } from './postgres-database.ts';

const offer = {
  listModels: () => [],
  lookAtListings: async () => undefined,
  find: () => [],
  listProtocols: () => ['messages', 'responses'],
};

function toLedger(store: Store): Ledger {
  return { store, offer, erase: async () => undefined, author: 'a-test' };
}

const none = { changed: false, made: false, changes: [] };

describe.each(ledgers)('a ledger in %s', (_, open) => {
  let store: Store;
  let other: Store;
  let ledger: Ledger;
  let another: () => Promise<Store>;

  beforeAll(async () => {
    const opened = await open();
    ({ store, another } = opened);
    other = await another();
    ledger = toLedger(store);
    return async () => {
      await other.close();
      await opened.dispose();
    };
  }, 200_000);

  const stateAccount = (account: string, input: object, by = ledger) =>
    statedAccount.run(by, { params: { account }, input });
  const stateKey = (key: string, input: object, by = ledger) => statedKey.run(by, { params: { key }, input });
  const stateBudget = (budget: string, input: object, by = ledger) =>
    statedBudget.run(by, { params: { budget }, input });

  it('an account is made as it is stated, and the same order again changes nothing', async () => {
    await stateAccount('company', {});
    const order = {
      parent: 'company',
      postpaid: true,
      allowance: { amount: '100', per: 'week' },
      memberKeys: { most: 3, spendCap: '5' },
      budgets: [{ limit: '500', per: 'month', zone: 'Europe/Berlin' }],
    };
    expect(await stateAccount('acme', order)).toMatchObject({ made: true, changed: true, kind: 'account' });
    const [made] = await store.listAccounts({ wanted: 'acme', limit: 1 });
    expect(made).toMatchObject({ line: ['company'], terms: { postpaid: true, allowance: { per: 'week' } } });
    expect(await stateAccount('acme', order)).toMatchObject(none);
    expect(await stateAccount('acme', {})).toMatchObject(none);
    const next = {
      ...order,
      parent: null,
      state: 'disabled',
      budgets: [{ limit: '600', zone: 'Europe/Berlin' }],
    };
    expect(await stateAccount('acme', { ...next, dryRun: true })).toMatchObject({
      changed: true,
      dryRun: true,
    });
    expect(await stateAccount('acme', order)).toMatchObject(none);
    expect((await stateAccount('acme', next)).changes).toEqual([
      { path: 'parent', before: 'company', after: null },
      { path: 'state', before: 'open', after: 'disabled' },
      { path: 'budgets.month.limit', before: '500', after: '600' },
    ]);
    expect(await stateAccount('acme', next)).toMatchObject(none);
    expect((await store.listEntries({ account: 'acme', limit: 10 })).length).toBe(1);
  });

  it('a key has its secret in the reply that makes it, and null takes a limit away', async () => {
    const order = { account: 'acme', tags: ['prod'], limits: { spendCap: '20', callsPerMinute: 60 } };
    const { key: secret = '', id, ...made } = await stateKey('laptop', order);
    expect([isSecret(secret), made]).toMatchObject([true, { made: true, changed: true }]);
    expect(await stateKey('laptop', order)).toEqual({ ...made, ...none, id });
    const less = { account: 'acme', holder: 'ada', disabled: true, limits: { spendCap: null } };
    expect((await stateKey('laptop', less)).changes).toEqual([
      { path: 'holder', before: null, after: 'ada' },
      { path: 'disabled', before: false, after: true },
      { path: 'limits.spendCap', before: '20', after: null },
    ]);
    const [key] = await store.listKeys({ account: 'acme', name: 'laptop', limit: 10 });
    expect(key).toMatchObject({ tags: ['prod'], callsPerMinute: 60, spendCap: undefined, disabled: true });
    await expect(stateKey('laptop', { account: 'acme', limits: { expires: '2020-01-01' } })).rejects.toThrow(
      'limits.expires: 2020-01-01T00:00:00.000Z is in the past',
    );
  });

  it('a key that has expired since may be stated as it is', async () => {
    const expires = new Date(Date.now() + 2000).toISOString();
    const order = { account: 'acme', limits: { expires } };
    await stateKey('short', order);
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(Date.parse(expires)), { timeout: 60_000 });
    expect(await stateKey('short', order)).toMatchObject(none);
  });

  it('a rotated key keeps its name, and the new one is meant', async () => {
    const { id } = await stateKey('turned', { account: 'acme' });
    const kept = { id: 'f'.repeat(16), hash: 'f'.repeat(64), lastFour: 'ffff', at: Date.now() };
    await store.rotateKey({ id: String(id), until: Date.now() + 60_000, key: kept });
    expect(await stateKey('turned', { account: 'acme' })).toMatchObject({ ...none, id: kept.id });
  });

  it('a budget is named by its scope, its subject and its period', async () => {
    expect(await stateBudget('team:company:month', { limit: '900' })).toMatchObject({ made: true });
    expect(await stateBudget('team:company:month', { limit: '900.00' })).toMatchObject(none);
    expect((await stateBudget('team:company:month', { limit: '950', hard: false })).changes).toEqual([
      { path: 'limit', before: '900', after: '950' },
      { path: 'hard', before: true, after: false },
    ]);
    expect(await stateBudget('key:laptop:day', { limit: '1' })).toMatchObject({ made: true });
    expect(await stateBudget('tag:team:red:total', { limit: '5', thresholds: [] })).toMatchObject({
      made: true,
    });
    await expect(stateBudget('team:company:month', { limit: '950', zone: 'Europe/Berlin' })).rejects.toThrow(
      /delete it to count by others/,
    );
    await expect(stateBudget('7', { limit: '1' })).rejects.toThrow(/team:company:month/);
    await expect(stateBudget('team:nobody:month', { limit: '1' })).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(stateBudget('key:nobody:month', { limit: '1' })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('many at once from two gateways make one of each, and one of them says that it did', async () => {
    const both = [ledger, toLedger(other)];
    const race = async (run: (by: Ledger) => Promise<{ made: boolean; id: string | number | null }>) => {
      const replies = await Promise.all(
        Array.from({ length: 12 }, (_each, index) => run(both[index % 2] ?? ledger)),
      );
      return [replies.filter(({ made }) => made).length, new Set(replies.map(({ id }) => id)).size];
    };
    expect(await race((by) => stateAccount('raced', { parent: 'company' }, by))).toEqual([1, 1]);
    expect(await race((by) => stateKey('raced', { account: 'raced', tags: ['a'] }, by))).toEqual([1, 1]);
    expect(await race((by) => stateBudget('account:raced:day', { limit: '3' }, by))).toEqual([1, 1]);
    expect(await race((by) => stateKey('new', { account: 'made-with-it' }, by))).toEqual([1, 1]);
  });

  it('a file is applied in its order, shows what it would do, and then changes nothing more', async () => {
    const file = join(makeFolder(), 'ledger.json');
    const list = [
      { kind: 'account', name: 'filed', parent: 'filed-above' },
      { kind: 'key', name: 'ci', account: 'filed', limits: { spendCap: '2' } },
      { kind: 'budget', name: 'key:ci:month', limit: '10' },
    ];
    const write = (entries: unknown): void => writeFileSync(file, JSON.stringify(entries));
    const lines: string[] = [];
    const commands = listCommands(another, { offer, erase: async () => undefined });
    const command = commands.find(({ name }) => name === 'apply <file>');
    const apply = async (options = {}): Promise<unknown> => {
      lines.length = 0;
      return command?.run([file], options, (line) => void lines.push(line));
    };
    write(list);
    expect(await apply({ dryRun: true })).toMatchObject({
      text: expect.stringContaining('3 created, 0 changed'),
    });
    expect(await store.listAccounts({ wanted: 'filed', limit: 1 })).toEqual([]);
    await expect(apply()).rejects.toThrow(/0 \(account filed\): there is no account "filed-above"/);
    write([{ kind: 'account', name: 'filed-above' }, ...list]);
    await apply();
    expect(lines[2]).toMatch(
      /^created key ci: limits\.spendCap null → "2", its secret, shown this once: sk-/,
    );
    expect(await apply()).toMatchObject({ text: '0 created, 0 changed, 4 unchanged.' });
    expect(lines[0]).toBe('unchanged account filed-above');
    write([{ kind: 'team', name: 'x' }]);
    await expect(apply()).rejects.toThrow('0.kind: a kind is one of account, key, budget');
  });
});
