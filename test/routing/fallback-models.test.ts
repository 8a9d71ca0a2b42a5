/** A fallback to another model: when it happens, and what it costs. */
import { describe, expect, it } from 'vitest';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { startGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { acceptAnyKey, station } from '../support/station.ts';
import { findProvider, ask, down, gateway, keys, openPreferred, vendor } from './preferred.ts';

openPreferred();

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
      const response = await postJson(gateway.url + path, body, headers);
      expect(await response.text(), path).toContain('other/claude');
      expect(response.headers.get('x-tollgate-provider'), path).toBe('anthropic-like');
    }
    await findProvider({ order: ['cheap'] });
    expect(JSON.stringify([vendor.requests, down.bodies])).not.toMatch(/fallback|"provider"/);
  });

  it('is skipped if it could cost more than was reserved, and the lookup reports it', async () => {
    const response = await ask({ fallback: ['other/dear', 'other/claude'] }, { model: 'house/broken' });
    expect(await response.json()).toMatchObject({ model: 'other/claude' });
    const answer: unknown = await (
      await fetch(`${gateway.url}/v1/calls/${response.headers.get('x-request-id')}`, {
        headers: { authorization: `Bearer ${keys[0]}` },
      })
    ).json();
    expect(answer).toMatchObject({
      not_granted: [{ provider: 'anthropic-like', model: 'other/dear' }],
      attempts: [{ provider: 'down' }, { model: 'other/claude' }],
    });
  });

  it('reaches a costlier target if the highest cost is reserved, and charges its real cost', async () => {
    const endpoints = { messages: `${vendor.origin}/v1/messages` };
    const generous = await startGateway({
      plugins: [
        acceptAnyKey(),
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
    const response = await postJson(`${generous.url}/v1/chat/completions`, body);
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
