/**
 * Azure OpenAI through a whole gateway: both kinds of addresses, key and token, before a fake that knows no
 * others; and keys, time and errors there.
 */
import { afterEach, beforeAll, vi, describe, expect, it } from 'vitest';
import { azure } from '../../plugins/providers/azure.ts';
import { health } from '../../plugins/routing/health.ts';
import { keys } from '../../plugins/routing/keys.ts';
import { key, startAzure, type Azure, otherKey } from '../support/cloud/azure.ts';
import { openCloudHarness, type CloudHarness, expectToolLoop } from '../support/cloud/harness.ts';
import { createHost } from '../support/host.ts';
import { pixel } from '../support/vendor/images.ts';

const model = 'openai/gpt-4o-mini';
const hello = [{ role: 'user', content: 'Hello!' }];
let cloud: Azure;
let harness: CloudHarness;
let old: CloudHarness;

function openAzure(): void {
  beforeAll(async () => {
    cloud = await startAzure();
    harness = await openCloudHarness(azure({ baseUrl: cloud.origin, apiKey: key }));
    old = await openCloudHarness(
      azure({
        baseUrl: cloud.origin,
        apiKey: key,
        apiVersion: '2025-04-01-preview',
        deployments: { 'gpt-4o-mini': 'our-mini', 'gpt-image-1': 'gpt-image-1' },
      }),
    );
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    cloud.vendor.unscript();
    cloud.painter.unscript();
    cloud.full.clear();
  });
}

openAzure();

describe.each(['messages', 'chat-completions', 'responses', 'generate-content'] as const)(
  'a client of %s',
  (wire) => {
    it.each(['whole', 'streamed'] as const)(
      'has text, calls tools and continues with their results, %s',
      async (form) => {
        for (const each of [harness, old]) {
          await expectToolLoop(each.clients[wire], cloud.vendor, model, form);
        }
      },
    );

    it.each(['whole', 'streamed'] as const)('pays exactly what the vendor counted, %s', async (form) => {
      const count = harness.gateway.ends.length;
      await harness.clients[wire]({ text: 'Hello!' }).ask(model, form);
      await harness.gateway.ended(count + 1);
      const { prompt = 0, completion = 0 } = cloud.vendor.journal.at(-1)?.billed ?? {};
      expect(harness.gateway.ends.at(-1)).toMatchObject({
        outcome: 'completed',
        charge: { basis: 'usage', cost: BigInt(prompt * 150 + completion * 600) },
      });
      expect(prompt * completion).toBeGreaterThan(0);
    });
  },
);

describe('the address', () => {
  const getLastPath = (): string | undefined => cloud.arrived.at(-1)?.path;

  it.each([
    [
      '/v1/chat/completions',
      { messages: hello },
      '/openai/v1/chat/completions',
      '/openai/deployments/our-mini/chat/completions?api-version=2025-04-01-preview',
    ],
    [
      '/v1/responses',
      { input: 'Hello!' },
      '/openai/v1/responses',
      '/openai/responses?api-version=2025-04-01-preview',
    ],
  ])("of %s is the version's own", async (path, body, now, before) => {
    expect((await harness.post(path, { model, ...body })).status).toBe(200);
    expect(getLastPath()).toBe(now);
    expect((await old.post(path, { model, ...body })).status).toBe(200);
    expect(getLastPath()).toBe(before);
    expect(JSON.parse(cloud.arrived.at(-1)?.body.toString() ?? '')).toMatchObject({ model: 'our-mini' });
  });

  it('has the undated preview in its query', async () => {
    const preview = await openCloudHarness(
      azure({ baseUrl: `${cloud.origin}/`, apiKey: key, apiVersion: 'preview' }),
    );
    expect((await preview.post('/v1/chat/completions', { model, messages: hello })).status).toBe(200);
    expect(getLastPath()).toBe('/openai/v1/chat/completions?api-version=preview');
  });

  it('names a deployment that exists, or the model is reported as missing', async () => {
    const response = await harness.post('/v1/chat/completions', { model: 'openai/gpt-4o', messages: hello });
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { error: { code: 'model_not_found' } },
    ]);
  });
});

