/** Corrections of credit, the state of accounts, deleted keys, and the log of operators' actions. */
import { expect, it } from 'vitest';
import type { CorrectionKind } from '../../plugins/meters/balance/store.ts';
import { newKey, quote } from '../balance/calls.ts';
import type { Bench } from './bench.ts';

export function testCorrections({ account, store, reserve }: Bench): void {
  const correct = (to: string, kind: CorrectionKind, amount: bigint, reference?: string) =>
    store().addCredit({ account: to, amount, kind, reference, reason: 'a mistake', author: 'op', at: 5 });

  it('corrections move credit both ways, keep reason and author, and leave sound books', async () => {
    const name = await account(100n);
    expect(await correct(name, 'adjustment', -130n)).toBe('credited');
    expect(await store().readBalance(name)).toEqual({ total: -30n, used: 0n, pending: 0n });
    expect(await correct(name, 'adjustment', 40n)).toBe('credited');
    const query = { account: name, kinds: ['credit'] } as const;
    const entries = await store().listEntries({ ...query, limit: 10 });
    const [newest] = await store().listEntries({ ...query, order: 'newest', limit: 1 });
    expect(newest).toEqual(entries.at(-1));
    const before = await store().listEntries({ ...query, order: 'newest', after: newest?.number, limit: 10 });
    expect(before).toEqual(entries.slice(0, -1).toReversed());
    expect(entries.slice(1)).toMatchObject([
      { available: -130n, source: 'adjustment', reason: 'a mistake', author: 'op' },
      { available: 40n, source: 'adjustment', reason: 'a mistake', author: 'op' },
    ]);
    expect(await store().audit()).toMatchObject({ ok: true });
  });

  it('corrections refuse calls while the balance is negative', async () => {
    const name = await account(100n);
    await correct(name, 'chargeback', -100n, `chargeback:${name}`);
    await correct(name, 'adjustment', -1n);
    expect(await reserve(`call-${name}`, name, quote(1n))).toMatchObject({ status: 'short' });
  });

  it.each<[CorrectionKind, bigint]>([
    ['adjustment', 0n],
    ['refund', -1n],
    ['chargeback', 1n],
  ])('corrections reject a %s of %i', async (kind, amount) => {
    const name = await account(5n);
    await expect(correct(name, kind, amount)).rejects.toThrow(`a ${kind} cannot be ${amount}`);
    expect(await store().readBalance(name)).toMatchObject({ total: 5n });
  });

  it('corrections are made once for each reference', async () => {
    const name = await account(5n);
    const twice = [correct(name, 'refund', 3n, `${name}-x`), correct(name, 'refund', 3n, `${name}-x`)];
    expect(await Promise.all(twice)).toEqual(['credited', 'already_credited']);
    expect(await store().listEntries({ reference: `${name}-x`, limit: 5 })).toHaveLength(1);
  });

  it('an account is with its keys, and a closed account stays closed and gets no keys', async () => {
    const name = await account(5n);
    const key = newKey('corrected-key-00', name);
    await store().createKey(key);
    expect(await store().setAccountState({ account: name, state: 'disabled' })).toBe('changed');
    expect(await store().findKey(key.hash)).toMatchObject({ accountState: 'disabled' });
    expect(await store().setAccountState({ account: name, state: 'closed' })).toBe('changed');
    expect(await store().setAccountState({ account: name, state: 'open' })).toBe('closed');
    expect(await store().createKey(newKey('corrected-key-01', name))).toBe(false);
    expect(await store().setAccountState({ account: 'unknown', state: 'open' })).toBe('not_found');
  });

  it('an account cannot be closed while a call is pending', async () => {
    const name = await account(5n);
    await reserve(`pending-${name}`, name, quote(1n));
    expect(await store().setAccountState({ account: name, state: 'closed' })).toBe('held');
  });

  it('a deleted key is found by its id among others alone, and cannot be changed', async () => {
    const name = await account(5n);
    const key = newKey('corrected-key-02', name);
    await store().createKey(key);
    expect(await store().deleteKey({ id: key.id, at: 9 })).toBe(true);
    expect(await store().deleteKey({ id: key.id, at: 9 })).toBe(false);
    expect(await store().findKey(key.hash)).toBeUndefined();
    expect(await store().listKeys({ account: name, limit: 5 })).toEqual([]);
    expect(await store().listKeys({ wanted: key.id, limit: 5 })).toEqual([]);
    expect(await store().listKeys({ ids: [key.id], limit: 5 })).toMatchObject([{ id: key.id }]);
    expect(await store().changeKey({ id: key.id, changes: { disabled: false } })).toBe(false);
    expect(await store().audit()).toMatchObject({ ok: true });
  });

  it('the log of actions lists the newest first, in pages', async () => {
    const detail = '{}';
    for (const subject of ['one', 'two', 'three'])
      await store().recordAction({ at: 7, author: 'op', action: 'POST /admin/keys', subject, detail });
    const [newest, second] = await store().listActions({ limit: 2 });
    expect([newest?.subject, second?.subject]).toEqual(['three', 'two']);
    expect(await store().listActions({ before: second?.number, limit: 1 })).toMatchObject([
      { at: 7, author: 'op', action: 'POST /admin/keys', subject: 'one', detail },
    ]);
  });

  const action = { at: 7, author: 'op', action: 'test', subject: '', detail: '{}' };
  const countActions = async (author: string) =>
    (await store().listActions({ limit: 1000 })).filter((each) => each.author === author).length;
  const credit = { amount: 5n, kind: 'bonus', reference: undefined, at: 1 } as const;

  it('the log gets an action with the first change of several, and none if nothing changes', async () => {
    const name = await account(0n);
    const acting = store().withAction({ ...action, author: name });
    expect(await acting.createAccount({ name, at: 1 })).toBe(false);
    expect(await acting.addCredit({ ...credit, account: `${name}-none` })).toBe('not_found');
    await expect(acting.addCredit({ ...credit, account: name, amount: -5n })).rejects.toThrow('cannot be -5');
    expect(await countActions(name)).toBe(0);
    expect(await acting.addCredit({ ...credit, account: name })).toBe('credited');
    expect(await acting.setAccountState({ account: name, state: 'disabled' })).toBe('changed');
    expect(await countActions(name)).toBe(1);
  });

  it('a change whose action cannot be written is undone, and no other of the same moment', async () => {
    const [name, other] = [await account(0n), await account(0n)];
    // The tables refuse an action without a subject.
    const broken = store().withAction({ ...action, author: name, subject: JSON.parse('null') });
    const sound = store().withAction({ ...action, author: other });
    const [failed, credited] = await Promise.allSettled([
      broken.addCredit({ ...credit, account: name }),
      sound.addCredit({ ...credit, account: other }),
    ]);
    expect([failed.status, credited.status]).toEqual(['rejected', 'fulfilled']);
    expect([await store().readBalance(name), await store().readBalance(other)]).toMatchObject([
      { total: 0n },
      { total: 5n },
    ]);
    expect([await countActions(name), await countActions(other)]).toEqual([0, 1]);
    expect(await store().listEntries({ account: name, limit: 10 })).toEqual([]);
  });
}
