/** What an idempotency key covers, whom it belongs to, and when it is free again. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { toKeyId } from '../../plugins/meters/balance/keys.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { hashSecret } from '../../plugins/shared/secret.ts';
import { openHarness } from '../support/harness.ts';
import {
  type Ask,
  type ClientReply,
  before,
  countCalls,
  chat,
  families,
  harness,
  leaveAfter,
  model,
  openOrders,
  order,
  send,
  start,
  upstream,
  readUsed,
} from './repeated-calls.ts';

openOrders();

/** Creates another key of this account. */
async function createKey(account: string, options: Record<string, string>): Promise<string> {
  return harness.gateway.newKey({ account, ...options });
}

it('an idempotency key is free again if the call cost nothing', async () => {
  const broken = { reply: { status: 500, body: { error: { message: 'broken' } } } };
  harness.vendor.script(upstream, broken, broken, broken, {});
  expect((await send(chat(false))).status).toBeGreaterThanOrEqual(500);
  expect(await readUsed()).toBe(0);
  expect((await send(chat(false, 'Another body'))).status).toBe(200);
});

it('an idempotency key is free again if the balance was too short', async () => {
  const poor = await createKey('poor', {});
  expect((await send(chat(false), order, poor)).status).toBe(402);
  await harness.gateway.verb('credit add', ['poor', '1']);
  expect((await send(chat(false), order, poor)).status).toBe(200);
});

it('an idempotency key keeps a call aborted before its reply, which pays for its input', async () => {
  harness.vendor.script(upstream, { hold: 'forever' });
  const controller = new AbortController();
  const asked = start(chat(false), order, harness.key, controller.signal).catch(() => 'left');
  await expect.poll(countCalls).toBe(1);
  controller.abort();
  expect(await asked).toBe('left');
  await harness.gateway.ended(before.ends + 1);
  const cost = await readUsed();
  expect(cost).toBeGreaterThan(0);
  const again = await send(chat(false));
  expect([again.status, JSON.parse(again.text)]).toMatchObject([
    409,
    { error: { code: 'outcome_not_kept' } },
  ]);
  expect(countCalls()).toBe(1);
  expect(await readUsed()).toBe(cost);
});

it('an idempotency key keeps a reply cut just before its end, never as complete', async () => {
  harness.vendor.script(upstream, { text: ['One', ' two'], hold: 'forever', holdAfter: 5 });
  const seen = await leaveAfter(chat(true), '"finish_reason":"stop"');
  expect(harness.gateway.ends.at(-1)).toMatchObject({ type: 'answered', outcome: 'completed' });
  const again = await send(chat(true));
  expect(again.text.startsWith(seen)).toBe(true);
  expect(again.text).toContain('"error"');
  expect(again.text).not.toContain('[DONE]');
  expect(countCalls()).toBe(1);
});

it('an idempotency key keeps a reply that the provider broke off, with its error', async () => {
  harness.vendor.script(upstream, { text: ['One', ' two', ' three'], cut: { how: 'rst', events: 2 } });
  const first = await send(chat(true));
  const again = await send(chat(true));
  expect(first.text).toContain('"error"');
  expect(again.text).toBe(first.text);
  expect(countCalls()).toBe(1);
});

it('an idempotency key belongs to an account: another has its own', async () => {
  const [other, sibling] = [await createKey('other', { credit: '5' }), await createKey('tester', {})];
  await send(chat(false));
  expect((await send(chat(false), order, other)).headers.get('idempotent-replayed')).toBeNull();
  expect((await send(chat(false), order, sibling)).headers.get('idempotent-replayed')).toBe('true');
  expect(countCalls()).toBe(2);
});

it('an idempotency key repeats its reply to keys that may call its model, and to no other', async () => {
  const [barred, allowed] = [
    await createKey('tester', { models: 'demo/*' }),
    await createKey('tester', { models: 'openai/*' }),
  ];
  await send(chat(false));
  const refused = await send(chat(false), order, barred);
  expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
    403,
    { error: { code: 'permission_denied', param: 'model' } },
  ]);
  expect((await send(chat(false), order, allowed)).headers.get('idempotent-replayed')).toBe('true');
  expect(countCalls()).toBe(1);
});

it('an idempotency key repeats a reply under the name of the fallback that gave it', async () => {
  harness.vendor.script(upstream, { reply: { status: 500, body: { error: { message: 'broken' } } } });
  const ask = chat(false);
  const other: Ask = { ...ask, body: { ...ask.body, provider: { fallback: 'demo/echo' } } };
  expect((await send(other)).headers.get('x-tollgate-model')).toBe('demo/echo');
  const [asked, answered] = [
    await createKey('tester', { models: 'openai/*' }),
    await createKey('tester', { models: 'demo/*' }),
  ];
  expect((await send(other, order, asked)).status).toBe(403);
  expect((await send(other, order, answered)).headers.get('idempotent-replayed')).toBe('true');
});