describe('pictures', () => {
  const painter = 'openai/gpt-image-1';
  const getLastPath = (): string | undefined => cloud.arrived.at(-1)?.path;
  const buildForm = (): FormData => {
    const filled = new FormData();
    for (const [name, value] of Object.entries({ model: painter, prompt: 'Make it night', quality: 'low' }))
      filled.append(name, value);
    filled.append('image', new File([Buffer.from(pixel(3), 'base64')], 'a.png'));
    return filled;
  };

  it("are made and changed at the deployment's addresses, and paid", async () => {
    const count = harness.gateway.ends.length;
    for (const [each, root] of [
      [harness, '/openai/v1'],
      [old, '/openai/deployments/gpt-image-1'],
    ] as const) {
      const query = each === old ? '?api-version=2025-04-01-preview' : '';
      const made = await each.post('/v1/images/generations', {
        model: painter,
        prompt: 'A heron',
        quality: 'low',
        size: '1024x1024',
      });
      expect([made.status, await made.json(), getLastPath()]).toMatchObject([
        200,
        { data: [{ b64_json: pixel(1) }] },
        `${root}/images/generations${query}`,
      ]);
      const changed = await each.post('/v1/images/edits', buildForm());
      expect([changed.status, await changed.json(), getLastPath()]).toMatchObject([
        200,
        { data: [{ b64_json: expect.any(String) }] },
        `${root}/images/edits${query}`,
      ]);
    }
    const [end] = (await harness.gateway.ended(count + 1)).slice(count);
    const { prompt = 0, completion = 0 } = cloud.painter.journal[0]?.billed ?? {};
    expect(end).toMatchObject({
      outcome: 'completed',
      charge: { basis: 'usage', cost: BigInt(prompt * 5000 + completion * 40_000) },
    });
  });

  it('are shown to clients of other protocols', async () => {
    const response = await harness.post('/v1/chat/completions', {
      model: painter,
      messages: [{ role: 'user', content: 'A heron' }],
    });
    expect(await response.json()).toMatchObject({
      choices: [{ message: { images: [{ image_url: { url: `data:image/png;base64,${pixel(1)}` } }] } }],
    });
  });

  it('that the content filter refuses get its error', async () => {
    cloud.painter.script('*', {
      reply: {
        status: 400,
        body: {
          error: { code: 'contentFilter', message: 'Your task failed as a result of our safety system.' },
        },
      },
    });
    const response = await harness.post('/v1/images/generations', {
      model: painter,
      prompt: 'A heron',
      quality: 'low',
      size: '1024x1024',
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'content_policy_violation' } },
    ]);
  });
});

describe('the switch', () => {
  it("is the resource's address", () => {
    vi.stubEnv('AZURE_OPENAI_ENDPOINT', '');
    vi.stubEnv('AZURE_OPENAI_API_KEY', 'k');
    expect(createHost([azure()]).providers.find('azure')).toBeUndefined();
    vi.stubEnv('AZURE_OPENAI_ENDPOINT', 'https://house.openai.azure.com/');
    expect(createHost([azure()]).providers.get('azure').endpoints).toHaveProperty('chat-completions');
  });

  it('lists the known models if a deployment names an unknown one', () => {
    expect(() =>
      createHost([azure({ baseUrl: cloud.origin, apiKey: key, deployments: { 'gpt-9': 'x' } })]),
    ).toThrow(/Azure has no model "gpt-9"; it has .*gpt-5/);
  });
});

it('several keys take turns, and one at its limit rests alone', async () => {
  const both = await openCloudHarness(
    azure({ baseUrl: cloud.origin, apiKey: [key, otherKey] }),
    keys(),
    health(),
  );
  const call = async (): Promise<unknown> => {
    expect((await both.post('/v1/chat/completions', { model, messages: hello })).status).toBe(200);
    return cloud.arrived.at(-1)?.headers['api-key'];
  };
  expect([await call(), await call()].toSorted()).toEqual([key, otherKey]);
  cloud.full.add(key);
  const before = cloud.arrived.length;
  await Promise.all([call(), call()]);
  expect([await call(), await call()]).toEqual([otherKey, otherKey]);
  expect(
    cloud.arrived.slice(before).filter(({ headers }) => headers['api-key'] === key).length,
  ).toBeLessThanOrEqual(2);
});

describe('the time it has', () => {
  it('is its own if it sets one', async () => {
    const hasty = await openCloudHarness(
      azure({ baseUrl: cloud.origin, apiKey: key, timeouts: { reply: 0.2 } }),
    );
    cloud.vendor.script('*', { text: 'a', hold: 'forever' });
    const response = await hasty.post('/v1/chat/completions', { model, messages: hello });
    expect([response.status, await response.json()]).toMatchObject([504, { error: { code: 'timeout' } }]);
  });
});

