/**
 * Claude on Bedrock through a whole gateway, before a fake that checks every signature and frames every
 * stream.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { parseUsd } from '../../core/index.ts';
import { amazonBedrock } from '../../plugins/providers/amazon-bedrock.ts';
import { keys, startBedrock, type Bedrock } from '../support/cloud/bedrock.ts';
import { openCloudHouse, type CloudHouse } from '../support/cloud/house.ts';
import { hostWith } from '../support/host.ts';
import { refusals } from '../support/vendor/index.ts';

const model = 'anthropic/claude-haiku-4-5';
const path = '/model/global.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke';
const hello = [{ role: 'user', content: 'Hello!' }];
const credentials = { accessKeyId: keys.id, secretAccessKey: keys.secret };

let cloud: Bedrock;
let house: CloudHouse;
beforeAll(async () => {
  cloud = await startBedrock();
  house = await openCloudHouse(amazonBedrock({ region: keys.region, baseUrl: cloud.origin, credentials }));
});
afterEach(() => cloud.vendor.unscript());
afterAll(async () => {
  await house.close();
  await cloud.close();
});

/** What the last call ended with, once it has. */
async function after<Result>(act: () => Promise<Result>): Promise<Result> {
  const count = house.gateway.ends.length;
  const result = await act();
  await house.gateway.ended(count + 1);
  return result;
}

const tools = [
  {
    name: 'find',
    description: 'Finds.',
    schema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
  },
];

describe.each(['messages', 'chat-completions', 'responses', 'generate-content'] as const)(
  'a client of %s',
  (wire) => {
    it.each(['whole', 'streamed'] as const)(
      'has text, calls tools and continues with their results, %s',
      async (form) => {
        cloud.vendor.script(
          '*',
          { text: 'Let me look.', toolCalls: [{ name: 'find', arguments: '{"place":"Ålesund"}' }] },
          { text: 'It is there.' },
        );
        const talk = house.clients[wire]({ text: 'Where is it?', system: 'Be brief.', tools });
        expect(await talk.ask(model, form)).toMatchObject({
          text: 'Let me look.',
          calls: [{ name: 'find', arguments: { place: 'Ålesund' } }],
        });
        talk.answer(['by the sea']);
        expect(await talk.ask(model, form)).toMatchObject({ text: 'It is there.', calls: [] });
        expect(cloud.arrived.slice(-2).map((each) => each.path)).toEqual(
          form === 'whole' ? [path, path] : [`${path}-with-response-stream`, `${path}-with-response-stream`],
        );
      },
    );

    it.each(['whole', 'streamed'] as const)('pays exactly what the vendor counted, %s', async (form) => {
      await after(() => house.clients[wire]({ text: 'Hello!' }).ask(model, form));
      const { billed } = cloud.vendor.journal.at(-1) ?? {};
      expect(house.gateway.ends.at(-1)).toMatchObject({
        type: 'answered',
        outcome: 'completed',
        charge: { basis: 'usage', usage: { input: billed?.prompt, output: billed?.completion } },
      });
      expect(house.gateway.ends.at(-1)).toMatchObject({
        charge: { cost: BigInt((billed?.prompt ?? 0) * 1000 + (billed?.completion ?? 0) * 5000) },
      });
    });
  },
);

describe('a messages client', () => {
  it('has its body passed byte for byte, except for what the cloud requires', async () => {
    const text =
      `{"model":"${model}" , "max_tokens": 50,"stream":false,  "temperature":1.0, ` +
      '"messages":[{"role":"user","content":"H\\u0069"}]}';
    expect((await house.post('/alpha/v1/messages', text)).status).toBe(200);
    expect(cloud.arrived.at(-1)?.body.toString()).toBe(
      '{"anthropic_version":"bedrock-2023-05-31","max_tokens": ' +
        '50,  "temperature":1.0, "messages":[{"role":"user","content":"H\\u0069"}]}',
    );
  });

  it('reads the very events that stood in the frames, without what the cloud measured', async () => {
    const response = await house.post('/alpha/v1/messages', {
      model,
      max_tokens: 50,
      stream: true,
      messages: hello,
    });
    const text = await response.text();
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(text).toContain(`"model":"${model}"`);
    expect(text).toMatch(/event: message_stop\ndata: \{"type":"message_stop" *\}\n\n$/);
  });

  it('has its betas asked for in the body', async () => {
    await house.post(
      '/alpha/v1/messages',
      { model, max_tokens: 50, messages: hello },
      { headers: { 'anthropic-beta': 'one-2026-01-01, two-2026-01-01' } },
    );
    expect(JSON.parse(cloud.arrived.at(-1)?.body.toString() ?? '')).toMatchObject({
      anthropic_beta: ['one-2026-01-01', 'two-2026-01-01'],
    });
  });

  it('has its tokens counted by the model itself', async () => {
    const response = await house.post('/alpha/v1/messages/count_tokens', { model, messages: hello });
    expect([response.status, response.headers.get('x-tollgate-estimate')]).toEqual([200, null]);
    expect(
      z.strictObject({ input_tokens: z.int().positive() }).safeParse(await response.json()).success,
    ).toBe(true);
    expect(cloud.arrived.at(-1)?.path).toBe('/model/anthropic.claude-haiku-4-5-20251001-v1%3A0/count-tokens');
  });

  it('has an estimate if the provider cannot count for the model', async () => {
    const response = await house.post('/alpha/v1/messages/count_tokens', {
      model: 'anthropic/claude-opus-4-8',
      messages: hello,
    });
    expect([response.status, response.headers.get('x-tollgate-estimate')]).toEqual([200, 'true']);
  });
});

