/**
 * The `provider` object over real sockets: each preference, which targets it excludes, and that no provider
 * ever sees it.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { aliases } from '../../plugins/routing/aliases.ts';
import { cost } from '../../plugins/routing/cost.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startReplayingVendor, type ReplayingVendor } from '../support/replaying-vendor.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { openDoors, station } from '../support/station.ts';

let vendor: ReplayingVendor;
/** Refuses everything until a test says otherwise. */
let down: ScriptedVendor;
let gateway: TestGateway;
let keys: readonly string[];

const refuse: Parameters<typeof startScriptedVendor>[0] = (response) =>
  void response.writeHead(503, { 'retry-after': '4' }).end('{"error":{"message":"busy"}}');

async function newKey(account: string): Promise<string> {
  const made: unknown = await gateway.verb('keys create', [], { account, credit: '5' });
  return typeof made === 'object' && made && 'key' in made ? String(made.key) : '';
}

beforeAll(async () => {
  vendor = await startReplayingVendor();
  down = await startScriptedVendor(refuse);
  const chat = { 'chat-completions': `${vendor.origin}/v1/chat/completions` };
  gateway = await startGateway({
    plugins: [
      bearer(),
      apiKeyHeader(),
      googleApiKey(),
      chatCompletions(),
      responses(),
      messages(),
      generateContent(),
      station({
        name: 'dear',
        endpoints: chat,
        models: [{ price: { input: '3', output: '9', request: '0.01' } }],
      }),
      station({
        name: 'cheap',
        endpoints: chat,
        models: [{ price: { input: '1', output: '2', tiers: [{ above: 400, input: '8', output: '8' }] } }],
      }),
      station({ name: 'free', endpoints: chat, models: [{ price: { input: '0', output: '0' } }] }),
      station({
        name: 'down',
        endpoints: { 'chat-completions': `${down.origin}/v1/chat/completions` },
        models: [{}, { id: 'house/broken', price: { input: '4', output: '8' } }],
      }),
      station({
        name: 'anthropic-like',
        endpoints: { messages: `${vendor.origin}/v1/messages` },
        models: [
          { id: 'other/claude', price: { input: '4', output: '8' } },
          { id: 'other/dear', price: { input: '40', output: '80' } },
        ],
      }),
      station({
        name: 'google-like',
        endpoints: { 'generate-content': `${vendor.origin}/v1beta/models/x:generateContent` },
        models: [{ id: 'other/gemini' }],
      }),
      station({
        name: 'responses-like',
        endpoints: { responses: `${vendor.origin}/v1/responses` },
        models: [{ id: 'other/gpt' }],
      }),
      preferences(),
      cost(),
      calls(),
      aliases({ 'house/fast': 'house/model' }),
      balance({ firstCredit: '0' }),
    ],
  });
  keys = [await newKey('tester'), await newKey('somebody-else')];
});
afterAll(async () => {
  await gateway.close();
  await vendor.close();
  await down.close();
});
beforeEach(() => down.conduct(refuse));

