/** Calls and token counts through a whole gateway, whose provider is a tap on `dispatch`. */
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Endpoint, ModelFacts, Plugin, UpstreamRequest } from '../../core/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { plain } from '../support/plain-protocol.ts';
import { postJson } from '../support/post.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';

interface Asked extends UpstreamRequest {
  readonly json: unknown;
}

const getUrl: Endpoint = (_target, operation) =>
  operation === 'count' ? 'https://a.example/count' : 'https://a.example/messages';

const message =
  '{"id":"msg_1", "type":"message","role":"assistant","model":"claude-test-upstream",' +
  '"content":[{"type":"text","text":"Ahoy"}],' +
  '"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":2}}';

const headers = {
  'anthropic-version': '2026-10-21',
  'anthropic-beta': 'new-thing-2026-11-01',
  'x-api-key': 'sk-client',
  cookie: 'c=1',
};

function post({ url }: TestGateway, path: string, body: object, more: object = {}): Promise<Response> {
  const asked = { model: 'house/model', messages: [{ role: 'user', content: 'Ahoy there' }], ...body };
  return postJson(url + path, asked, { ...headers, ...more });
}

/** What the providers of this test were asked. */
const requests: Asked[] = [];

/** A provider of one model that answers every call with this. */
function buildVendor(protocols: Readonly<Record<string, Endpoint>>, body: string, status = 200): Plugin {
  const facts: Partial<ModelFacts> = {
    upstream: 'claude-test-upstream',
    contextLength: 200_000,
    outputLimit: 64_000,
    free: undefined,
    price: { input: '1', output: '2' },
    capabilities: {
      reasoning: { style: 'budget', budget: { min: 1024 } },
      wire: { messages: { midSystem: true } },
    },
  };
  return tappedVendor(
    'house',
    protocols,
    (request) => {
      requests.push({ ...request, json: JSON.parse(String(request.body)) });
      return { status, body };
    },
    facts,
  );
}

async function start(...plugins: readonly Plugin[]): Promise<TestGateway> {
  requests.length = 0;
  const gateway = await startGateway({
    plugins: [acceptAnyKey(), messages(), chatCompletions(), plain(), ...plugins],
  });
  onTestFinished(() => gateway.close());
  return gateway;
}

it('a call passes on every header of its provider, except those about credentials or accounts', async () => {
  const gateway = await start(buildVendor({ messages: getUrl }, message));
  const feature = {
    'anthropic-later-feature': 'on',
    'anthropic-user-profile-id': 'p_1',
    'anthropic-dangerous-direct-browser-access': 'true',
  };
  const account = {
    'anthropic-api-key': 'sk-theirs',
    'anthropic-auth-token': 'theirs',
    'anthropic-organization-id': 'org-theirs',
    'x-anthropic-thing': 'theirs',
    host: 'theirs.example',
  };
  await (await post(gateway, '/alpha/v1/messages', { max_tokens: 50 }, { ...feature, ...account })).text();
  expect(requests[0]?.headers).toMatchObject(feature);
  expect(JSON.stringify(requests[0]?.headers)).not.toMatch(/theirs|sk-client|cookie/);
});

it('a call reads our name of the model where a stream names it', async () => {
  const stream = [
    '{"type":"message_start","message":{"id":"msg_1","model":"claude-test-upstream",' +
      '"usage":{"input_tokens":1,"output_tokens":1}}}',
    '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}',
    '{"type":"message_stop"}',
  ]
    .map((data) => `event: ${/"(message_\w+)"/.exec(data)?.[1]}\ndata: ${data}\n\n`)
    .join('');
  const gateway = await start(buildVendor({ messages: getUrl }, stream));
  const response = await post(gateway, '/alpha/v1/messages', { max_tokens: 50, stream: true });
  expect(await response.text()).toBe(stream.replace('claude-test-upstream', 'house/model'));
});

it('a call reads our name of the model in a whole reply, of which nothing else changes', async () => {
  const gateway = await start(buildVendor({ messages: getUrl }, message));
  const response = await post(gateway, '/alpha/v1/messages', { max_tokens: 50 });
  expect(await response.text()).toBe(message.replace('claude-test-upstream', 'house/model'));
});

it('a rewritten call keeps version and betas, and reasoning that its vendor never signs', async () => {
  const gateway = await start(buildVendor({ messages: getUrl }, message));
  const unsigned = [
    { type: 'thinking', thinking: 'Hm.', signature: '' },
    { type: 'text', text: 'Yes.' },
  ];
  const history = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: unsigned },
    { role: 'user', content: 'y' },
  ];
  await (await post(gateway, '/alpha/v1/messages', { max_tokens: 50, messages: history })).text();
  // Fields of a beta are passed on, and the provider refuses them without the beta's name.
  expect(requests[0]?.headers).toMatchObject({
    'anthropic-version': '2026-10-21',
    'anthropic-beta': 'new-thing-2026-11-01',
  });
  expect(requests[0]?.json).toMatchObject({ messages: [{}, { content: [{ thinking: 'Hm.' }, {}] }, {}] });
});

