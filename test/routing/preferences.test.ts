/**
 * The `provider` object over real sockets: each preference, which targets it excludes, and that only a
 * provider that routes calls itself sees it.
 */
import { expect, it } from 'vitest';
import { postJson } from '../support/post.ts';
import { findProvider, ask, gateway, keys, openPreferred, vendor } from './preferred.ts';

openPreferred();

it.each([
  [undefined, 'dear'],
  [{}, 'dear'],
  [{ routing: 'priority' }, 'dear'],
  [{ order: ['free'] }, 'free'],
  [{ order: ['unknown', 'cheap', 'free'] }, 'cheap'],
  [{ only: ['cheap', 'free'] }, 'cheap'],
  [{ ignore: ['dear', 'cheap'] }, 'free'],
  [{ routing: 'cost' }, 'free'],
  [{ sort: 'price' }, 'free'],
  [{ routing: 'cost', ignore: ['free'], max_price: { prompt: '9' } }, 'down → cheap'],
  [{ sort: 'price', order: ['dear'] }, 'dear'],
  [{ max_price: { prompt: '2', completion: 1 } }, 'free'],
  [{ max_price: { request: '0.005' }, order: ['dear'] }, 'cheap'],
  [{ max_price: { prompt: '2' }, only: ['cheap'] }, 'cheap'],
])('a preference %j is met', async (provider, expected) => {
  const [wanted] = expected.split(' → ').toReversed();
  expect(await findProvider(provider)).toBe(wanted);
});

it('a preference for a price compares what a call of this length costs', async () => {
  const long = { messages: [{ role: 'user', content: 'x'.repeat(500) }] };
  expect(await findProvider({ max_price: { prompt: '2' }, only: ['cheap', 'free'] }, long)).toBe('free');
});

it.each([
  [{ only: ['unknown'] }, 404, 'provider'],
  [{ max_price: { prompt: '0.5' }, ignore: ['free'] }, 404, 'provider'],
  [{ fallback: 'house/unknown' }, 404, 'provider.fallback'],
  [{ routing: 'latency' }, 400, 'provider.routing'],
  [{ sort: 'throughput' }, 400, 'provider.sort'],
  [{ sort: 'price', routing: 'latency' }, 400, 'provider.sort'],
  [{ data_collection: 'maybe' }, 400, 'provider.data_collection'],
  [{ zero_retention: true }, 400, 'provider.zero_retention'],
  [{ zdr: true, require_parameters: true }, 400, 'provider.zdr'],
  [{ order: 'openai' }, 400, 'provider.order'],
  [{ fallback: [1] }, 400, 'provider.fallback'],
  ['cheap', 400, 'provider'],
])('a preference %j that cannot be met is refused by its name', async (provider, status, param) => {
  const response = await ask(provider);
  expect([response.status, await response.json()]).toMatchObject([
    status,
    { error: { param: expect.stringContaining(param) } },
  ]);
});

it('a preference for whole calls skips targets that would lose a part', async () => {
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

const wishes = {
  data_collection: 'deny',
  zdr: true,
  quantizations: ['fp8'],
  preferred_max_latency: { p90: 3 },
};
const readLast = (): unknown => vendor.requests.at(-1)?.body;

it.each([
  ['verbatim', '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
  ['translated', '/v1/responses', { input: 'Hi' }],
])('a wish for a broker reaches one that routes calls itself: %s', async (_lane, path, body) => {
  const provider = {
    ...wishes,
    only: ['broker', 'deepinfra'],
    order: ['broker'],
    allow_fallbacks: false,
    sort: 'price',
    routing: null,
    fallback: 'house/model',
    max_price: { prompt: '9.5' },
  };
  const response = await postJson(
    gateway.url + path,
    { model: 'other/brokered', ...body, provider },
    { authorization: `Bearer ${keys[0]}` },
  );
  await response.text();
  expect([response.status, response.headers.get('x-tollgate-dropped')]).toEqual([200, null]);
  expect(readLast()).toMatchObject({ model: 'upstream-model', messages: [{ content: 'Hi' }] });
  expect(readLast()).toHaveProperty('provider', {
    ...wishes,
    only: ['deepinfra'],
    allow_fallbacks: false,
    sort: 'price',
    max_price: { prompt: 9.5 },
  });
});

it('a wish for a broker is reported as lost, and not sent, if the provider does not', async () => {
  const response = await ask({ ...wishes, only: ['free'] });
  await response.text();
  expect(response.headers.get('x-tollgate-dropped')?.split(',')).toEqual(
    Object.keys(wishes).map((name) => `provider.${name}`),
  );
  expect(readLast()).not.toHaveProperty('provider');
});

it('a wish for a broker adds nothing to a call without one', async () => {
  await (await ask({ only: ['broker'] }, { model: 'other/brokered' })).text();
  expect(readLast()).not.toHaveProperty('provider');
});

async function look(id: string | null, key = keys[0]): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${gateway.url}/v1/calls/${id}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return { status: response.status, body: await response.json() };
}

it('the lookup of a call lists each attempt: who, how it ended, its time, its cost, its losses', async () => {
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

it('the lookup of a call includes refused calls', async () => {
  const response = await ask({ only: ['unknown'] });
  const { body } = await look(response.headers.get('x-request-id'));
  expect(body).toMatchObject({
    outcome: 'refused',
    error: { code: 'model_not_found' },
    cost: '0',
    attempts: [],
  });
});

it('the lookup of a call belongs to its key: any other gets a not-found error', async () => {
  const response = await ask(undefined);
  await response.text();
  const other = await look(response.headers.get('x-request-id'), keys[1]);
  const unknown = await look('0192f000-0000-7000-8000-000000000000', keys[1]);
  expect([other.status, unknown.status]).toEqual([404, 404]);
  expect((await look(response.headers.get('x-request-id'), 'sk-unknown')).status).toBe(401);
});
