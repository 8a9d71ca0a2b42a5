/** Gemini and Claude on Vertex through a whole gateway, before a fake that checks who signs in and how. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { getRate } from '../../core/index.ts';
import { googleVertex } from '../../plugins/providers/google-vertex.ts';
import { startSignIn, type SignIn } from '../support/cloud/google-sign-in.ts';
import { expectToolLoop, openCloudHarness, type CloudHarness } from '../support/cloud/harness.ts';
import { startVertex, type Vertex } from '../support/cloud/vertex.ts';
import { makeFolder } from '../support/folder.ts';
import { createHost } from '../support/host.ts';
import { plainProtocol } from '../support/plain-protocol.ts';
import { refusals } from '../support/vendor/index.ts';

const models = { claude: 'anthropic/claude-haiku-4-5', gemini: 'google/gemini-2.5-flash' } as const;
const prices = { claude: [1100, 5500], gemini: [300, 2500] } as const;
const publishers = '/v1/projects/house/locations/europe-west1/publishers';
const hello = [{ role: 'user', content: 'Hello!' }];
const gemini = { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] };
const geminiPath = '/beta/v1beta/models/google/gemini-2.5-flash';
let signIn: SignIn;
let cloud: Vertex;
let harness: CloudHarness;
const open = (): Promise<CloudHarness> =>
  openCloudHarness(
    googleVertex({
      project: 'house',
      location: 'europe-west1',
      baseUrl: cloud.origin,
      credentials: signIn.account,
    }),
  );
beforeAll(async () => {
  signIn = await startSignIn();
  cloud = await startVertex(() => signIn.token);
  harness = await open();
});
afterEach(() => {
  for (const vendor of [cloud.claude, cloud.gemini]) vendor.unscript();
});

describe.each(['claude', 'gemini'] as const)('%s', (which) => {
  describe.each(['messages', 'chat-completions', 'responses', 'generate-content'] as const)(
    'for a client of %s',
    (wire) => {
      it.each(['whole', 'streamed'] as const)(
        'says text, calls tools and continues with their results, %s',
        async (form) => {
          await expectToolLoop(harness.clients[wire], cloud[which], models[which], form);
        },
      );

      it.each(['whole', 'streamed'] as const)('costs exactly what the vendor counted, %s', async (form) => {
        const count = harness.gateway.ends.length;
        await harness.clients[wire]({ text: 'Hello!' }).ask(models[which], form);
        await harness.gateway.ended(count + 1);
        const { prompt = 0, completion = 0 } = cloud[which].journal.at(-1)?.billed ?? {};
        const [input, output] = prices[which];
        expect(harness.gateway.ends.at(-1)).toMatchObject({
          outcome: 'completed',
          charge: { basis: 'usage', cost: BigInt(prompt * input + completion * output) },
        });
        expect(prompt * completion).toBeGreaterThan(0);
      });
    },
  );

  it('has its request cancelled when the client disconnects', async () => {
    cloud[which].script('*', { text: ['a ', 'b '], endless: true, delayEvents: 5 });
    const controller = new AbortController();
    const count = harness.gateway.ends.length;
    const response = await harness.post(
      '/v1/chat/completions',
      { model: models[which], stream: true, messages: hello },
      { signal: controller.signal },
    );
    await response.body?.getReader().read();
    controller.abort();
    await harness.gateway.ended(count + 1);
    expect(harness.gateway.ends.at(-1)).toMatchObject({ type: 'answered', outcome: 'aborted' });
    await vi.waitFor(() => expect(cloud[which].journal.at(-1)?.end).toBe('closed-by-peer'), 120_000);
  });
});

describe('the wire', () => {
  it('passes messages byte for byte, except for what the cloud requires', async () => {
    const text =
      `{"model":"${models.claude}" , "max_tokens": 50,  "temperature":1.0, "messages":[{"role":"user",` +
      '"content":"H\\u0069"}]}';
    expect((await harness.post('/alpha/v1/messages', text)).status).toBe(200);
    const { path, body } = cloud.arrived.at(-1) ?? {};
    expect(path).toBe(`${publishers}/anthropic/models/claude-haiku-4-5@20251001:rawPredict`);
    expect(body?.toString()).toBe(
      '{"anthropic_version":"vertex-2023-10-16","max_tokens": ' +
        '50,  "temperature":1.0, "messages":[{"role":"user","content":"H\\u0069"}]}',
    );
  });

  it('passes generate-content byte for byte', async () => {
    const text =
      '{ "contents":[{"role":"user", "parts":[{"text":"H\\u0069"}]}], ' +
      '"generationConfig":{"temperature":1.0} }';
    expect((await harness.post(`${geminiPath}:generateContent`, text)).status).toBe(200);
    expect([cloud.arrived.at(-1)?.path, cloud.arrived.at(-1)?.body.toString()]).toEqual([
      `${publishers}/google/models/gemini-2.5-flash:generateContent`,
      text,
    ]);
  });

  it.each([
    [
      'messages',
      '/alpha/v1/messages/count_tokens',
      { model: models.claude, messages: hello },
      `${publishers}/anthropic/models/count-tokens:rawPredict`,
    ],
    [
      'a flat generate-content',
      `${geminiPath}:countTokens`,
      gemini,
      `${publishers}/google/models/gemini-2.5-flash:countTokens`,
    ],
    [
      'a whole generate-content',
      `${geminiPath}:countTokens`,
      { generateContentRequest: { model: 'models/google/gemini-2.5-flash', ...gemini, safetySettings: [] } },
      `${publishers}/google/models/gemini-2.5-flash:countTokens`,
    ],
    [
      'responses',
      '/v1/responses/input_tokens',
      { model: models.gemini, input: 'Hello!' },
      `${publishers}/google/models/gemini-2.5-flash:countTokens`,
    ],
  ])('counts the tokens of %s by the vendor', async (_, path, body, asked) => {
    const response = await harness.post(path, body);
    expect([response.status, response.headers.get('x-tollgate-estimate')]).toEqual([200, null]);
    expect(JSON.stringify(await response.json())).toMatch(/okens":[1-9]/);
    expect(cloud.arrived.at(-1)?.path).toBe(asked);
  });

  it.each([
    ['claude', 'rateLimited', 429],
    ['claude', 'overloaded', 529],
    ['claude', 'forbidden', 502],
    ['gemini', 'rateLimited', 429],
    ['gemini', 'overloaded', 529],
  ] as const)('reports %s, %s, as %i', async (which, kind, status) => {
    cloud[which].script('*', {
      reply:
        which === 'claude'
          ? refusals.messages[kind]
          : {
              status: status === 529 ? 503 : status,
              body: { error: { code: status, message: 'No.', status: 'RESOURCE_EXHAUSTED' } },
            },
    });
    const response = await harness.post('/alpha/v1/messages', {
      model: models[which],
      max_tokens: 50,
      messages: hello,
    });
    expect([response.status, await response.json()]).toMatchObject([status, { type: 'error' }]);
  });
});

describe('a token', () => {
  const call = async (from: CloudHarness): Promise<number> =>
    (await from.post(`${geminiPath}:generateContent`, gemini)).status;

  it('is fetched once for all calls that need one, and kept', async () => {
    const other = await open();
    const before = signIn.given;
    expect(await Promise.all(Array.from({ length: 20 }, () => call(other)))).toEqual(Array(20).fill(200));
    expect([await call(other), signIn.given - before]).toEqual([200, 1]);
    await other.close();
  });

  it('is renewed before it expires, and the old one serves while renewal fails', async () => {
    signIn.lifetime = 120;
    const other = await open();
    const before = signIn.given;
    expect(await call(other)).toBe(200);
    signIn.closed = true;
    expect(await call(other)).toBe(200);
    signIn.closed = false;
    expect(signIn.given - before).toBe(1);
    await other.close();
    signIn.lifetime = 3600;
  });

  it('that the vendor refuses is not shown again', async () => {
    const other = await open();
    expect(await call(other)).toBe(200);
    const third = await open();
    expect(await call(third)).toBe(200);
    // A newer token was given out: the fake takes no other.
    expect([await call(other), await call(other)]).toEqual([503, 200]);
    await Promise.all([other.close(), third.close()]);
  });

  it("that cannot be obtained is the provider's failure, and the error hides key and assertion", async () => {
    const other = await open();
    signIn.closed = true;
    const response = await other.post('/alpha/v1/messages', {
      model: models.claude,
      max_tokens: 50,
      messages: hello,
    });
    signIn.closed = false;
    const text = await response.text();
    expect([response.status, text]).toEqual([
      502,
      expect.stringContaining('could not sign in to the provider \\"google-vertex\\"'),
    ]);
    await other.gateway.ended(1);
    await other.close();
    for (const line of [text, ...other.gateway.log]) expect(line).not.toMatch(/PRIVATE KEY|eyJ|ya29/);
  });
});

describe('without a key in the configuration', () => {
  it('the file signs in that GOOGLE_APPLICATION_CREDENTIALS names', async () => {
    const folder = makeFolder();
    writeFileSync(join(folder, 'key.json'), JSON.stringify(signIn.account));
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', join(folder, 'key.json'));
    const other = await openCloudHarness(
      googleVertex({ project: 'house', location: 'europe-west1', baseUrl: cloud.origin }),
    );
    const before = signIn.given;
    expect((await other.post(`${geminiPath}:generateContent`, gemini)).status).toBe(200);
    expect(signIn.given).toBe(before + 1);
    await other.close();
    vi.unstubAllEnvs();
  });
});

describe('the switch', () => {
  const findPlace = (set: Record<string, string>): string | undefined => {
    for (const name of ['GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION', 'GOOGLE_VERTEX_BASE_URL'])
      vi.stubEnv(name, set[name] ?? '');
    const host = createHost([googleVertex()]);
    vi.unstubAllEnvs();
    const [offer] = host.catalog.find(models.gemini);
    const endpoint = offer?.provider.endpoints['generate-content'];
    return offer && typeof endpoint === 'function'
      ? new URL(endpoint({ ...offer, protocol: plainProtocol }, 'generate', false)).host
      : undefined;
  };

  it('wants a project and a location', () => {
    expect([
      findPlace({}),
      findPlace({ GOOGLE_CLOUD_PROJECT: 'p' }),
      findPlace({ GOOGLE_CLOUD_LOCATION: 'global' }),
    ]).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    ['global', 'aiplatform.googleapis.com'],
    ['eu', 'aiplatform.eu.rep.googleapis.com'],
    ['europe-west1', 'europe-west1-aiplatform.googleapis.com'],
  ])('asks in %s at %s', (location, host) => {
    expect(findPlace({ GOOGLE_CLOUD_PROJECT: 'p', GOOGLE_CLOUD_LOCATION: location })).toBe(host);
  });

  it.each([
    ['global', ['0.75', '2', '0.3', '0.09']],
    ['eu', ['0.825', '2.2', '0.3', '0.09']],
  ])('in %s, costs a tenth more only for Gemini since 3 and Claude since 4.5', (location, inputs) => {
    const { catalog } = createHost([googleVertex({ project: 'p', location })]);
    expect(
      ['google/gemini-3.7-flash', 'anthropic/claude-sonnet-5-5', models.gemini, 'openai/gpt-oss-120b'].map(
        (id) => catalog.find(id).map(({ price }) => getRate(price, 'input')),
      ),
    ).toEqual(inputs.map((input) => [input]));
  });
});