describe('what goes wrong', () => {
  it.each([
    ['rateLimited', 429, 'rate_limit_error'],
    ['overloaded', 529, 'overloaded_error'],
    ['broken', 502, 'api_error'],
    ['forbidden', 502, 'api_error'],
  ] as const)('%s reaches the client as %i %s', async (kind, status, type) => {
    cloud.vendor.script('*', { reply: refusals.messages[kind] });
    const response = await house.post('/alpha/v1/messages', { model, max_tokens: 50, messages: hello });
    expect([response.status, await response.json()]).toMatchObject([status, { error: { type } }]);
  });

  it("is the caller's own fault in the vendor's words", async () => {
    const response = await house.post('/alpha/v1/messages', { model, max_tokens: 50, messages: [] });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { type: 'invalid_request_error', message: expect.stringContaining('messages') } },
    ]);
  });

  it.each([
    'Invocation of model ID anthropic.claude-haiku-4-5 with on-demand throughput isn’t supported. ' +
      'Retry your request with the ID or ARN of an inference profile.',
    'The provided model identifier is invalid.',
    "You don't have access to the model with the specified model ID.",
    'Operation not allowed',
    'This model version has reached the end of its life.',
  ])("is our own set-up, and no mistake of the caller's: %s", async (message) => {
    cloud.vendor.script('*', {
      reply: { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message } } },
    });
    const response = await house.post('/alpha/v1/messages', { model, max_tokens: 50, messages: hello });
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { error: { type: 'not_found_error' } },
    ]);
  });

  it('in a stream that breaks off is an error and never looks complete', async () => {
    cloud.vendor.script('*', { text: ['a', 'b', 'c'], cut: { how: 'end', events: 4 } });
    const text = await (
      await house.post('/alpha/v1/messages', { model, max_tokens: 50, stream: true, messages: hello })
    ).text();
    expect(text).toContain('event: error\n');
    expect(text).not.toContain('message_stop');
  });

  it.each([
    [
      'messages',
      '/alpha/v1/messages',
      { max_tokens: 50 },
      /event: error\ndata: \{"type":"error".*broke off its reply/,
      /message_stop/,
    ],
    [
      'chat-completions',
      '/v1/chat/completions',
      {},
      /data: \{"error":\{"message":"The provider broke off its reply/,
      /\[DONE\]/,
    ],
  ] as const)(
    'as an exception within a stream is an error of %s, and what was delivered is paid',
    async (_, path, more, told, complete) => {
      cloud.vendor.script('*', { text: ['a', 'b', 'c'], fail: { after: 5 } });
      const text = await after(async () =>
        (await house.post(path, { model, ...more, stream: true, messages: hello })).text(),
      );
      expect(text).toMatch(told);
      expect(text).not.toMatch(complete);
      expect(house.gateway.ends.at(-1)).toMatchObject({ type: 'answered', outcome: 'cut' });
    },
  );

  it('as an exception before anything was said has its own status', async () => {
    cloud.vendor.script('*', { text: 'a', fail: { after: 0 } });
    const response = await house.post('/alpha/v1/messages', {
      model,
      max_tokens: 50,
      stream: true,
      messages: hello,
    });
    expect([response.status, await response.json()]).toMatchObject([
      502,
      { type: 'error', error: { type: 'api_error' } },
    ]);
  });

  it('cancels the upstream request when the client disconnects, and charges what was delivered', async () => {
    cloud.vendor.script('*', { text: ['a ', 'b '], endless: true, delayEvents: 5 });
    const leaving = new AbortController();
    await after(async () => {
      const response = await house.post(
        '/alpha/v1/messages',
        { model, max_tokens: 5000, stream: true, messages: hello },
        { signal: leaving.signal },
      );
      await response.body?.getReader().read();
      leaving.abort();
    });
    expect(house.gateway.ends.at(-1)).toMatchObject({ type: 'answered', outcome: 'aborted' });
    await vi.waitFor(() => expect(cloud.vendor.journal.at(-1)?.end).toBe('closed-by-peer'), 120_000);
  });

  it('reveals nothing of the credential, even if the provider does', async () => {
    const wrong = await openCloudHouse(
      amazonBedrock({ region: 'us-east-1', baseUrl: cloud.origin, credentials }),
    );
    const response = await wrong.post('/alpha/v1/messages', { model, max_tokens: 50, messages: hello });
    expect(response.status).toBe(502);
    expect(await response.text()).not.toContain(keys.secret);
    await wrong.close();
    expect([...house.gateway.log, ...wrong.gateway.log].join('\n')).not.toMatch(
      /AWS4-HMAC-SHA256|Signature=/,
    );
  });
});

describe('credentials', () => {
  it('may be an API key, shown instead of a signature', async () => {
    const other = await openCloudHouse(
      amazonBedrock({ region: keys.region, baseUrl: cloud.origin, apiKey: 'bedrock-api-key' }),
    );
    expect((await other.post('/alpha/v1/messages', { model, max_tokens: 50, messages: hello })).status).toBe(
      200,
    );
    await other.close();
  });

  it('that are temporary sign with their token, are fetched once, and again before they expire', async () => {
    let asked = 0;
    let lapses = Date.now() + 3_600_000;
    const provide = async () => ({
      ...credentials,
      sessionToken: `session-${(asked += 1)}`,
      expiration: new Date(lapses),
    });
    const other = await openCloudHouse(
      amazonBedrock({ region: keys.region, baseUrl: cloud.origin, credentials: provide }),
    );
    const call = async (): Promise<unknown> => {
      expect(
        (await other.post('/alpha/v1/messages', { model, max_tokens: 50, messages: hello })).status,
      ).toBe(200);
      return cloud.arrived.at(-1)?.headers['x-amz-security-token'];
    };
    lapses = Date.now() + 60_000;
    expect([await call(), asked]).toEqual(['session-1', 1]);
    expect([await call(), asked]).toEqual(['session-1', 2]);
    expect(await call()).toBe('session-2');
    await other.close();
  });

  it("that cannot be obtained are the provider's failure, without the library's error text", async () => {
    const fail = async (): Promise<never> => {
      throw Object.assign(new Error(`the profile holds ${keys.secret}`), {
        name: 'CredentialsProviderError',
      });
    };
    const other = await openCloudHouse(
      amazonBedrock({ region: keys.region, baseUrl: cloud.origin, credentials: fail }),
    );
    const response = await other.post('/alpha/v1/messages', { model, max_tokens: 50, messages: hello });
    expect([response.status, await response.json()]).toMatchObject([
      502,
      { error: { message: expect.stringContaining('could not sign in to the provider "amazon-bedrock"') } },
    ]);
    await other.close();
    expect(other.gateway.log.join('\n')).not.toContain(keys.secret);
  });
});

describe('the switch', () => {
  const variables = [
    'AWS_REGION',
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
    'AWS_BEARER_TOKEN_BEDROCK',
    'AWS_ENDPOINT_URL_BEDROCK_RUNTIME',
  ];
  const isOn = (set: Record<string, string>): boolean => {
    for (const name of variables) vi.stubEnv(name, set[name] ?? '');
    const on = hostWith([amazonBedrock()]).providers.find('amazon-bedrock') !== undefined;
    vi.unstubAllEnvs();
    return on;
  };

  it('wants a region and a credential', () => {
    const pair = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' };
    expect([
      isOn({}),
      isOn({ AWS_REGION: 'eu-west-1' }),
      isOn(pair),
      isOn({ AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'a' }),
    ]).toEqual([false, false, false, false]);
    expect([
      isOn({ AWS_REGION: 'eu-west-1', ...pair }),
      isOn({ AWS_REGION: 'eu-west-1', AWS_BEARER_TOKEN_BEDROCK: 'c' }),
    ]).toEqual([true, true]);
  });

  it.each([
    ['global', 'global.openai.gpt-6-sol', '2'],
    ['us', 'us.openai.gpt-6-sol', '2.2'],
    ['eu', undefined, undefined],
    ['region', undefined, undefined],
  ] as const)(
    'offers the profile %s of a new model of OpenAI, which no region has by its plain name',
    (profile, upstream, input) => {
      const { catalog } = hostWith([amazonBedrock({ region: 'eu-west-1', apiKey: 'k', profile })]);
      const [sol, ...others] = catalog.find('openai/gpt-6-sol');
      expect([sol?.model.upstream, sol?.price.input, others]).toEqual([
        upstream,
        input && parseUsd(input),
        [],
      ]);
      expect(catalog.find('openai/gpt-oss-120b').map(({ model }) => model.upstream)).toEqual([
        'openai.gpt-oss-120b-1:0',
      ]);
    },
  );

  it.each([
    ['global', 'global.', '5'],
    ['eu', 'eu.', '5.5'],
    ['in', 'in.', '5.5'],
    ['region', '', '5.5'],
  ] as const)('offers the models of the profile %s, at its prices', (profile, prefix, input) => {
    const { catalog } = hostWith([amazonBedrock({ region: 'eu-west-1', apiKey: 'k', profile })]);
    const [opus] = catalog.find(profile === 'in' ? 'anthropic/claude-opus-5' : 'anthropic/claude-opus-4-8');
    expect(opus?.model.upstream).toMatch(new RegExp(`^${prefix}anthropic\\.claude-opus-`));
    expect(opus?.price.input).toBe(parseUsd(input));
  });
});
