/**
 * A call with an `Idempotency-Key` is made and charged once, however often a client sends it, in every
 * protocol, streaming or not.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { keyId } from '../../plugins/meters/balance/keys.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { rateLimits } from '../../plugins/operations/rate-limits.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { groq } from '../../plugins/providers/groq.ts';
import { hashSecret } from '../../plugins/shared/secret.ts';
import { openHouse, type House } from '../support/house.ts';

/** A provider of chat-completions alone, so that the calls of all other protocols are translated. */
const model = 'groq/llama-3.1-8b-instant';
const upstream = 'llama-3.1-8b-instant';
const plugins = [
  apiKeyHeader(),
  googleApiKey(),
  messages(),
  responses(),
  generateContent(),
  images(),
  demo(),
  rateLimits({ perKey: { requests: 100_000 } }),
];
const largest = 100_000;

let house: House;
let orders = 0;
let order: string;
/** The state before the test. */
let before: { used: number; requests: number; ends: number };
beforeAll(async () => {
  house = await openHouse({ plugins, provider: groq, ledger: { idempotency: { largest, ttl: 60 } } });
});
beforeEach(async () => {
  orders += 1;
  order = `order-${orders}`;
  house.vendor.script(upstream, {});
  before = {
    used: (await house.balance()).used,
    requests: house.vendor.requests.length,
    ends: house.gateway.ends.length,
  };
});
afterAll(() => house.close());

const used = async (): Promise<number> => (await house.balance()).used - before.used;
const calls = (): number => house.vendor.requests.length - before.requests;

