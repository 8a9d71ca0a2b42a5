/**
 * Claude on Bedrock through a whole gateway, before a fake that checks every signature and frames every
 * stream.
 */
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { getRate } from '../../core/index.ts';
import { amazonBedrock } from '../../plugins/providers/amazon-bedrock.ts';
import { keys } from '../support/cloud/bedrock.ts';
import { expectToolLoop, openCloudHarness } from '../support/cloud/harness.ts';
import { createHost } from '../support/host.ts';
import { withCounts } from '../support/rates.ts';
import {
  waitForCall,
  cloud,
  credentials,
  hello,
  harness,
  model,
  openBedrock,
  path,
} from './bedrock-harness.ts';

openBedrock();

describe.each(['messages', 'chat-completions', 'responses', 'generate-content'] as const)(
  'a client of %s',
  (wire) => {
    it.each(['whole', 'streamed'] as const)(
      'has text, calls tools and continues with their results, %s',
      async (form) => {
        await expectToolLoop(harness.clients[wire], cloud.vendor, model, form);
        expect(cloud.arrived.slice(-2).map((each) => each.path)).toEqual(
          form === 'whole' ? [path, path] : [`${path}-with-response-stream`, `${path}-with-response-stream`],
        );
      },
    );

    it.each(['whole', 'streamed'] as const)('pays exactly what the vendor counted, %s', async (form) => {
      await waitForCall(() => harness.clients[wire]({ text: 'Hello!' }).ask(model, form));
      const { billed } = cloud.vendor.journal.at(-1) ?? {};
      expect(harness.gateway.ends.at(-1)).toMatchObject({
        type: 'answered',
        outcome: 'completed',
        charge: { basis: 'usage', uses: withCounts({ input: billed?.prompt, output: billed?.completion }) },
      });
      expect(harness.gateway.ends.at(-1)).toMatchObject({
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
    expect((await harness.post('/alpha/v1/messages', text)).status).toBe(200);
    expect(cloud.arrived.at(-1)?.body.toString()).toBe(
      '{"anthropic_version":"bedrock-2023-05-31","max_tokens": ' +
        '50,  "temperature":1.0, "messages":[{"role":"user","content":"H\\u0069"}]}',
    );
  });

  it('reads the very events that stood in the frames, without what the cloud measured', async () => {
    const response = await harness.post('/alpha/v1/messages', {
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
    await harness.post(
      '/alpha/v1/messages',
      { model, max_tokens: 50, messages: hello },
      { headers: { 'anthropic-beta': 'one-2026-01-01, two-2026-01-01' } },
    );
    expect(JSON.parse(cloud.arrived.at(-1)?.body.toString() ?? '')).toMatchObject({
      anthropic_beta: ['one-2026-01-01', 'two-2026-01-01'],
    });
  });

  it('has its tokens counted by the model itself', async () => {
    const response = await harness.post('/alpha/v1/messages/count_tokens', { model, messages: hello });
    expect([response.status, response.headers.get('x-tollgate-estimate')]).toEqual([200, null]);
    expect(
      z.strictObject({ input_tokens: z.int().positive() }).safeParse(await response.json()).success,
    ).toBe(true);
    expect(cloud.arrived.at(-1)?.path).toBe('/model/anthropic.claude-haiku-4-5-20251001-v1%3A0/count-tokens');
  });

  it('has an estimate if the provider cannot count for the model', async () => {
    const response = await harness.post('/alpha/v1/messages/count_tokens', {
      model: 'anthropic/claude-opus-4-8',
      messages: hello,
    });
    expect([response.status, response.headers.get('x-tollgate-estimate')]).toEqual([200, 'true']);
  });
});

describe('credentials', () => {
  it('may be an API key, shown instead of a signature', async () => {
    const other = await openCloudHarness(
      amazonBedrock({ region: keys.region, baseUrl: cloud.origin, apiKey: 'bedrock-api-key' }),
    );
    expect((await other.post('/alpha/v1/messages', { model, max_tokens: 50, messages: hello })).status).toBe(
      200,
    );
  });

  it('that are temporary sign with their token, are fetched once, and again before they expire', async () => {
    let requestCount = 0;
    let lapses = Date.now() + 3_600_000;
    const provide = async () => ({
      ...credentials,
      sessionToken: `session-${(requestCount += 1)}`,
      expiration: new Date(lapses),
    });
    const other = await openCloudHarness(
      amazonBedrock({ region: keys.region, baseUrl: cloud.origin, credentials: provide }),
    );
    const call = async (): Promise<unknown> => {
      expect(
        (await other.post('/alpha/v1/messages', { model, max_tokens: 50, messages: hello })).status,
      ).toBe(200);
      return cloud.arrived.at(-1)?.headers['x-amz-security-token'];
    };
    lapses = Date.now() + 60_000;
    expect([await call(), requestCount]).toEqual(['session-1', 1]);
    expect([await call(), requestCount]).toEqual(['session-1', 2]);
    expect(await call()).toBe('session-2');
  });

  it("that cannot be obtained are the provider's failure, without the library's error text", async () => {
    const fail = async (): Promise<never> => {
      throw Object.assign(new Error(`the profile holds ${keys.secret}`), {
        name: 'CredentialsProviderError',
      });
    };
    const other = await openCloudHarness(
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
    const on = createHost([amazonBedrock()]).providers.find('amazon-bedrock') !== undefined;
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
      const { catalog } = createHost([amazonBedrock({ region: 'eu-west-1', apiKey: 'k', profile })]);
      const [sol, ...others] = catalog.find('openai/gpt-6-sol');
      expect([sol?.model.upstream, sol && getRate(sol.price, 'input'), others]).toEqual([
        upstream,
        input,
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
    const { catalog } = createHost([amazonBedrock({ region: 'eu-west-1', apiKey: 'k', profile })]);
    const [opus] = catalog.find(profile === 'in' ? 'anthropic/claude-opus-5' : 'anthropic/claude-opus-4-8');
    expect(opus?.model.upstream).toMatch(new RegExp(`^${prefix}anthropic\\.claude-opus-`));
    expect(opus && getRate(opus.price, 'input')).toBe(input);
  });
});
