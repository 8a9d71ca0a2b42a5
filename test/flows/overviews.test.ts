/** Overviews, statements and usage, made of stored calls. */
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import {
  readAdmin,
  call,
  adminUrl,
  fetchWithKey,
  gateway,
  key,
  listIds,
  createKey,
  openHistory,
  secret,
} from './stored-calls.ts';

openHistory();
beforeAll(async () => {
  const other = await createKey('beta', { credit: '5' });
  for (let count = 0; count < 2; count += 1) await call({ provider: { only: ['answering'] } });
  await call({ model: 'house/unknown' });
  await call({ model: 'demo/echo' }, other.key);
});

it('an overview has the sums of all calls, as totals and as series', async () => {
  const ids = await listIds('/calls?limit=1000');
  const seen = await readAdmin('/overview?by=provider&step=1h');
  const detail = z
    .object({
      totals: z.looseObject({
        calls: z.number(),
        cost: z.string(),
        errors: z.number(),
        cache_hits: z.number(),
      }),
      series: z.array(
        z.looseObject({
          name: z.string().nullable(),
          cost: z.array(z.string()),
          calls: z.array(z.number()),
        }),
      ),
      times: z.array(z.string()),
      pending: z.looseObject({ calls: z.number() }),
      behind: z.number(),
    })
    .parse(seen);
  expect(detail.totals.calls).toBe(ids.length);
  expect(detail.totals.errors).toBe((await listIds('/calls?outcome=error&limit=1000')).length);
  expect(detail.totals.cache_hits).toBeGreaterThan(0);
  expect(detail.series.map(({ name }) => name).toSorted()).toEqual(['', 'answering', 'demo']);
  for (const { cost } of detail.series) expect(cost).toHaveLength(detail.times.length);
  expect(detail.pending.calls).toBe(0);
  const accounts = await Promise.all(
    ['acme', 'beta'].map(
      async (name) => z.object({ used: z.string() }).parse(await readAdmin(`/accounts/${name}`)).used,
    ),
  );
  const spent = accounts.reduce((sum, used) => sum + Number(used), 0);
  expect(Number(detail.totals.cost)).toBeCloseTo(spent, 9);
});

it('an overview refuses unknown parameters by name', async () => {
  expect(await readAdmin('/overview?by=colour', 400)).toMatchObject({ error: { param: 'by' } });
  expect(await readAdmin('/overview?account=acme&step=5m', 400)).toMatchObject({
    error: { param: 'step' },
  });
  expect(await readAdmin('/overview?from=2020-01-01&step=1h', 400)).toMatchObject({
    error: { param: 'step' },
  });
  expect(await readAdmin('/overview?from=2027-01-01&to=2026-01-01', 400)).toMatchObject({
    error: { param: 'from' },
  });
});

it('an overview says that a range is too long, not that steps of days are too short', async () => {
  for (const step of ['', '&step=1d'])
    expect(await readAdmin(`/overview?from=2020-01-01&to=2026-01-01${step}`, 400)).toMatchObject({
      error: { param: 'from', message: expect.stringContaining('at most 1000 days') },
    });
  expect(await readAdmin('/overview?from=2020-01-01&to=2022-09-27')).toMatchObject({ step: '1d' });
});

it('an overview has the names of keys beside their ids, also of one that was deleted', async () => {
  const read = async () =>
    z
      .object({ series: z.array(z.object({ name: z.string(), key_name: z.string().optional() })) })
      .parse(await readAdmin('/overview?by=key'))
      .series.find(({ name }) => name === key.id);
  expect(await read()).toEqual({ name: key.id, key_name: 'laptop' });
  const gone = await createKey('beta');
  await call({ model: 'demo/echo' }, gone.key);
  await fetchWithKey(`${adminUrl}/admin/keys/${gone.id}`, secret, { method: 'DELETE' });
  expect(await readAdmin('/overview?by=key')).toMatchObject({
    series: expect.arrayContaining([expect.objectContaining({ name: gone.id, key_name: 'laptop' })]),
  });
  expect(JSON.stringify(await readAdmin('/overview?by=account'))).not.toContain('key_name');
});