interface Ask {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

const families = {
  'chat-completions': (stream: boolean, text = 'Hello!'): Ask => ({
    path: '/v1/chat/completions',
    body: { model, stream, messages: [{ role: 'user', content: text }] },
  }),
  responses: (stream: boolean, text = 'Hello!'): Ask => ({
    path: '/v1/responses',
    body: { model, stream, input: text },
  }),
  messages: (stream: boolean, text = 'Hello!'): Ask => ({
    path: '/alpha/v1/messages',
    headers: { 'anthropic-version': '2023-06-01' },
    body: { model, stream, max_tokens: 100, messages: [{ role: 'user', content: text }] },
  }),
  'generate-content': (stream: boolean, text = 'Hello!'): Ask => ({
    path: `/beta/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text }] }] },
  }),
};
type FamilyName = keyof typeof families;
const names = Object.keys(families).filter((name): name is FamilyName => name in families);
const everyWay = names.flatMap((name): [FamilyName, boolean][] => [
  [name, false],
  [name, true],
]);
const chat = families['chat-completions'];

interface Told {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

function start(
  { path, headers, body }: Ask,
  idempotencyKey: string | null,
  key = house.key,
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(house.gateway.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...headers,
      ...(idempotencyKey !== null && { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });
}

async function send(ask: Ask, idempotencyKey: string | null = order, key = house.key): Promise<Told> {
  const response = await start(ask, idempotencyKey, key);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Creates another key of this account. */
async function newKey(account: string, options: Record<string, string>): Promise<string> {
  const made = await house.gateway.verb('keys create', [], { account, ...options });
  return typeof made === 'object' && made && 'key' in made ? String(made.key) : '';
}

/** Reads a stream up to this text, then disconnects. */
async function leaveAfter(ask: Ask, text: string): Promise<string> {
  const leaving = new AbortController();
  const response = await start(ask, order, house.key, leaving.signal);
  let seen = '';
  for await (const chunk of response.body ?? []) {
    seen += Buffer.from(chunk).toString('utf8');
    if (seen.includes(text)) break;
  }
  leaving.abort();
  await house.gateway.ended(before.ends + 1);
  return seen;
}

describe.each(everyWay)('%s, stream: %s', (name, stream) => {
  const ask = families[name](stream);

  it('repeats the same bytes for the same call, without a provider and without a charge', async () => {
    const first = await send(ask);
    const cost = await used();
    const again = await send(ask);
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.text).toBe(first.text);
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect([first.headers.get('idempotent-replayed'), again.headers.get('idempotent-replayed')]).toEqual([
      null,
      'true',
    ]);
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(calls()).toBe(1);
    expect(cost).toBeGreaterThan(0);
    expect(await used()).toBe(cost);
  });

  it('repeats the reply without the rate-limit headers of its time', async () => {
    const [first, again] = [await send(ask), await send(ask)];
    const allowances = ({ headers }: Told): string[] =>
      [...headers.keys()].filter((header) => header.includes('ratelimit'));
    expect([allowances(first).length, allowances(again)]).toEqual([3, []]);
    expect(again.headers.get('x-tollgate-provider')).toBe('groq');
  });

  it('refuses another body under the same key, in its own format', async () => {
    await send(ask);
    const other = await send(families[name](stream, 'Something else'));
    expect(other.status).toBe(422);
    expect(other.headers.get('x-should-retry')).toBe('false');
    expect(JSON.parse(other.text)).toHaveProperty('error.message', expect.stringContaining('another body'));
    expect(calls()).toBe(1);
  });

  it('makes one call and one charge of 50 that arrive at once', async () => {
    const go = Promise.withResolvers<void>();
    house.vendor.script(upstream, { hold: go.promise });
    const all = Promise.all(Array.from({ length: 50 }, () => send(ask)));
    await house.gateway.ended(before.ends + 49);
    go.resolve();
    const told = await all;
    const busy = told.filter(({ status }) => status === 409);
    expect([told.filter(({ status }) => status === 200).length, busy.length]).toEqual([1, 49]);
    for (const { headers } of busy)
      expect([headers.get('retry-after'), headers.get('x-should-retry')]).toEqual(['1', null]);
    expect(calls()).toBe(1);
    const cost = await used();
    expect((await send(ask)).text).toBe(told.find(({ status }) => status === 200)?.text);
    expect(await used()).toBe(cost);
  });
});

describe.each(names)('%s, when the client disconnects after output', (name) => {
  it('repeats the part that was sent with an error, and charges nothing more', async () => {
    house.vendor.script(upstream, { text: ['One', ' two', ' three'], hold: 'forever', holdAfter: 3 });
    const ask = families[name](true);
    const seen = await leaveAfter(ask, 'two');
    await expect.poll(used).toBeGreaterThan(0);
    const cost = await used();
    const again = await send(ask);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(again.text.startsWith(seen)).toBe(true);
    expect(again.text.slice(seen.length)).toMatch(/error|failed/);
    expect(again.text).not.toMatch(/message_stop|response\.completed|"finishReason":"STOP"/);
    if (name === 'chat-completions') expect(again.text).not.toContain('[DONE]');
    expect(calls()).toBe(1);
    expect(await used()).toBe(cost);
  });
});

describe('a key', () => {
  it('is free again if the call cost nothing', async () => {
    const broken = { reply: { status: 500, body: { error: { message: 'broken' } } } };
    house.vendor.script(upstream, broken, broken, broken, {});
    expect((await send(chat(false))).status).toBeGreaterThanOrEqual(500);
    expect(await used()).toBe(0);
    expect((await send(chat(false, 'Another body'))).status).toBe(200);
  });

  it('is free again if the balance was too short', async () => {
    const poor = await newKey('poor', {});
    expect((await send(chat(false), order, poor)).status).toBe(402);
    await house.gateway.verb('credit add', ['poor', '1']);
    expect((await send(chat(false), order, poor)).status).toBe(200);
  });

  it('keeps a call that its client aborts before the reply: charged for input, not made again', async () => {
    house.vendor.script(upstream, { hold: 'forever' });
    const leaving = new AbortController();
    const asked = start(chat(false), order, house.key, leaving.signal).catch(() => 'left');
    await expect.poll(calls).toBe(1);
    leaving.abort();
    expect(await asked).toBe('left');
    await house.gateway.ended(before.ends + 1);
    const cost = await used();
    expect(cost).toBeGreaterThan(0);
    const again = await send(chat(false));
    expect([again.status, JSON.parse(again.text)]).toMatchObject([
      409,
      { error: { code: 'outcome_not_kept' } },
    ]);
    expect(calls()).toBe(1);
    expect(await used()).toBe(cost);
  });

  it('keeps a reply whose client disconnects just before its end, never as a complete one', async () => {
    house.vendor.script(upstream, { text: ['One', ' two'], hold: 'forever', holdAfter: 5 });
    const seen = await leaveAfter(chat(true), '"finish_reason":"stop"');
    expect(house.gateway.ends.at(-1)).toMatchObject({ type: 'answered', outcome: 'completed' });
    const again = await send(chat(true));
    expect(again.text.startsWith(seen)).toBe(true);
    expect(again.text).toContain('"error"');
    expect(again.text).not.toContain('[DONE]');
    expect(calls()).toBe(1);
  });

  it('keeps a reply that the provider broke off, with its error', async () => {
    house.vendor.script(upstream, { text: ['One', ' two', ' three'], cut: { how: 'rst', events: 2 } });
    const first = await send(chat(true));
    const again = await send(chat(true));
    expect(first.text).toContain('"error"');
    expect(again.text).toBe(first.text);
    expect(calls()).toBe(1);
  });

  it('belongs to an account: another has its own', async () => {
    const [other, sibling] = [await newKey('other', { credit: '5' }), await newKey('tester', {})];
    await send(chat(false));
    expect((await send(chat(false), order, other)).headers.get('idempotent-replayed')).toBeNull();
    expect((await send(chat(false), order, sibling)).headers.get('idempotent-replayed')).toBe('true');
    expect(calls()).toBe(2);
  });

  it('repeats a stored reply to every key that may call its model, and to no other', async () => {
    const [barred, allowed] = [
      await newKey('tester', { models: 'demo/*' }),
      await newKey('tester', { models: 'groq/*' }),
    ];
    await send(chat(false));
    const refused = await send(chat(false), order, barred);
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
      403,
      { error: { code: 'permission_denied', param: 'model' } },
    ]);
    expect((await send(chat(false), order, allowed)).headers.get('idempotent-replayed')).toBe('true');
    expect(calls()).toBe(1);
  });

  it('repeats a stored reply under the name of the fallback model that gave it', async () => {
    house.vendor.script(upstream, { reply: { status: 500, body: { error: { message: 'broken' } } } });
    const ask = chat(false);
    const other: Ask = { ...ask, body: { ...ask.body, provider: { fallback: 'demo/echo' } } };
    expect((await send(other)).headers.get('x-tollgate-model')).toBe('demo/echo');
    const [asked, answered] = [
      await newKey('tester', { models: 'groq/*' }),
      await newKey('tester', { models: 'demo/*' }),
    ];
    expect((await send(other, order, asked)).status).toBe(403);
    expect((await send(other, order, answered)).headers.get('idempotent-replayed')).toBe('true');
  });

  it.each([
    ['disabled', async (key: string) => void (await house.gateway.verb('keys disable', [key], {}))],
    [
      'past its expiry',
      async (key: string) =>
        void (await house.gateway.verb('keys limit', [key], {
          expires: new Date(Date.now() + 1000).toISOString(),
        })),
    ],
  ])('repeats no stored reply to a key that is %s', async (_state, change) => {
    const secret = await newKey('tester', {});
    expect((await send(chat(false), order, secret)).status).toBe(200);
    await change(keyId(hashSecret(secret)));
    await expect.poll(async () => (await send(chat(false), order, secret)).status).toBe(401);
  });

  it('covers the calls of one protocol: the same bytes in another are another body', async () => {
    await send(families.responses(false));
    expect((await send(chat(false))).status).toBe(422);
  });

  it('covers no count of tokens: one with the same key runs and leaves the key free', async () => {
    const count: Ask = { path: '/v1/responses/input_tokens', body: { model, input: 'Hello!' } };
    const statuses = [
      (await send(count)).status,
      (await send(families.responses(false))).status,
      (await send(count)).status,
    ];
    expect(statuses).toEqual([200, 200, 200]);
    expect((await send(families.responses(false))).headers.get('idempotent-replayed')).toBe('true');
  });

  it('is optional: two calls without one run twice', async () => {
    const [first, second] = [await send(chat(false), null), await send(chat(false), null)];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(calls()).toBe(2);
  });

  it('is free again when it expires', async () => {
    const brief = await openHouse({ ledger: { idempotency: { ttl: 1 } } });
    const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] };
    const headers = { 'idempotency-key': 'order-1' };
    await (await brief.post(body, { headers })).text();
    await sleep(1100);
    expect((await brief.post(body, { headers })).headers.get('idempotent-replayed')).toBeNull();
    expect(brief.vendor.requests).toHaveLength(2);
    await brief.close();
  });

  it.each(['k'.repeat(256), 'caf\u00e9'])(
    "with invalid characters is refused by the header's name",
    async (key) => {
      const { status, text } = await send(chat(false), key);
      expect([status, JSON.parse(text)]).toMatchObject([400, { error: { param: 'idempotency-key' } }]);
    },
  );
});

describe('a reply that is too long to store', () => {
  it('is not made again: a JSON retry gets an error that says so and forbids retries', async () => {
    house.vendor.script(upstream, { text: 'y'.repeat(largest) });
    await send(chat(false));
    const again = await send(chat(false));
    expect([again.status, again.headers.get('x-should-retry')]).toEqual([409, 'false']);
    expect(JSON.parse(again.text)).toHaveProperty('error.code', 'outcome_not_kept');
    expect(calls()).toBe(1);
  });

  it('is not made again: a retry of a stream gets its start and an error', async () => {
    house.vendor.script(upstream, { text: Array.from({ length: 1000 }, (_, index) => `word ${index} `) });
    const first = await send(chat(true));
    const again = await send(chat(true));
    const kept = again.text.slice(0, again.text.lastIndexOf('data:'));
    expect(kept.length).toBeGreaterThan(largest / 2);
    expect(first.text.startsWith(kept)).toBe(true);
    expect(again.text.slice(kept.length)).toContain('outcome_not_kept');
    expect(again.text).not.toContain('[DONE]');
    expect(calls()).toBe(1);
  });

  it('ends a retry of responses under the id of its reply, with the next sequence number', async () => {
    house.vendor.script(upstream, { text: Array.from({ length: 1000 }, (_, index) => `word ${index} `) });
    await send(families.responses(true));
    const { text } = await send(families.responses(true));
    const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data = '']) => JSON.parse(data));
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { id: events[0].response.id } });
  });
});

describe('a form', () => {
  const pixel =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

  function edit(picture: Buffer<ArrayBuffer>, prompt = 'Make it night'): Promise<Told> {
    const form = new FormData();
    for (const [name, value] of Object.entries({
      model: 'demo/paint',
      prompt,
      quality: 'low',
      size: '512x512',
    }))
      form.append(name, value);
    form.append('image', new Blob([picture], { type: 'image/png' }), 'picture.png');
    const headers = { authorization: `Bearer ${house.key}`, 'idempotency-key': order };
    return fetch(`${house.gateway.url}/v1/images/edits`, { method: 'POST', headers, body: form }).then(
      async ({ status, headers: told, ...response }) => ({
        status,
        headers: told,
        text: await new Response(response.body).text(),
      }),
    );
  }

  it('is the same call if and only if its decoded parts are equal, whatever the boundary', async () => {
    const picture = Buffer.from(pixel, 'base64');
    const first = await edit(picture);
    expect(first.status, first.text).toBe(200);
    const again = await edit(picture);
    expect([again.status, again.headers.get('idempotent-replayed'), again.text === first.text]).toEqual([
      200,
      'true',
      true,
    ]);
    expect((await edit(Buffer.concat([picture, Buffer.from('.')]))).status).toBe(422);
    expect((await edit(picture, 'Make it day')).status).toBe(422);
  });
});

describe('a call whose process died', () => {
  /**
   * Leaves the call as another process finds it: pending, its owner silent, and in the last state it
   * recorded.
   */
  async function recover(sent: boolean): Promise<void> {
    const file = join(house.gateway.dataFolder, 'ledger.db');
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
    const beats = async (): Promise<number> =>
      (await store.owners()).find((each) => each.owner === owner)?.beat ?? 0;
    const progress = [{ ...consumption, id: call, sent, delivered: 4, owed: 7n }];
    // The gateway's own heartbeat, once a second, would report what is true: then it is tried again.
    await expect
      .poll(async () => {
        const beat = (await beats()) + 1;
        await itself.beat({ lease: 1, progress });
        return store.recover({ owner, beat, limit: 10, at: Date.now() });
      })
      .toHaveLength(1);
    await Promise.all([store.close(), itself.close()]);
  }

  async function whileItRuns(sent: boolean): Promise<Told> {
    const go = Promise.withResolvers<void>();
    house.vendor.script(upstream, { text: ['One', ' two'], hold: go.promise, holdAfter: 2 }, {});
    const running = send(chat(true));
    await expect.poll(calls).toBe(1);
    expect((await send(chat(true))).status).toBe(409);
    await recover(sent);
    const again = await send(chat(true));
    go.resolve();
    await running;
    return again;
  }

  it('is not made again if a provider had received it', async () => {
    const { status, text } = await whileItRuns(true);
    expect([status, JSON.parse(text)]).toMatchObject([409, { error: { code: 'outcome_not_kept' } }]);
    expect(calls()).toBe(1);
  });

  it('is made if no provider had received it', async () => {
    const { status, text } = await whileItRuns(false);
    expect([status, text]).toEqual([200, expect.stringContaining('[DONE]')]);
    expect(calls()).toBe(2);
  });
});
