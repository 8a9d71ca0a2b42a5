/** Keys, time and errors at Azure. */
import { describe, expect, it, vi } from 'vitest';
import { azure } from '../../plugins/providers/azure.ts';
import { health } from '../../plugins/routing/health.ts';
import { keys } from '../../plugins/routing/keys.ts';
import { key, otherKey } from '../support/cloud/azure.ts';
import { openCloudHarness, type CloudHarness } from '../support/cloud/harness.ts';
import { cloud, hello, harness, model, openAzure } from './azure-harness.ts';

openAzure();

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
  await both.close();
});

describe('the time it has', () => {
  it('is its own if it sets one', async () => {
    const hasty = await openCloudHarness(
      azure({ baseUrl: cloud.origin, apiKey: key, timeouts: { reply: 0.2 } }),
    );
    cloud.vendor.script('*', { text: 'a', hold: 'forever' });
    const response = await hasty.post('/v1/chat/completions', { model, messages: hello });
    expect([response.status, await response.json()]).toMatchObject([504, { error: { code: 'timeout' } }]);
    await hasty.close();
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
