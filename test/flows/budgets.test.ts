/** Budgets as operators use them: on the command line, in the admin API, and as messages to a webhook. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { Plugin } from '../../core/index.ts';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { webhook } from '../../plugins/channels/webhook.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { notices } from '../../plugins/operations/notices.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { ownKey } from '../../plugins/shared/replies/spending.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { receiverSecret as secret, startReceiver } from '../support/receiver.ts';

const made = z.looseObject({ key: z.string(), id: z.string() });
const budget = z.looseObject({ id: z.int(), subject: z.string() });

async function start(...more: readonly Plugin[]): Promise<TestGateway> {
  const gateway = await startGateway({
    plugins: [
      bearer(),
      apiKeyHeader(),
      chatCompletions(),
      demo({ pace: 1 }),
      balance({ firstCredit: '0' }),
      ...more,
    ],
  });
  return gateway;
}

async function createKey(gateway: TestGateway, options: Record<string, string> = {}) {
  return made.parse(await gateway.verb('keys create', [], { account: 'acme', credit: '5', ...options }));
}

async function call({ url }: TestGateway, key: string, maxTokens = 20) {
  const response = await postJson(
    `${url}/v1/chat/completions`,
    {
      model: 'demo/echo',
      max_tokens: maxTokens,
      messages: [{ role: 'user', content: 'Hello there!' }],
    },
    { authorization: `Bearer ${key}` },
  );
  return { status: response.status, body: await response.json() };
}

it('the budget commands set, change, raise, show and delete a budget', async () => {
  const gateway = await start();
  await createKey(gateway);
  const setBudget = (limit: string, options: Record<string, string> = {}) =>
    gateway.verb('budgets set', ['account', 'acme', limit], options);
  const { id } = budget.parse(await setBudget('10/day', { zone: 'Europe/Berlin', warn: '90,50' }));
  const terms = {
    scope: 'account',
    subject: 'acme',
    per: 'day',
    zone: 'Europe/Berlin',
    thresholds: [50, 90],
  };
  expect(await setBudget('20/day')).toMatchObject({ id, ...terms, limit: '20', hard: true });
  expect(await gateway.verb('budgets raise', [`${id}`, '5'], { until: '2999-01-01' })).toMatchObject({
    raises: [{ amount: '5', until: '2999-01-01T00:00:00.000Z' }],
    current: {
      allowed: '25',
      used: '0',
      pending: '0',
      left: '25',
      reached: 0,
      resets: expect.stringMatching(/T2[23]:00:00/),
    },
  });
  await expect(setBudget('20/day', { zone: 'Asia/Tokyo' })).rejects.toThrow(
    /counts by the clocks of Europe\/Berlin/,
  );
  expect(await gateway.verb('budgets list', [], { scope: 'account' })).toMatchObject([{ id, ...terms }]);
  expect(await gateway.verb('budgets delete', [`${id}`])).toMatchObject({
    id,
    deleted: expect.any(String),
  });
  expect(await gateway.verb('budgets list')).toEqual([]);
  await expect(gateway.verb('budgets delete', [`${id}`])).rejects.toThrow(`there is no budget ${id}`);
});

it.each([
  [['account', 'acme', '10/fortnight'], {}, /a budget is per hour, day, week, month, total/],
  [['account', 'acme', '-1/day'], {}, /^<limit>: /],
  [['account', 'acme', '10/day'], { zone: 'Mars' }, /a time zone is named as in/],
  [['account', 'acme', '10/day'], { soft: true, hard: true }, /a budget is soft or hard/],
  [['account', 'acme', '10/day'], { warn: '0' }, /^--warn: it has to be a whole number of per cent/],
  [['house', 'acme', '10/day'], {}, /a budget is of a key, account, team, tag/],
  [['account', 'unknown', '10/day'], {}, /there is no account "unknown"/],
  [['key', 'none', '10/day'], {}, /there is no key "none"/],
])('the budget commands name the fault in %j with %j', async (words, options, message) => {
  const gateway = await start();
  await createKey(gateway);
  await expect(gateway.verb('budgets set', words, options)).rejects.toThrow(message);
});

it('the commands create a key with budgets and tags of its own, in which its calls count', async () => {
  const gateway = await start();
  const { key, id } = await createKey(gateway, { budget: '0.5/day,2/month', tags: 'team-a,search' });
  await gateway.verb('budgets set', ['tag', 'search', '1/week']);
  expect((await call(gateway, key)).status).toBe(200);
  await gateway.ended(1);
  const listed = z
    .array(
      z.looseObject({ subject: z.string(), per: z.string(), current: z.looseObject({ used: z.string() }) }),
    )
    .parse(await gateway.verb('budgets list'));
  expect(listed.map(({ subject, per }) => `${subject} ${per}`)).toEqual([
    `${id} day`,
    `${id} month`,
    'search week',
  ]);
  const used = new Set(listed.map(({ current }) => current.used));
  expect([...used]).toEqual([expect.stringMatching(/^0\.0+[1-9]/)]);
});

it('the budget commands nest accounts, so that a team shares one budget', async () => {
  const gateway = await start();
  const { key } = await createKey(gateway);
  await gateway.verb('accounts create', ['company']);
  expect(await gateway.verb('accounts move', ['acme', 'company'])).toMatchObject({
    account: 'acme',
    parent: 'company',
  });
  await expect(gateway.verb('accounts move', ['company', 'acme'])).rejects.toThrow(
    /cannot move below itself/,
  );
  await gateway.verb('budgets set', ['team', 'company', '0/month']);
  expect(await call(gateway, key)).toMatchObject({ status: 402 });
  await gateway.verb('accounts move', ['acme', 'none']);
  expect(await call(gateway, key)).toMatchObject({ status: 200 });
});

it('a call gets its output limit lowered to what its budget covers, as with its balance', async () => {
  const gateway = await start();
  const { key } = await createKey(gateway);
  const free = await call(gateway, key, 1000);
  await gateway.verb('budgets set', ['account', 'acme', '0.0005/day']);
  const limited = await call(gateway, key, 1_000_000);
  expect([free.status, limited.status]).toEqual([200, 200]);
  const [, end] = await gateway.ended(2);
  const granted = end && 'grant' in end.exchange ? end.exchange.grant : undefined;
  expect(granted).toMatchObject({ outputLimit: expect.any(Number) });
});

it('a webhook receives a signed message when a budget refuses its first call', async () => {
  const receiver = await startReceiver();
  const gateway = await start(notices(), webhook({ url: receiver.url, secret, events: ['budget.*'] }));
  const { key } = await createKey(gateway);
  await gateway.verb('budgets set', ['account', 'acme', '0/day']);
  expect((await call(gateway, key)).status).toBe(402);
  await expect.poll(() => receiver.received.length).toBe(1);
  const [{ text, isSigned } = { text: '', isSigned: false }] = receiver.received;
  expect(isSigned).toBe(true);
  expect(JSON.parse(text)).toMatchObject({
    event: 'budget.exhausted',
    notices: [{ accounts: ['acme'], facts: { scope: 'account', subject: 'acme', allowed: '0' } }],
  });
});

it('the holder of a key sees each budget that limits it, what is left, and when it resets', async () => {
  const gateway = await start();
  for (const name of ['company', 'group', 'other']) await gateway.verb('accounts create', [name]);
  await gateway.verb('accounts move', ['group', 'company']);
  const first = await createKey(gateway, { budget: '2/total', tags: 'search' });
  await gateway.verb('accounts move', ['acme', 'group']);
  for (const [scope, subject, limit] of [
    ['account', 'acme', '3/hour'],
    ['account', 'acme', '4/day'],
    ['team', 'acme', '5/week'],
    ['team', 'group', '6/month'],
    ['team', 'company', '7/month'],
    ['tag', 'search', '8/day'],
    // These do not count calls of the key.
    ['account', 'company', '9/day'],
    ['team', 'other', '9/day'],
    ['tag', 'other', '9/day'],
  ] as const)
    await gateway.verb('budgets set', [scope, subject, limit], subject === 'search' ? { soft: true } : {});
  await gateway.verb('budgets raise', ['5', '1'], { until: '2999-01-01' });
  // A key has the budgets of the key that it replaced.
  const { key, id } = made.parse(await gateway.verb('keys rotate', [first.id]));
  await call(gateway, key);
  const response = await fetch(`${gateway.url}/v1/key`, { headers: { authorization: `Bearer ${key}` } });
  const body: unknown = await response.json();
  const shown = ownKey.parse(body);
  // The schema of /openapi.json has all of it.
  expect(shown).toEqual(body);
  const { budgets } = shown;
  const ofOwn = {
    pending: '0',
    zone: 'UTC',
    hard: true,
    resets: expect.stringMatching(/^\d{4}-.*:00\.000Z$/),
  };
  expect(budgets).toEqual(
    [
      { scope: 'key', subject: id, per: 'total', allowed: '2', resets: null },
      { scope: 'account', subject: 'acme', per: 'hour', allowed: '3' },
      { scope: 'account', subject: 'acme', per: 'day', allowed: '4' },
      { scope: 'team', subject: 'acme', per: 'week', allowed: '5' },
      { scope: 'team', subject: 'group', per: 'month', allowed: '7' },
      { scope: 'team', subject: 'company', per: 'month', allowed: '7' },
      { scope: 'tag', subject: 'search', per: 'day', allowed: '8', hard: false },
    ].map((each) => ({ ...ofOwn, used: expect.any(String), left: expect.any(String), ...each })),
  );
  for (const { used, left } of budgets) {
    expect(Number(used)).toBeGreaterThan(0);
    expect(used).toBe(budgets[0]?.used);
    expect(Number(left)).toBeLessThan(8);
  }
  expect(Number(budgets[0]?.left) + Number(budgets[0]?.used)).toBeCloseTo(2, 9);
});
