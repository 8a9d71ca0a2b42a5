import { expect, it } from 'vitest';
import { z } from 'zod';
import { requests, getUrl, message, post, start, buildVendor } from './gateway-calls.ts';

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
