/** Corrections as operators make them: refunds, chargebacks, adjustments, closed accounts, deleted keys. */
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { openAdminListener, type AdminListener } from '../support/admin-listener.ts';
import { postJson } from '../support/post.ts';

let listener: AdminListener;
beforeAll(async () => {
  listener = await openAdminListener([chatCompletions(), demo({ pace: 0 }), balance({ firstCredit: '0' })]);
});

const made = z.looseObject({ key: z.string(), id: z.string() });
const shown = z.looseObject({ used: z.string() });

async function createKey(account: string, credit?: string) {
  return made.parse((await listener.ask('POST', '/keys', { account, credit })).body);
}

function call(key: string): Promise<Response> {
  return postJson(
    `${listener.gateway.url}/v1/chat/completions`,
    { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] },
    { authorization: `Bearer ${key}` },
  );
}

async function fetchStatus(key: string): Promise<number> {
  const response = await call(key);
  await response.arrayBuffer();
  return response.status;
}

it('refunds a call once, at most what it cost, with a reason and an author', async () => {
  const { key } = await createKey('refunded', '5');
  const response = await call(key);
  await response.arrayBuffer();
  const id = response.headers.get('x-request-id');
  const { used } = shown.parse((await listener.ask('GET', '/accounts/refunded')).body);
  expect(Number(used)).toBeGreaterThan(0);
  const order = { call: id, reason: 'the reply was broken' };
  expect(await listener.ask('POST', '/refunds', { ...order, amount: '4' })).toMatchObject({
    status: 400,
    body: { error: { param: 'amount' } },
  });
  expect(await listener.ask('POST', '/refunds', { call: id })).toMatchObject({
    status: 400,
    body: { error: { param: 'reason' } },
  });
  expect(await listener.ask('POST', '/refunds', order)).toMatchObject({
    status: 201,
    body: { amount: used, balance: '5' },
  });
  expect((await listener.ask('POST', '/refunds', order)).status).toBe(200);
  expect(await listener.ask('GET', '/credits?account=refunded')).toMatchObject({
    body: { data: [{}, { kind: 'refund', amount: used, reason: order.reason, author: 'operator-secret' }] },
  });
  expect((await listener.ask('POST', '/refunds', { ...order, call: 'no-such-call' })).status).toBe(404);
});

it('takes back a credit, and refuses calls while the balance is negative', async () => {
  const { key } = await createKey('reversed');
  await listener.ask('POST', '/credits', { account: 'reversed', amount: '2', reference: 'payment-7' });
  await listener.ask('POST', '/adjustments', { account: 'reversed', amount: '-0.5', reason: 'a slip' });
  const order = { reference: 'payment-7', reason: 'the bank reversed it' };
  expect(await listener.ask('POST', '/chargebacks', order)).toMatchObject({
    status: 201,
    body: { amount: '-2', balance: '-0.5' },
  });
  expect((await listener.ask('POST', '/chargebacks', order)).status).toBe(200);
  expect(await fetchStatus(key)).toBe(402);
  expect(await listener.ask('GET', '/audit')).toMatchObject({ body: { ok: true } });
});

it('disables, closes and deletes, and logs each change with its author', async () => {
  const { key, id } = await createKey('closing', '1');
  const soon = { timeout: 120_000, interval: 50 };
  await listener.ask('PATCH', '/accounts/closing/state', { state: 'disabled' });
  await expect.poll(() => fetchStatus(key), soon).toBe(401);
  await listener.ask('PATCH', '/accounts/closing/state', { state: 'open' });
  await expect.poll(() => fetchStatus(key), soon).toBe(200);
  expect(await listener.ask('DELETE', `/keys/${id}`)).toMatchObject({ status: 200, body: { deleted: true } });
  await expect.poll(() => fetchStatus(key), soon).toBe(401);
  expect((await listener.ask('GET', `/keys/${id}`)).status).toBe(404);
  expect((await listener.ask('PATCH', '/accounts/closing/state', { state: 'closed' })).status).toBe(200);
  expect((await listener.ask('POST', '/keys', { account: 'closing' })).status).toBe(404);
  expect(await listener.ask('GET', '/actions?limit=2')).toMatchObject({
    body: {
      data: [
        { action: 'PATCH /admin/accounts/:account/state', subject: 'closing', detail: '{"state":"closed"}' },
        { action: 'DELETE /admin/keys/:key', subject: id, author: 'operator-secret' },
      ],
    },
  });
});

it('logs the commands too', async () => {
  const { gateway } = listener;
  await gateway.verb('credit add', ['refunded', '1']);
  await gateway.verb('credit adjust', ['refunded', '-1'], { reason: 'a slip', yes: true });
  expect(await gateway.verb('actions list', [], { limit: '2' })).toMatchObject([
    { action: 'credit adjust', subject: 'refunded -1', detail: '{"reason":"a slip"}' },
    { action: 'credit add', author: expect.stringMatching(/^cli:./) },
  ]);
});