it('a statement lists every line from the opening balance to the closing one', async () => {
  const month = new Date().toISOString().slice(0, 7);
  const monthly = z
    .object({
      opening: z.string(),
      closing: z.string(),
      lines: z.array(
        z.object({ kind: z.string(), text: z.string(), amount: z.string(), balance: z.string() }),
      ),
    })
    .parse(await readAdmin(`/accounts/acme/statement?month=${month}`));
  expect(monthly.opening).toBe('0');
  expect(monthly.lines[0]).toMatchObject({ kind: 'credit', text: 'top-up', amount: '5', balance: '5' });
  expect(monthly.lines[1]).toMatchObject({ kind: 'usage', text: 'house/model' });
  expect(monthly.closing).toBe(monthly.lines.at(-1)?.balance);
  expect(await readAdmin('/accounts/acme')).toMatchObject({ balance: monthly.closing });
  const csv = await (
    await fetchWithKey(`${adminUrl}/admin/accounts/acme/statement?month=${month}&format=csv`, secret)
  ).text();
  expect(csv).toContain('opening balance');
  expect(await readAdmin('/accounts/acme/statement?month=2020-01')).toMatchObject({
    lines: [],
    opening: '0',
  });
  expect(await readAdmin('/accounts/acme/statement')).toMatchObject({
    opening: '0',
    closing: monthly.closing,
  });
  expect(await readAdmin('/accounts/acme/statement?month=2020-03&zone=Europe/Berlin')).toMatchObject({
    zone: 'Europe/Berlin',
    from: '2020-02-29T23:00:00.000Z',
    to: '2020-03-31T22:00:00.000Z',
  });
  expect(await gateway.verb('accounts statement', ['acme'], { month })).toMatchObject({
    opening: '0',
    closing: monthly.closing,
  });
  await readAdmin('/accounts/acme/statement?zone=Mars/Base', 400);
  await readAdmin('/accounts/acme/statement?to=2026-01-01', 400);
  await readAdmin('/accounts/acme/statement?month=2026-01&from=2026-01-01', 400);
  await readAdmin('/accounts/unknown/statement?month=2020-01', 404);
});

it('the holder of a key reads its balance, limits and usage', async () => {
  const body = await (await fetchWithKey(`${gateway.url}/v1/key`, key.key)).json();
  const account = z.looseObject({ used: z.string() }).parse(await readAdmin('/accounts/acme'));
  expect(body).toMatchObject({
    object: 'key',
    id: key.id,
    name: 'laptop',
    last_four: key.key.slice(-4),
    account: 'acme',
    balance: { total: '5', used: account.used },
    limits: {
      spend_cap: '3',
      spend_used: account.used,
      models: ['house/*', 'demo/*'],
      expires: null,
      calls_per_minute: null,
    },
  });
  const { data } = z
    .object({
      usage: z.object({
        data: z.array(z.looseObject({ model: z.string().nullable(), calls: z.number(), cost: z.string() })),
      }),
    })
    .parse(body).usage;
  const house = data.find(({ model }) => model === 'house/model');
  expect(house?.cost).toBe(account.used);
});

it('the holder of a key lists its own calls only', async () => {
  const own = z
    .object({ data: z.array(z.looseObject({ id: z.string() })) })
    .parse(await (await fetchWithKey(`${gateway.url}/v1/calls?limit=1000`, key.key)).json());
  expect(own.data.map(({ id }) => id)).toEqual(await listIds(`/calls?key=${key.id}&limit=1000`));
  expect(own.data[0]).not.toHaveProperty('account');
  expect((await fetchWithKey(`${gateway.url}/v1/calls?account=beta`, key.key)).status).toBe(400);
  const backwards = await fetchWithKey(`${gateway.url}/v1/calls?from=2026-11-25&to=2026-11-24`, key.key);
  expect([backwards.status, await backwards.json()]).toMatchObject([400, { error: { param: 'from' } }]);
  expect((await fetchWithKey(`${gateway.url}/v1/key`, secret)).status).toBe(403);
});