describe('what goes wrong', () => {
  it.each([
    [429, 429],
    [503, 503],
    [500, 502],
    [403, 502],
  ])('a refusal with %i reaches the client as %i', async (said, passed) => {
    cloud.vendor.script('*', {
      reply: { status: said, body: { error: { code: String(said), message: 'No.' } } },
    });
    expect((await harness.post('/v1/chat/completions', { model, messages: hello })).status).toBe(passed);
  });

  it('is the content filter, with its own message', async () => {
    cloud.vendor.script('*', {
      reply: {
        status: 400,
        body: {
          error: {
            message: 'The response was filtered due to the prompt triggering the content management policy.',
            type: null,
            param: 'prompt',
            code: 'content_filter',
            status: 400,
            innererror: { code: 'ResponsibleAIPolicyViolation' },
          },
        },
      },
    });
    const response = await harness.post('/v1/chat/completions', { model, messages: hello });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      {
        error: {
          code: 'content_policy_violation',
          message: expect.stringContaining('content management policy'),
        },
      },
    ]);
  });

  it('cancels the upstream request when the client disconnects', async () => {
    cloud.vendor.script('*', { text: ['a ', 'b '], endless: true, delayEvents: 5 });
    const controller = new AbortController();
    const count = harness.gateway.ends.length;
    const response = await harness.post(
      '/v1/chat/completions',
      { model, stream: true, messages: hello },
      { signal: controller.signal },
    );
    await response.body?.getReader().read();
    controller.abort();
    await harness.gateway.ended(count + 1);
    expect(harness.gateway.ends.at(-1)).toMatchObject({ type: 'answered', outcome: 'aborted' });
    await vi.waitFor(() => expect(cloud.vendor.journal.at(-1)?.end).toBe('closed-by-peer'), 120_000);
  });

  it('reveals nothing of the key, even if the provider does', async () => {
    const wrong = await openCloudHarness(azure({ baseUrl: cloud.origin, apiKey: 'a-wrong-resource-key' }));
    const response = await wrong.post('/v1/chat/completions', { model, messages: hello });
    const text = await response.text();
    await wrong.close();
    expect([response.status, text.includes('a-wrong-resource-key')]).toEqual([502, false]);
  });
});

describe('without a key', () => {
  const open = (): Promise<CloudHarness> => openCloudHarness(azure({ baseUrl: cloud.origin }));
  const actAsMachine = (): void => {
    for (const name of ['AZURE_OPENAI_API_KEY', 'AZURE_TENANT_ID', 'AZURE_CLIENT_ID', 'AZURE_CLIENT_SECRET'])
      vi.stubEnv(name, '');
    vi.stubEnv('AZURE_TOKEN_CREDENTIALS', 'ManagedIdentityCredential');
    vi.stubEnv('IDENTITY_ENDPOINT', `${cloud.origin}/identity`);
    vi.stubEnv('IDENTITY_HEADER', 'machine-secret');
  };
  const call = async (from: CloudHarness): Promise<number> =>
    (await from.post('/v1/chat/completions', { model, messages: hello })).status;

  it("and without an identity a call is the provider's failure", async () => {
    actAsMachine();
    vi.stubEnv('AZURE_TOKEN_CREDENTIALS', 'EnvironmentCredential');
    vi.stubEnv('AZURE_CLIENT_SECRET', 'another-secret');
    const machine = await open();
    const response = await machine.post('/v1/chat/completions', { model, messages: hello });
    expect([response.status, await response.json()]).toMatchObject([
      502,
      { error: { message: expect.stringContaining('could not sign in to the provider "azure"') } },
    ]);
    await machine.close();
    expect(machine.gateway.log.join('\n')).not.toContain('another-secret');
  });

  it("the machine's identity is given a token, once for all calls", async () => {
    actAsMachine();
    const machine = await open();
    const before = cloud.given;
    expect(await Promise.all([call(machine), call(machine), call(machine)])).toEqual([200, 200, 200]);
    expect([await call(machine), cloud.given - before]).toEqual([200, 1]);
    expect(cloud.arrived.at(-1)?.headers).not.toHaveProperty('api-key');
    await machine.close();
  });
});
