/** A fallback to another model: when it happens, and what it costs. */
import { expect, it } from 'vitest';
import { postJson } from '../support/post.ts';
import { sendJson, type Conduct } from '../support/scripted-vendor.ts';
import { findProvider, ask, down, gateway, keys, openPreferred, vendor } from './preferred.ts';

openPreferred();

const overflow: Conduct = (response) =>
  sendJson(
    response,
    {
      error: {
        message: "This model's maximum context length is 1000 tokens.",
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
      },
    },
    400,
  );

const fallback = ['house/model', 'other/roomy'];

it.each([
  ['the vendor says so', 'Hi', overflow, 1],
  ['no tokeniser could fit it', 'x'.repeat(1_700_000), undefined, 0],
])(
  'a conversation too long for its model goes to the fallback with a larger context if %s',
  async (_, content, conduct, asked) => {
    if (conduct) down.conduct(conduct);
    const before = [down.bodies.length, gateway.ends.length] as const;
    const messages = [{ role: 'user', content }];
    const response = await ask({ fallback }, { model: 'house/broken', messages });
    expect(await response.json()).toMatchObject({ model: 'other/roomy' });
    expect(down.bodies.length - before[0]).toBe(asked);
    const end = (await gateway.ended(before[1] + 1))[before[1]];
    expect(end?.attempts.map(({ target, error }) => [target.model.id, error?.code])).toEqual([
      ['house/broken', 'context_length_exceeded'],
      ['other/roomy', undefined],
    ]);
  },
);

it('a conversation too long for its model is refused if no fallback has a larger context', async () => {
  down.conduct(overflow);
  const response = await ask({ fallback: 'other/claude' }, { model: 'house/broken' });
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { error: { code: 'context_length_exceeded' } },
  ]);
  expect(response.headers.get('x-should-retry')).toBe('false');
});

it('a conversation too long for its model is refused if the larger one is too dear', async () => {
  down.conduct(overflow);
  const key = await gateway.newKey({ account: 'small', credit: '0.001' });
  const response = await postJson(
    `${gateway.url}/v1/chat/completions`,
    {
      model: 'house/broken',
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 20,
      provider: { fallback: 'other/large' },
    },
    { authorization: `Bearer ${key}` },
  );
  expect([response.status, await response.json()]).toMatchObject([
    400,
    {
      error: {
        code: 'context_length_exceeded',
        message: expect.stringContaining('other/large of anthropic-like was skipped'),
      },
    },
  ]);
});

it.each([
  ['other/claude', 'anthropic-like'],
  ['other/gemini', 'google-like'],
  ['other/gpt', 'responses-like'],
])(
  'a fallback to another model crosses to the wire of %s, is charged once, and is named in the reply',
  async (fallback, provider) => {
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
  },
);

it('a fallback to another model happens in every protocol, and no provider sees the preference', async () => {
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
    const response = await postJson(gateway.url + path, body, headers);
    expect(await response.text(), path).toContain('other/claude');
    expect(response.headers.get('x-tollgate-provider'), path).toBe('anthropic-like');
  }
  await findProvider({ order: ['cheap'] });
  expect(JSON.stringify([vendor.requests, down.bodies])).not.toMatch(/fallback|"provider"/);
});

it('a fallback to another model is not taken by a call that allows none', async () => {
  const alone = { fallback: 'other/claude', allow_fallbacks: false };
  const failed = await ask(alone, { model: 'house/broken' });
  expect([failed.status, failed.headers.get('x-tollgate-provider')]).toEqual([503, null]);
  const nowhere = await ask({ ...alone, only: ['anthropic-like'] }, { model: 'house/broken' });
  expect(nowhere.status).toBe(404);
});

it('a fallback to another model resolves an alias to its model', async () => {
  expect(await (await ask(undefined, { model: 'house/fast' })).json()).toMatchObject({
    model: 'house/model',
  });
});