function ask(provider: unknown, more: object = {}): Promise<Response> {
  const body = {
    model: 'house/model',
    messages: [{ role: 'user', content: 'Hi' }],
    ...(provider === undefined ? {} : { provider }),
    ...more,
  };
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[0]}` },
    body: JSON.stringify(body),
  });
}

async function answeredBy(provider: unknown, more: object = {}): Promise<string> {
  const response = await ask(provider, more);
  await response.text();
  return response.headers.get('x-tollgate-provider') ?? String(response.status);
}

describe('a preference', () => {
  it.each([
    [undefined, 'dear'],
    [{}, 'dear'],
    [{ routing: 'priority' }, 'dear'],
    [{ order: ['free'] }, 'free'],
    [{ order: ['nobody', 'cheap', 'free'] }, 'cheap'],
    [{ only: ['cheap', 'free'] }, 'cheap'],
    [{ ignore: ['dear', 'cheap'] }, 'free'],
    [{ routing: 'cost' }, 'free'],
    [{ sort: 'price' }, 'free'],
    [{ routing: 'cost', ignore: ['free'], max_price: { prompt: '9' } }, 'down → cheap'],
    [{ sort: 'price', order: ['dear'] }, 'dear'],
    [{ max_price: { prompt: '2', completion: 1 } }, 'free'],
    [{ max_price: { request: '0.005' }, order: ['dear'] }, 'cheap'],
    [{ max_price: { prompt: '2' }, only: ['cheap'] }, 'cheap'],
  ])('%j is met', async (provider, expected) => {
    const [wanted] = expected.split(' → ').toReversed();
    expect(await answeredBy(provider)).toBe(wanted);
  });

  it('for a price compares what a call of this length costs', async () => {
    const long = { messages: [{ role: 'user', content: 'x'.repeat(500) }] };
    expect(await answeredBy({ max_price: { prompt: '2' }, only: ['cheap', 'free'] }, long)).toBe('free');
  });

  it.each([
    [{ only: ['nobody'] }, 404, 'provider'],
    [{ max_price: { prompt: '0.5' }, ignore: ['free'] }, 404, 'provider'],
    [{ fallback: 'house/unknown' }, 404, 'provider.fallback'],
    [{ routing: 'latency' }, 400, 'provider.routing'],
    [{ sort: 'throughput' }, 400, 'provider.sort'],
    [{ sort: 'price', routing: 'latency' }, 400, 'provider.sort'],
    [{ data_collection: 'deny' }, 400, 'provider.data_collection'],
    [{ order: 'openai' }, 400, 'provider.order'],
    [{ fallback: [1] }, 400, 'provider.fallback'],
    ['cheap', 400, 'provider'],
  ])('%j that cannot be met is refused by its name', async (provider, status, param) => {
    const response = await ask(provider);
    expect([response.status, await response.json()]).toMatchObject([
      status,
      { error: { param: expect.stringContaining(param) } },
    ]);
  });

  it('for no fallback makes one attempt', async () => {
    const response = await ask({ order: ['down'], allow_fallbacks: false });
    expect([
      response.status,
      response.headers.get('retry-after'),
      response.headers.get('x-should-retry'),
    ]).toEqual([503, '4', 'false']);
    expect(down.bodies.length).toBeGreaterThan(0);
  });

  it('for whole calls skips targets that would lose a part', async () => {
    const response = await ask(
      { fallback: ['house/model'], require_parameters: true, only: ['anthropic-like', 'free'] },
      { model: 'other/claude', seed: 7 },
    );
    await response.text();
    expect([
      response.status,
      response.headers.get('x-tollgate-provider'),
      response.headers.get('x-tollgate-attempts'),
    ]).toEqual([200, 'free', '2']);
  });
});

describe('a fallback to another model', () => {
  it.each([
    ['other/claude', 'anthropic-like'],
    ['other/gemini', 'google-like'],
    ['other/gpt', 'responses-like'],
  ])('crosses to the wire of %s, is charged once, and is named in the reply', async (fallback, provider) => {
    const before = gateway.ends.length;
    const response = await ask({ fallback }, { model: 'house/broken' });
    expect(await response.json()).toMatchObject({
      model: fallback,
      choices: [{ message: { role: 'assistant' } }],
    });
    expect([
      response.headers.get('x-tollgate-provider'),
      response.headers.get('x-tollgate-attempts'),
    ]).toEqual([provider, '2']);
    const end = (await gateway.ended(before + 1))[before];
    expect(end).toMatchObject({
      type: 'answered',
      outcome: 'completed',
      charge: { basis: 'usage' },
      exchange: { attempt: { target: { model: { id: fallback } } } },
    });
  });

  it('happens in every protocol, in its own format, and no provider sees the preference', async () => {
    const provider = { fallback: ['other/claude', 'house/broken'] };
    const ways: [path: string, body: object, headers: Record<string, string>][] = [
      [
        '/v1/responses',
        { model: 'house/broken', input: 'Hi', provider },
        { authorization: `Bearer ${keys[0]}` },
      ],
      [
        '/alpha/v1/messages',
        { model: 'house/broken', max_tokens: 20, messages: [{ role: 'user', content: 'Hi' }], provider },
        { 'x-api-key': keys[0] ?? '', 'anthropic-version': '2023-06-01' },
      ],
      [
        '/beta/v1beta/models/house/broken:generateContent',
        { contents: [{ parts: [{ text: 'Hi' }] }], provider },
        { 'x-goog-api-key': keys[0] ?? '' },
      ],
    ];
    for (const [path, body, headers] of ways) {
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      expect(await response.text(), path).toContain('other/claude');
      expect(response.headers.get('x-tollgate-provider'), path).toBe('anthropic-like');
    }
    await answeredBy({ order: ['cheap'] });
    expect(JSON.stringify([vendor.requests, down.bodies])).not.toMatch(/fallback|"provider"/);
  });

  it('is skipped if it could cost more than was reserved, and the lookup reports it', async () => {
    const response = await ask({ fallback: ['other/dear', 'other/claude'] }, { model: 'house/broken' });
    expect(await response.json()).toMatchObject({ model: 'other/claude' });
    const told: unknown = await (
      await fetch(`${gateway.url}/v1/calls/${response.headers.get('x-request-id')}`, {
        headers: { authorization: `Bearer ${keys[0]}` },
      })
    ).json();
    expect(told).toMatchObject({
      not_granted: [{ provider: 'anthropic-like', model: 'other/dear' }],
      attempts: [{ provider: 'down' }, { model: 'other/claude' }],
    });
  });

  it('reaches a costlier target if the highest cost is reserved, and charges its real cost', async () => {
    const endpoints = { messages: `${vendor.origin}/v1/messages` };
    const generous = await startGateway({
      plugins: [
        openDoors(),
        chatCompletions(),
        messages(),
        balance({ firstCredit: '0', reserve: 'dearest' }),
        preferences(),
        station({
          name: 'down',
          endpoints: { 'chat-completions': `${down.origin}/v1/chat/completions` },
          models: [{ id: 'house/broken', price: { input: '4', output: '8' } }],
        }),
        station({
          name: 'anthropic-like',
          endpoints,
          models: [{ id: 'other/dear', price: { input: '40', output: '80' } }],
        }),
      ],
    });
    await generous.verb('accounts create', ['tester']);
    await generous.verb('credit add', ['tester', '5']);
    const body = {
      model: 'house/broken',
      messages: [{ role: 'user', content: 'Hi' }],
      provider: { fallback: ['other/dear'] },
    };
    const response = await fetch(`${generous.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    expect(await response.json()).toMatchObject({ model: 'other/dear' });
    const { input = 0, output = 0 } = Object((await generous.ended(1))[0]).charge.usage;
    expect(generous.ends[0]).toMatchObject({
      outcome: 'completed',
      charge: { basis: 'usage', cost: BigInt(input * 40_000 + output * 80_000) },
    });
    expect(await generous.verb('audit')).toMatchObject({ ok: true, pending: 0 });
    await generous.close();
  });

  it('resolves an alias to its model', async () => {
    expect(await (await ask(undefined, { model: 'house/fast' })).json()).toMatchObject({
      model: 'house/model',
    });
  });
});

