/** Calls and token counts through a whole gateway, whose provider is a tap on `dispatch`. */
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin, type Endpoint, type PluginFactory, type UpstreamRequest } from '../../core/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { plain } from '../support/plain-protocol.ts';
import { modelWith } from './bodies.ts';

interface Asked extends UpstreamRequest {
  readonly json: unknown;
}

let running: TestGateway | undefined;
let asked: Asked[] = [];
afterEach(async () => {
  await running?.close();
  running = undefined;
  asked = [];
});

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** A provider of one model that answers every call with this. */
function vendor(
  name: string,
  endpoints: Record<string, Endpoint>,
  reply: string,
  { status = 200, type = 'application/json' } = {},
): PluginFactory<z.ZodObject> {
  return definePlugin({
    name,
    options: z.strictObject({}),
    apply(host) {
      const provider = { name, endpoints, sign: (request: UpstreamRequest) => request };
      host.providers.add(provider);
      host.catalog.offer(provider, [
        modelWith({ id: 'house/model', free: undefined, price: { input: '1', output: '2' } }),
      ]);
      host.hooks.authenticate.tapPromise(name, async () => ({ kind: 'user', account: 'a', key: 'k' }));
      host.hooks.dispatch.tapPromise(name, async (request, exchange) => {
        if (exchange.attempt.target.provider !== provider) return undefined;
        asked.push({ ...request, json: JSON.parse(String(request.body)) });
        exchange.attempt.sent = true;
        return { status, headers: { 'content-type': type }, body: once(reply) };
      });
    },
  });
}

const counting: Endpoint = (_target, operation) =>
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

async function start(...plugins: ReturnType<PluginFactory<z.ZodObject>>[]): Promise<TestGateway> {
  running = await startGateway({ plugins: [messages(), chatCompletions(), plain(), ...plugins] });
  return running;
}

function post({ url }: TestGateway, path: string, body: object): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      model: 'house/model',
      messages: [{ role: 'user', content: 'Ahoy there' }],
      ...body,
    }),
  });
}

describe('a messages call through the gateway', () => {
  it('reaches its provider byte for byte with version and betas; its reply has our model name', async () => {
    const gateway = await start(vendor('house', { messages: counting }, message)());
    const body = { max_tokens: 50, context_management: { edits: [] }, x_new: 1 };
    const response = await post(gateway, '/alpha/v1/messages?beta=true', body);
    expect(await response.text()).toBe(message.replace('claude-test-upstream', 'house/model'));
    expect(response.headers.get('request-id')).toBe(response.headers.get('x-request-id'));
    expect(asked).toMatchObject([
      { url: 'https://a.example/messages', json: { ...body, model: 'claude-test-upstream' } },
    ]);
    expect(asked[0]?.headers).toMatchObject({
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'new-thing-2026-11-01',
    });
    expect(JSON.stringify(asked[0]?.headers)).not.toMatch(/sk-client|cookie/);
    const [end] = await gateway.ended(1);
    expect(end).toMatchObject({
      type: 'answered',
      outcome: 'completed',
      charge: { usage: { input: 10, output: 2 }, cost: 14_000n },
    });
  });

  it('passes on every header of its provider, except those about our credential or account', async () => {
    const gateway = await start(vendor('house', { messages: counting }, message)());
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
    const body = JSON.stringify({
      model: 'house/model',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'Ahoy there' }],
    });
    await (
      await fetch(`${gateway.url}/alpha/v1/messages`, {
        method: 'POST',
        headers: { ...headers, ...feature, ...account },
        body,
      })
    ).text();
    expect(asked[0]?.headers).toMatchObject(feature);
    expect(JSON.stringify(asked[0]?.headers)).not.toMatch(/theirs|sk-client|cookie/);
  });

  it('renames the model where a stream names it', async () => {
    const stream = [
      '{"type":"message_start","message":{"id":"msg_1","model":"claude-test-upstream",' +
        '"usage":{"input_tokens":1,"output_tokens":1}}}',
      '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}',
      '{"type":"message_stop"}',
    ]
      .map((data) => `event: ${/"(message_\w+)"/.exec(data)?.[1]}\ndata: ${data}\n\n`)
      .join('');
    const gateway = await start(
      vendor('house', { messages: counting }, stream, { type: 'text/event-stream' })(),
    );
    const response = await post(gateway, '/alpha/v1/messages', { max_tokens: 50, stream: true });
    expect(await response.text()).toBe(stream.replace('claude-test-upstream', 'house/model'));
  });

  it('leaves the verbatim lane if it contains reasoning its provider would refuse', async () => {
    const gateway = await start(vendor('house', { messages: counting }, message)());
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
    expect(asked[0]?.headers).toMatchObject({
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'new-thing-2026-11-01',
    });
  });

  it("without its version is refused in the protocol's format, with the id of the call", async () => {
    const gateway = await start(vendor('house', { messages: counting }, message)());
    const response = await fetch(`${gateway.url}/alpha/v1/messages`, { method: 'POST', body: '{}' });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.stringContaining('anthropic-version') },
      request_id: response.headers.get('x-request-id'),
    });
  });

  it('reaches a provider of another protocol', async () => {
    const completion = {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Ahoy' }, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: 12,
        completion_tokens: 3,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 4 },
      },
    };
    const gateway = await start(
      vendor('house', { 'chat-completions': 'https://a.example/chat' }, JSON.stringify(completion))(),
    );
    const response = await post(gateway, '/alpha/v1/messages', {
      max_tokens: 50,
      system: 'Be brief.',
      top_k: 3,
    });
    expect(await response.json()).toMatchObject({
      type: 'message',
      model: 'house/model',
      content: [{ type: 'text', text: 'Ahoy' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 8, cache_read_input_tokens: 4, output_tokens: 3 },
    });
    expect(response.headers.get('x-tollgate-dropped')).toBe('top_k');
    expect(asked[0]?.headers).not.toHaveProperty('anthropic-beta');
  });

  it('carries no version or beta of its client if the client speaks another protocol', async () => {
    const gateway = await start(vendor('house', { messages: counting }, message)());
    expect((await post(gateway, '/v1/chat/completions', {})).status).toBe(200);
    expect(asked[0]?.headers).toMatchObject({
      'anthropic-version': expect.not.stringMatching(headers['anthropic-version']),
    });
    expect(asked[0]?.headers).not.toHaveProperty('anthropic-beta');
  });
});