it('a call has no version or beta of its client if the client speaks another protocol', async () => {
  const gateway = await start(buildVendor({ messages: getUrl }, message));
  expect((await post(gateway, '/v1/chat/completions', {})).status).toBe(200);
  expect(requests[0]?.headers).toMatchObject({
    'anthropic-version': expect.not.stringMatching(headers['anthropic-version']),
  });
  expect(requests[0]?.headers).not.toHaveProperty('anthropic-beta');
});

const counted = '{"input_tokens": 42, "context_management":null}';

it('a token count asks the provider and passes its reply on; nothing is charged', async () => {
  const gateway = await start(buildVendor({ messages: getUrl }, counted));
  const response = await post(gateway, '/alpha/v1/messages/count_tokens', {
    thinking: { type: 'adaptive' },
  });
  expect([await response.text(), response.headers.get('x-tollgate-estimate')]).toEqual([counted, null]);
  expect(requests).toMatchObject([{ url: 'https://a.example/count' }]);
  expect(requests[0]?.json).toEqual({
    model: 'claude-test-upstream',
    messages: [{ role: 'user', content: 'Ahoy there' }],
    thinking: { type: 'adaptive' },
  });
  const [end] = await gateway.ended(1);
  expect(end).toMatchObject({
    type: 'answered',
    outcome: 'completed',
    charge: { cost: 0n, basis: 'none' },
  });
});

it('a token count contains only what a count accepts if the request had to be rewritten', async () => {
  const gateway = await start(buildVendor({ messages: getUrl }, counted));
  const history = [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.' },
        { type: 'text', text: 'Yes.' },
      ],
    },
    { role: 'user', content: 'y' },
  ];
  await (
    await post(gateway, '/alpha/v1/messages/count_tokens', {
      messages: history,
      temperature: 1,
      max_tokens: 9,
      x_new: 1,
    })
  ).text();
  expect(Object.keys(z.record(z.string(), z.unknown()).parse(requests[0]?.json)).toSorted()).toEqual([
    'messages',
    'model',
    'x_new',
  ]);
});

it('a token count is sent below the path of calls if a provider has a single URL', async () => {
  const gateway = await start(buildVendor({ messages: 'https://a.example/messages?v=1' }, counted));
  const response = await post(gateway, '/alpha/v1/messages/count_tokens', {});
  expect([await response.json(), requests.map(({ url }) => url)]).toMatchObject([
    { input_tokens: 42 },
    ['https://a.example/messages/count_tokens?v=1'],
  ]);
});

it.each([404, 405, 501])(
  'a token count is an estimate, and says so, if the provider answers it with %i',
  async (status) => {
    const gateway = await start(buildVendor({ messages: 'https://a.example/messages' }, message, status));
    const body = { model: 'house/model', messages: [{ role: 'user', content: 'Ahoy there' }] };
    const response = await post(gateway, '/alpha/v1/messages/count_tokens', {});
    expect(await response.json()).toEqual({ input_tokens: Math.ceil(JSON.stringify(body).length / 4) });
    expect([
      response.headers.get('x-tollgate-estimate'),
      response.headers.get('x-tollgate-provider'),
    ]).toEqual(['true', null]);
  },
);

it('a token count also covers an input that no model has room for', async () => {
  const gateway = await start(buildVendor({ messages: getUrl }, '{"input_tokens":9000000}'));
  const response = await post(gateway, '/alpha/v1/messages/count_tokens', {
    messages: [{ role: 'user', content: 'x'.repeat(4_000_000) }],
  });
  expect([response.status, await response.json()]).toEqual([200, { input_tokens: 9_000_000 }]);
});

it("a token count is an estimate if the provider's protocol cannot count", async () => {
  const gateway = await start(buildVendor({ 'chat-completions': () => 'https://a.example/chat' }, message));
  const response = await post(gateway, '/alpha/v1/messages/count_tokens', {});
  expect([response.status, response.headers.get('x-tollgate-estimate'), requests]).toEqual([200, 'true', []]);
});

it("a token count that cannot be parsed is the provider's failure", async () => {
  const gateway = await start(buildVendor({ messages: getUrl }, '{"input_tokens":"many"}'));
  const response = await post(gateway, '/alpha/v1/messages/count_tokens', {});
  expect([response.status, await response.json()]).toMatchObject([502, { error: { type: 'api_error' } }]);
});