describe('the lookup of a call', () => {
  async function look(id: string | null, key = keys[0]): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`${gateway.url}/v1/calls/${id}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return { status: response.status, body: await response.json() };
  }

  it('lists every attempt: who, how it ended, how long it took, what it cost, what was lost', async () => {
    const response = await ask({ fallback: ['other/claude'] }, { model: 'house/broken', seed: 7 });
    await response.text();
    expect(response.headers.get('x-tollgate-dropped')).toBe('seed');
    const { status, body } = await look(response.headers.get('x-request-id'));
    expect([status, body]).toMatchObject([
      200,
      {
        id: response.headers.get('x-request-id'),
        object: 'call',
        protocol: 'chat-completions',
        model: 'house/broken',
        answered_by: 'other/claude',
        provider: 'anthropic-like',
        outcome: 'completed',
        error: null,
        cost_basis: 'usage',
        losses: [{ path: 'seed' }],
        attempts: [
          {
            number: 1,
            provider: 'down',
            model: 'house/broken',
            outcome: 'upstream_overloaded',
            status: 503,
            sent: true,
            cost: '0',
            first_event_ms: null,
            duration_ms: expect.any(Number),
            losses: [],
          },
          {
            number: 2,
            provider: 'anthropic-like',
            model: 'other/claude',
            outcome: 'completed',
            status: 200,
            losses: [{ path: 'seed' }],
            first_event_ms: expect.any(Number),
            duration_ms: expect.any(Number),
          },
        ],
      },
    ]);
    expect(body).toHaveProperty('cost', Object(Object(body).attempts[1]).cost);
    expect(JSON.stringify(body)).not.toContain('Hi');
  });

  it('includes refused calls', async () => {
    const response = await ask({ only: ['nobody'] });
    const { body } = await look(response.headers.get('x-request-id'));
    expect(body).toMatchObject({
      outcome: 'refused',
      error: { code: 'model_not_found' },
      cost: '0',
      attempts: [],
    });
  });

  it('belongs to the key that made the call: any other gets a not-found error', async () => {
    const response = await ask(undefined);
    await response.text();
    const other = await look(response.headers.get('x-request-id'), keys[1]);
    const unknown = await look('0192f000-0000-7000-8000-000000000000', keys[1]);
    expect([other.status, unknown.status]).toEqual([404, 404]);
    expect((await look(response.headers.get('x-request-id'), 'sk-nobody')).status).toBe(401);
  });
});