describe('a token count', () => {
  const counted = '{"input_tokens": 42, "context_management":null}';

  it('asks the provider and passes its reply on; nothing is charged', async () => {
    const gateway = await start(vendor('house', { messages: counting }, counted)());
    const response = await post(gateway, '/alpha/v1/messages/count_tokens', {
      thinking: { type: 'adaptive' },
    });
    expect([await response.text(), response.headers.get('x-tollgate-estimate')]).toEqual([counted, null]);
    expect(asked).toMatchObject([{ url: 'https://a.example/count' }]);
    expect(asked[0]?.json).toEqual({
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

  it('contains only what a count accepts if the request had to be rewritten', async () => {
    const gateway = await start(vendor('house', { messages: counting }, counted)());
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
    expect(Object.keys(z.record(z.string(), z.unknown()).parse(asked[0]?.json)).toSorted()).toEqual([
      'messages',
      'model',
      'x_new',
    ]);
  });

  it('is sent below the path of calls if a provider has a single URL', async () => {
    const gateway = await start(vendor('house', { messages: 'https://a.example/messages?v=1' }, counted)());
    const response = await post(gateway, '/alpha/v1/messages/count_tokens', {});
    expect([await response.json(), asked.map(({ url }) => url)]).toMatchObject([
      { input_tokens: 42 },
      ['https://a.example/messages/count_tokens?v=1'],
    ]);
  });

  it.each([404, 405, 501])(
    'is an estimate, and says so, if the provider answers it with %i',
    async (status) => {
      const gateway = await start(
        vendor('house', { messages: 'https://a.example/messages' }, message, { status })(),
      );
      const body = { model: 'house/model', messages: [{ role: 'user', content: 'Ahoy there' }] };
      const response = await post(gateway, '/alpha/v1/messages/count_tokens', {});
      expect(await response.json()).toEqual({ input_tokens: Math.ceil(JSON.stringify(body).length / 4) });
      expect([
        response.headers.get('x-tollgate-estimate'),
        response.headers.get('x-tollgate-provider'),
      ]).toEqual(['true', null]);
    },
  );

  it('also covers an input that no model has room for', async () => {
    const gateway = await start(vendor('house', { messages: counting }, '{"input_tokens":9000000}')());
    const response = await post(gateway, '/alpha/v1/messages/count_tokens', {
      messages: [{ role: 'user', content: 'x'.repeat(4_000_000) }],
    });
    expect([response.status, await response.json()]).toEqual([200, { input_tokens: 9_000_000 }]);
  });

  it("is an estimate if the provider's protocol cannot count", async () => {
    const gateway = await start(
      vendor('house', { 'chat-completions': () => 'https://a.example/chat' }, message)(),
    );
    const response = await post(gateway, '/alpha/v1/messages/count_tokens', {});
    expect([response.status, response.headers.get('x-tollgate-estimate'), asked]).toEqual([200, 'true', []]);
  });

  it("that cannot be parsed is the provider's failure", async () => {
    const gateway = await start(vendor('house', { messages: counting }, '{"input_tokens":"many"}')());
    const response = await post(gateway, '/alpha/v1/messages/count_tokens', {});
    expect([response.status, await response.json()]).toMatchObject([502, { error: { type: 'api_error' } }]);
  });
});
