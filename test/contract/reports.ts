/** What a ledger has to report: rows, sums, and broken rules. */
import { expect, it } from 'vitest';
import { listUses } from '../../core/index.ts';
import type { EntryQuery, Store, UsageQuery } from '../../plugins/meters/balance/store.ts';
import { price, progress, quote, settlement } from '../balance/calls.ts';
import { request, type Bench } from './bench.ts';

const day = 86_400_000;

export function testReports({ account, store, opened }: Bench): void {
  /** A call of an account from its reservation to its end. */
  async function call(
    id: string,
    name: string,
    key: string,
    amount: bigint,
    more: Parameters<typeof settlement>[2] = {},
  ): Promise<void> {
    await store().reserve(request(id, name, { key, quotes: [quote(50n)] }));
    await store().settle(settlement(id, amount, more));
  }

  it('reports have each entry of a call, in order, with all that is known of it', async () => {
    const name = await account(100n);
    await call(`${name}-1`, name, 'key-7', 60n, {
      reason: 'aborted',
      basis: 'estimate',
      suspect: true,
      usage: '{"input":60,"output":0}',
      costs: '[["input",60,"0.001"]]',
      at: 3000,
    });
    const rows = await store().listEntries({ call: `${name}-1`, limit: 10 });
    const common = {
      account: name,
      call: `${name}-1`,
      key: 'key-7',
      model: 'house/model',
      provider: 'house',
      price: price.version,
      source: undefined,
      reference: undefined,
      credits: 0n,
    };
    const [made] = rows;
    expect(rows).toEqual([
      expect.objectContaining({
        ...common,
        kind: 'reserve',
        at: 1000,
        available: -50n,
        reserved: 50n,
        revenue: 0n,
        reservation: undefined,
        flags: [],
      }),
      expect.objectContaining({
        ...common,
        kind: 'post',
        at: 3000,
        available: 0n,
        reserved: -50n,
        revenue: 50n,
        reservation: made?.number,
        reason: 'aborted',
        basis: 'estimate',
        input: 60,
        output: 0,
        usage: '{"input":60,"output":0}',
        costs: '[["input",60,"0.001"]]',
        attempts: 1,
        flags: ['suspect'],
      }),
      expect.objectContaining({
        ...common,
        kind: 'overage',
        at: 3000,
        available: -10n,
        revenue: 10n,
        reservation: made?.number,
      }),
    ]);
  });

  it('reports have the kind and reference of each credit', async () => {
    const name = await account(0n);
    await store().addCredit({
      account: name,
      amount: 5n,
      kind: 'gift-card',
      reference: `${name}-card`,
      at: 44,
    });
    expect(await store().listEntries({ account: name, limit: 9 })).toMatchObject([
      {
        kind: 'credit',
        at: 44,
        credits: -5n,
        available: 5n,
        source: 'gift-card',
        reference: `${name}-card`,
        call: undefined,
        key: undefined,
      },
    ]);
  });

  it('reports narrow rows by account, key, kind and time, a page at a time', async () => {
    const name = await account(1000n);
    for (const [index, key] of ['key-1', 'key-2', 'key-1'].entries())
      await call(`${name}-${index}`, name, key, 3n, { at: 5000 + index });
    const findCalls = async (query: Partial<EntryQuery>) =>
      (await store().listEntries({ account: name, kinds: ['post'], limit: 9, ...query })).map(
        (row) => row.call,
      );
    expect(await findCalls({})).toEqual([`${name}-0`, `${name}-1`, `${name}-2`]);
    expect(await findCalls({ key: 'key-2' })).toEqual([`${name}-1`]);
    expect(await findCalls({ from: 5001, to: 5002 })).toEqual([`${name}-1`]);
    const [first] = await store().listEntries({ account: name, kinds: ['post'], limit: 1 });
    expect(await findCalls({ after: first?.number, limit: 1 })).toEqual([`${name}-1`]);
    expect((await store().listEntries({ account: name, limit: 9 })).map(({ kind }) => kind)).toEqual([
      'credit',
      'reserve',
      'post',
      'reserve',
      'post',
      'reserve',
      'post',
    ]);
  });

  it('reports sum up calls by key, model, provider and day', async () => {
    const name = await account(1000n);
    const usage = '{"input":3,"inputAudio":2,"output":0,"mode":"fast","rule":"standard"}';
    await call(`${name}-1`, name, 'key-1', 3n, { at: day, usage });
    await call(`${name}-2`, name, 'key-2', 60n, { at: day + 1, model: 'house/other' });
    await call(`${name}-3`, name, 'key-1', 5n, { at: 2 * day });
    await store().reserve(request(`${name}-4`, name));
    await store().settle(settlement(`${name}-4`, undefined));
    const readUsage = (query: Partial<UsageQuery>) => store().sumUsage({ account: name, by: [], ...query });
    const sum = (calls: number, input: number, audio?: number) => ({
      calls,
      cost: BigInt(input),
      vendor: BigInt(input),
      uses: listUses({ input, inputAudio: audio, output: 0 }),
    });
    expect(await readUsage({})).toEqual([sum(3, 68, 2)]);
    expect(await readUsage({ by: ['key'] })).toEqual([
      { key: 'key-1', ...sum(2, 8, 2) },
      { key: 'key-2', ...sum(1, 60) },
    ]);
    expect(await readUsage({ by: ['day', 'model'], to: 2 * day })).toEqual([
      { day: '1970-01-02', model: 'house/model', ...sum(1, 3, 2) },
      { day: '1970-01-02', model: 'house/other', ...sum(1, 60) },
    ]);
    expect(
      await readUsage({ by: ['account', 'provider'], key: 'key-1', model: 'house/model', from: 2 * day }),
    ).toEqual([{ account: name, provider: 'house', ...sum(1, 5) }]);
    expect(await readUsage({ from: 9 * day })).toEqual([{ ...sum(0, 0), uses: [] }]);
  });

  it('reports sum up what providers bill if the charge differs, overages and late ends too', async () => {
    const name = await account(1000n);
    for (const [id, owed, vendor] of [
      ['plain', 3n, undefined],
      ['marked', 8n, 5n],
      // More than was reserved for it.
      ['over', 30n, 20n],
    ] as const) {
      await store().reserve(request(`${name}-${id}`, name));
      await store().settle(settlement(`${name}-${id}`, owed, { vendor }));
    }
    await store().reserve(request(`${name}-late`, name, { at: 1 }));
    await store().expire({ before: 2, limit: 100, at: 2 });
    await store().settle(settlement(`${name}-late`, 9n, { vendor: 4n }));
    const [row] = await store().sumUsage({ account: name, by: [] });
    expect(row).toMatchObject({ cost: 50n, vendor: 32n });
    expect(
      (await store().listEntries({ account: name, limit: 50 })).flatMap(({ vendor }) => vendor ?? []),
    ).toEqual([5n, 20n, 0n, 4n]);
  });

  it("reports have what is pending, with what its owner's last beat said, and its sum", async () => {
    const name = await account(100n);
    await store().reserve(request(`${name}-1`, name, { key: 'key-3' }));
    await store().beat({ lease: 1000, progress: [progress(`${name}-1`, 3n, { delivered: 12 })] });
    const record = {
      call: `${name}-1`,
      account: name,
      key: 'key-3',
      amount: 10n,
      owner: store().owner,
      created: 1000,
      sent: true,
      delivered: 12,
    };
    expect(await store().listPending({ account: name, limit: 9 })).toEqual([record]);
    expect(await store().listPending({ after: `${name}-1`, account: name, limit: 9 })).toEqual([]);
    const before = await store().sumTotals();
    await store().settle(settlement(`${name}-1`, 3n));
    const after = await store().sumTotals();
    expect({
      calls: before.pendingCalls - after.pendingCalls,
      amount: before.pendingAmount - after.pendingAmount,
    }).toEqual({ calls: 1, amount: 10n });
    expect(after.accounts).toBe((await opened().books()).accounts.length);
  });

  const runAudit = async (): ReturnType<Store['audit']> => store().audit();

  it('the audit continues where it stopped, and finds nothing wrong with what the store wrote', async () => {
    const before = await runAudit();
    expect(before).toMatchObject({ ok: true, findings: [] });
    const name = await account(100n);
    await call(`${name}-1`, name, 'key-1', 3n);
    expect(await runAudit()).toMatchObject({
      ok: true,
      entries: before.entries + 3,
      accounts: before.accounts + 1,
    });
  });

  it('the audit reads everything in another store', async () => {
    const [other, own] = [await opened().another(), await runAudit()];
    expect(await other.audit()).toMatchObject({ ok: true, entries: own.entries });
    await other.close();
  });
}
