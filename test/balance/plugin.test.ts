/** The plugin in a whole gateway: keys, paid calls, the balance endpoint and the commands. */
import { describe, expect, it } from 'vitest';
import { GatewayError, type Host } from '../../core/index.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { expectSound } from '../contract/books.ts';
import { buildRouted } from '../support/exchange.ts';
import { createHost } from '../support/host.ts';
import { type Options, type Vendor, readLedger, call, createKey, start, useFolder } from './paid-harness.ts';
import { target } from './targets.ts';

useFolder();

describe('a call', () => {
  it('is charged for what it used, to the nano, before its reply ends', async () => {
    const gateway = await start();
    const { key, account } = await createKey(gateway, { account: 'someone', credit: '2' });
    const response = await call(gateway, key, { limit: 50 });
    expect(await response.json()).toMatchObject({ text: 'hello' });
    expect(await gateway.verb('balance', [account])).toEqual({
      account,
      currency: 'USD',
      balance: '1.999989',
      total: '2',
      used: '0.000011',
      pending: '0',
      available: '1.999989',
    });
    const booked = readLedger().entries.filter((entry) => entry.account === account);
    expect(booked.map(({ kind, reason }) => [kind, reason])).toEqual([
      ['credit', undefined],
      ['reserve', undefined],
      ['post', 'completed'],
    ]);
    expectSound(readLedger());
  });

  it('gets its output limit lowered to what the balance covers', async () => {
    const vendor: Vendor = { asked: [], answer: { in: 3, out: 4 } };
    const gateway = await start(vendor);
    // Five bytes of input at 1000 nano each leave 100 000 for output at 2000.
    const { key } = await createKey(gateway, { account: 'short', credit: '0.000105' });
    expect((await call(gateway, key, { limit: 900 })).status).toBe(200);
    expect(vendor.asked).toMatchObject([{ limit: 50 }]);
  });

  it('gets a 402 with advice and reaches no provider if the balance is below its least cost', async () => {
    const vendor: Vendor = { asked: [], answer: { in: 3, out: 4 } };
    const gateway = await start(vendor);
    const { key } = await createKey(gateway, { account: 'poor', credit: '0.000036999' });
    const response = await call(gateway, key);
    expect(response.status).toBe(402);
    expect(await response.json()).toMatchObject({
      plain_error: 'out_of_balance',
      message: expect.stringMatching(/0\.000037 USD.*"poor" has 0\.000036999 USD.*credit add poor/),
    });
    expect(vendor.asked).toEqual([]);
    await gateway.verb('credit add', ['poor', '0.000000001']);
    expect((await call(gateway, key)).status).toBe(200);
  });

  it('is refused if the balance is below its worst case and the configuration says `refuse`', async () => {
    const gateway = await start(undefined, { whenShort: 'refuse' });
    const { key } = await createKey(gateway, { account: 'short', credit: '0.000105' });
    expect((await call(gateway, key, { limit: 51 })).status).toBe(402);
    expect((await call(gateway, key, { limit: 50 })).status).toBe(200);
  });

  it('needs no balance if its model is free, and is recorded all the same', async () => {
    const gateway = await start({
      asked: [],
      answer: { in: 3, out: 4 },
      facts: { price: undefined, free: true },
    });
    const { key } = await createKey(gateway, { account: 'broke' });
    expect((await call(gateway, key)).status).toBe(200);
    expect(
      readLedger()
        .entries.filter(({ account }) => account === 'broke')
        .map(({ kind }) => kind),
    ).toEqual(['reserve', 'post']);
  });

  it('costs nothing if the provider failed, and the ledger says why', async () => {
    const gateway = await start({ asked: [], answer: { status: 500 } });
    const { key, account } = await createKey(gateway, { account: 'someone', credit: '2' });
    expect((await call(gateway, key)).status).toBe(502);
    expect(await gateway.verb('balance', [account])).toMatchObject({ used: '0', pending: '0' });
    expect(readLedger().entries.at(-1)).toMatchObject({ kind: 'void', reason: 'upstream_failed' });
  });

  it('releases its reservation if a later plugin refuses it', async () => {
    const gateway = await start(undefined, {}, (host) =>
      host.hooks.authorize.tapPromise('limiter', async () => {
        throw new GatewayError('rate_limited', 'slow down');
      }),
    );
    const { key, account } = await createKey(gateway, { account: 'someone', credit: '2' });
    expect((await call(gateway, key)).status).toBe(429);
    expect(await gateway.verb('balance', [account])).toMatchObject({ used: '0', pending: '0' });
    expect(readLedger().entries.at(-1)).toMatchObject({ kind: 'void', reason: 'rate_limited' });
  });

  it('is charged in full if it used more than was reserved, and counted as overage', async () => {
    let metrics: Host['metrics'] | undefined;
    const gateway = await start({ asked: [], answer: { in: 2000, out: 10 } }, {}, (host) => {
      ({ metrics } = host);
    });
    const countOverage = async () =>
      (await metrics?.getSingleMetric('tollgate_ledger_overage_total')?.get())?.values[0]?.value ?? 0;
    const before = await countOverage();
    const { key, account } = await createKey(gateway, { account: 'someone', credit: '2' });
    await call(gateway, key, { limit: 10 });
    expect(await gateway.verb('balance', [account])).toMatchObject({ used: '0.00202', pending: '0' });
    expect(readLedger().entries.at(-1)).toMatchObject({ kind: 'overage' });
    expect(await countOverage()).toBe(before + 1);
    expect(gateway.log.join('')).toContain('cost more than was reserved');
  });
});

it('a token count reserves nothing: it does not even ask the ledger', async () => {
  const { calls } = createHost([balance()]);
  const exchange = buildRouted(target('house', { input: '1', output: '2' }));
  const grant = { targets: exchange.targets };
  await expect(calls.authorize.promise(grant, exchange)).rejects.toMatchObject({
    code: 'ledger_unavailable',
  });
  expect(await calls.authorize.promise(grant, { ...exchange, operation: 'count' })).toBe(grant);
});

it.each<[Options, RegExp]>([
  [{ firstCredit: '-1' }, /firstCredit.*negative/],
  [{ leastOutput: 0 }, /leastOutput/],
  [{ addresses: ['v1'] }, /addresses/],
])('a wrong option %j is reported by name', (options, message) => {
  expect(() => balance(options)).toThrow(message);
});
