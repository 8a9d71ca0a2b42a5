/**
 * Azure OpenAI through a whole gateway: both kinds of addresses, key and token, before a fake that knows no
 * others.
 */
import { describe, expect, it, vi } from 'vitest';
import { azure } from '../../plugins/providers/azure.ts';
import { key } from '../support/cloud/azure.ts';
import { expectToolLoop, openCloudHarness } from '../support/cloud/harness.ts';
import { createHost } from '../support/host.ts';
import { pixel } from '../support/vendor/images.ts';
import { cloud, hello, harness, model, old, openAzure } from './azure-harness.ts';

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
    await preview.close();
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