it.each([
  ['disabled', async (key: string) => void (await harness.gateway.verb('keys disable', [key], {}))],
  [
    'past its expiry',
    async (key: string) =>
      void (await harness.gateway.verb('keys limit', [key], {
        expires: new Date(Date.now() + 1000).toISOString(),
      })),
  ],
])('an idempotency key repeats no stored reply to a key that is %s', async (_state, change) => {
  const secret = await createKey('tester', {});
  expect((await send(chat(false), order, secret)).status).toBe(200);
  await change(toKeyId(hashSecret(secret)));
  await expect.poll(async () => (await send(chat(false), order, secret)).status).toBe(401);
});

it('an idempotency key covers one protocol: the same bytes in another are another body', async () => {
  await send(families.responses(false));
  expect((await send(chat(false))).status).toBe(422);
});

it('an idempotency key covers no count of tokens, which leaves the key free', async () => {
  const count: Ask = { path: '/v1/responses/input_tokens', body: { model, input: 'Hello!' } };
  const statuses = [
    (await send(count)).status,
    (await send(families.responses(false))).status,
    (await send(count)).status,
  ];
  expect(statuses).toEqual([200, 200, 200]);
  expect((await send(families.responses(false))).headers.get('idempotent-replayed')).toBe('true');
});

it('an idempotency key is optional: two calls without one run twice', async () => {
  const [first, second] = [await send(chat(false), null), await send(chat(false), null)];
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(countCalls()).toBe(2);
});

it('an idempotency key is free again when it expires', async () => {
  const brief = await openHarness({ ledger: { idempotency: { ttl: 1 } } });
  const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] };
  const headers = { 'idempotency-key': 'order-1' };
  await (await brief.post(body, { headers })).text();
  await sleep(1100);
  expect((await brief.post(body, { headers })).headers.get('idempotent-replayed')).toBeNull();
  expect(brief.vendor.requests).toHaveLength(2);
});

it.each(['k'.repeat(256), 'caf\u00e9'])(
  "an idempotency key with invalid characters is refused by the header's name",
  async (key) => {
    const { status, text } = await send(chat(false), key);
    expect([status, JSON.parse(text)]).toMatchObject([400, { error: { param: 'idempotency-key' } }]);
  },
);

/**
 * Leaves the call as another process finds it: pending, its owner silent, and in the last state it
 * recorded.
 */
async function recover(sent: boolean): Promise<void> {
  const file = join(harness.gateway.dataFolder, 'ledger.db');
  const store = await openSqlite({ file });
  const [pending] = await store.listPending({ limit: 1 });
  if (!pending) throw new Error('nothing is pending');
  const { owner, call } = pending;
  const itself = await openSqlite({ file, owner });
  const consumption = {
    model,
    provider: 'groq',
    price: undefined,
    input: 5,
    output: 1,
    usage: '{}',
    costs: '[]',
    attempts: 1,
  };
  const readBeat = async (): Promise<number> =>
    (await store.listOwners()).find((each) => each.owner === owner)?.beat ?? 0;
  const progress = [{ ...consumption, id: call, sent, delivered: 4, owed: 7n }];
  // The gateway's own heartbeat, once a second, would report what is true: then it is tried again.
  await expect
    .poll(async () => {
      const beat = (await readBeat()) + 1;
      await itself.beat({ lease: 1, progress });
      return store.recover({ owner, beat, limit: 10, at: Date.now() });
    })
    .toHaveLength(1);
  await Promise.all([store.close(), itself.close()]);
}

async function sendWhileRunning(sent: boolean): Promise<ClientReply> {
  const go = Promise.withResolvers<void>();
  harness.vendor.script(upstream, { text: ['One', ' two'], hold: go.promise, holdAfter: 2 }, {});
  const running = send(chat(true));
  await expect.poll(countCalls).toBe(1);
  expect((await send(chat(true))).status).toBe(409);
  await recover(sent);
  const again = await send(chat(true));
  go.resolve();
  await running;
  return again;
}

it('a call whose process died is not made again if a provider had received it', async () => {
  const { status, text } = await sendWhileRunning(true);
  expect([status, JSON.parse(text)]).toMatchObject([409, { error: { code: 'outcome_not_kept' } }]);
  expect(countCalls()).toBe(1);
});

it('a call whose process died is made if no provider had received it', async () => {
  const { status, text } = await sendWhileRunning(false);
  expect([status, text]).toEqual([200, expect.stringContaining('[DONE]')]);
  expect(countCalls()).toBe(2);
});
