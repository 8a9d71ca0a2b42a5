/** Teams: accounts with those below them, invitations, and how many keys a member may hold. */
import { expect, it } from 'vitest';
import type { NewInvitation } from '../../plugins/meters/balance/store.ts';
import { newKey, quote, settlement } from '../balance/calls.ts';
import { request, type Bench } from './bench.ts';
import { sumUpAll } from './sum-up-all.ts';

let made = 0;

function buildInvitation(account: string, expires = 100): NewInvitation {
  made += 1;
  const hash = `${made}`.padStart(16, '0').padEnd(64, 'e');
  const said = { name: 'ada', terms: '{"tags":["a"]}', author: 'operator', created: 5 };
  return { id: hash.slice(0, 16), hash, account, expires, ...said };
}

const buildKey = (account: string, at = 50) => {
  made += 1;
  return newKey(`7ea${made}`.padStart(16, '0'), account, { holder: 'ada', at });
};

export function testTeams({ account, store }: Bench): void {
  it('a store lists an account with all below it, and how many calls each was charged for', async () => {
    const [top, middle, low, other] = [
      await account(100n),
      await account(100n),
      await account(100n),
      await account(100n),
    ];
    await store().moveAccount({ account: middle, parent: top });
    await store().moveAccount({ account: low, parent: middle });
    for (const name of [low, other]) {
      await store().reserve(request(`team-${name}`, name, { quotes: [quote(30n)] }));
      await store().settle(settlement(`team-${name}`, 25n));
    }
    await sumUpAll(store());
    const list = async (name: string) =>
      (await store().listTeam(name)).map((row) => [row.name, row.calls, row.used, row.line]);
    expect(await list(middle)).toEqual(
      expect.arrayContaining([
        [middle, 0, 0n, [top]],
        [low, 1, 25n, [middle, top]],
      ]),
    );
    expect((await list(top)).map(([name]) => name)).toEqual([top, middle, low].toSorted());
    expect(await list('nowhere')).toEqual([]);
  });

  it('a store keeps what keys the members of an account may make', async () => {
    const name = await account(0n);
    const read = async () => (await store().listAccounts({ wanted: name, limit: 1 }))[0]?.memberKeys;
    expect(await store().setMemberKeys({ account: name, rule: '{"most":2}' })).toBe(true);
    expect(await read()).toBe('{"most":2}');
    await store().setMemberKeys({ account: name });
    expect(await read()).toBeUndefined();
    expect(await store().setMemberKeys({ account: 'unknown', rule: '{}' })).toBe(false);
  });

  it('a store makes no key beyond the most that its holder may have, whoever asks at once', async () => {
    const name = await account(0n);
    const makeOne = () => store().createKey({ ...buildKey(name), mostHeld: 2 });
    const [one] = [buildKey(name)];
    await store().createKey(one);
    const answers = await Promise.all([makeOne(), makeOne(), makeOne()]);
    expect(answers.filter(Boolean)).toHaveLength(1);
    await store().deleteKey({ id: one.id, at: 60 });
    expect(await makeOne()).toBe(true);
    expect(await makeOne()).toBe(false);
  });

  it('an invitation gives one key with its budgets, whoever asks at once', async () => {
    const name = await account(0n);
    const invitation = buildInvitation(name);
    const { hash, id, ...rest } = invitation;
    expect(await store().createInvitation(invitation)).toBe(true);
    expect(await store().findInvitation(hash)).toEqual({ id, ...rest });
    const keys = [1, 2, 3].map(() => buildKey(name));
    const answers = await Promise.all(
      keys.map((key) => {
        const terms = { per: 'day', zone: 'UTC', limit: 5n, hard: true, thresholds: [] } as const;
        const budget = { ...terms, scope: 'key', subject: key.id, at: 50 } as const;
        return store().redeemInvitation({ hash, key, budgets: [budget] });
      }),
    );
    expect(answers.toSorted()).toEqual(['created', 'ended', 'ended']);
    const [key] = await store().listKeys({ account: name, holder: 'ada', limit: 10 });
    expect(await store().findInvitation(hash)).toMatchObject({ ended: 50, key: key?.id });
    expect(await store().listBudgets({ scope: 'key', subject: key?.id, at: 50, limit: 5 })).toHaveLength(1);
  });

  it('an invitation that has expired, was withdrawn or is unknown gives no key', async () => {
    const name = await account(0n);
    const [late, withdrawn] = [buildInvitation(name), buildInvitation(name)];
    await store().createInvitation(late);
    await store().createInvitation(withdrawn);
    expect(await store().withdrawInvitation({ id: withdrawn.id, at: 40 })).toBe(true);
    expect(await store().withdrawInvitation({ id: withdrawn.id, at: 41 })).toBe(false);
    const redeem = (hash: string, at: number) =>
      store().redeemInvitation({ hash, key: buildKey(name, at), budgets: [] });
    expect(await redeem(late.hash, 100)).toBe('ended');
    expect(await redeem(withdrawn.hash, 50)).toBe('ended');
    expect(await redeem('f'.repeat(64), 50)).toBe('not_found');
    expect(await store().listKeys({ account: name, limit: 10 })).toEqual([]);
    expect((await store().listInvitations({ account: name, limit: 10 })).map(({ ended }) => ended)).toEqual([
      undefined,
      40,
    ]);
  });

  it('a closed account invites nobody, and its invitations give no key and stay as they are', async () => {
    const name = await account(0n);
    const invitation = buildInvitation(name);
    await store().createInvitation(invitation);
    await store().setAccountState({ account: name, state: 'closed' });
    const { hash } = invitation;
    expect(await store().redeemInvitation({ hash, key: buildKey(name), budgets: [] })).toBe('ended');
    expect(await store().findInvitation(hash)).not.toHaveProperty('ended', 50);
    expect(await store().createInvitation(buildInvitation(name))).toBe(false);
    expect(await store().createInvitation(buildInvitation('unknown'))).toBe(false);
  });
}
