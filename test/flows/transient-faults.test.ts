/**
 * Faults that pass in a moment: with one provider and one key, official SDKs that never retry get their
 * replies.
 */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { health } from '../../plugins/routing/health.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { startGateway } from '../support/gateway.ts';
import { waitUntil } from '../support/operated.ts';
import { postJson } from '../support/post.ts';
import { withCounts } from '../support/rates.ts';
import { responsesReply } from '../support/replies.ts';
import { sendJson, startScriptedVendor } from '../support/scripted-vendor.ts';
import type { Form } from '../support/sdk-clients.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';
import { openVendorHarness, type VendorHarness } from '../support/vendor-harness.ts';
import type { Scenario } from '../support/vendor/index.ts';

const wires = ['chat-completions', 'responses', 'messages', 'generate-content'] as const;
const forms: readonly Form[] = ['whole', 'streamed'];
const models = {
  'chat-completions': 'openai/gpt-4o-mini',
  responses: 'openai/gpt-4o-mini',
  messages: 'anthropic/claude-haiku-4-5',
  'generate-content': 'google/gemini-2.5-flash',
} as const;

const failWith = (status: number, headers: Record<string, string> = {}): Scenario => ({
  reply: { status, headers, body: { error: { message: 'Not now.' } } },
});

const faults: Readonly<Record<string, Scenario>> = {
  'status 500': failWith(500),
  'status 502': failWith(502),
  'status 503': failWith(503),
  'status 503 with retry-after': failWith(503, { 'retry-after': '1' }),
  'status 503 with retry-after-ms': failWith(503, { 'retry-after-ms': '20' }),
  'status 529': failWith(529),
  'status 408': failWith(408),
  'status 409': failWith(409),
  'a reset connection': { cut: { how: 'rst' } },
};

let harness: VendorHarness;
beforeAll(async () => {
  harness = await openVendorHarness([health()]);
});
afterEach(() => harness.vendors.unscript());

describe.each(Object.entries(faults))('%s, once', (_, fault) => {
  it.each(wires.flatMap((wire) => forms.map((form) => [wire, form] as const)))(
    'leaves the reply of %s (%s) unchanged',
    async (wire, form) => {
      const { gateway, vendors, clients, journal } = harness;
      vendors.script('*', fault, { text: ['All ', 'is ', 'well.'] });
      const [ends, requests] = [gateway.ends.length, journal().length];
      const heard = await clients[wire]({ text: 'How are you?' }).ask(models[wire], form);
      expect(heard.text).toBe('All is well.');
      expect(journal()).toHaveLength(requests + 2);
      const end = (await gateway.ended(ends + 1))[ends];
      expect(end?.attempts.map(({ error, isRetry }) => [error === undefined, isRetry])).toEqual([
        [false, false],
        [true, true],
      ]);
      const billed = journal().at(-1)?.billed;
      expect(end).toMatchObject({
        type: 'answered',
        outcome: 'completed',
        charge: { basis: 'usage', uses: withCounts({ input: billed?.prompt, output: billed?.completion }) },
      });
    },
  );
});

it('a client that disconnects ends the wait for the next attempt', async () => {
  const busy = await startScriptedVendor(
    (response) => void response.writeHead(503, { 'retry-after': '9' }).end(),
  );
  const gateway = await startGateway({
    plugins: [
      acceptAnyKey(),
      chatCompletions(),
      testProvider({
        name: 'only',
        endpoints: { 'chat-completions': `${busy.origin}/v1/chat/completions` },
      }),
    ],
  });
  const controller = new AbortController();
  const body = JSON.stringify({ model: 'house/model', messages: [{ role: 'user', content: 'Hi' }] });
  const call = fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    body,
    signal: controller.signal,
  }).catch(() => undefined);
  await waitUntil(() => busy.bodies.length === 1);
  controller.abort();
  await call;
  const [end] = await gateway.ended(1);
  expect(end).toMatchObject({ type: 'failed', error: { code: 'client_gone' }, charge: { cost: 0n } });
  expect([end?.attempts.length, busy.bodies.length]).toEqual([1, 1]);
  await gateway.close();
});

/** OpenAI's error on its responses wire, which others send with a 400. */
const words: Readonly<Record<string, object>> = {
  'openai, responses': {
    error: {
      message: "The requested model 'upstream-model' does not exist.",
      type: 'invalid_request_error',
      param: 'model',
      code: 'model_not_found',
    },
  },
  groq: {
    error: {
      message: 'The model `upstream-model` has been decommissioned.',
      type: 'invalid_request_error',
      code: 'model_decommissioned',
    },
  },
  deepseek: {
    error: {
      message: 'Model Not Exist',
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_request_error',
    },
  },
  openrouter: { error: { message: 'upstream-model is not a valid model ID', code: 400 } },
};

it.each(Object.entries(words))(
  'a provider that lacks the model (%s) is followed by the next; errors have the own name',
  async (_, refusal) => {
    const lacking = await startScriptedVendor((response) => sendJson(response, refusal, 400));
    const sound = await startScriptedVendor((response) => sendJson(response, responsesReply('Hi')));
    const createStation = (name: string, origin: string) =>
      testProvider({ name, endpoints: { responses: `${origin}/v1/responses` } });
    const gateway = await startGateway({
      plugins: [
        acceptAnyKey(),
        responses(),
        preferences(),
        createStation('lacking', lacking.origin),
        createStation('sound', sound.origin),
      ],
    });
    const ask = async (
      provider: object,
    ): Promise<{ status: number; served: string | null; text: string }> => {
      const response = await postJson(`${gateway.url}/v1/responses`, {
        model: 'house/model',
        input: 'Hi',
        provider,
      });
      return {
        status: response.status,
        served: response.headers.get('x-tollgate-provider'),
        text: await response.text(),
      };
    };
    expect(await ask({})).toMatchObject({ status: 200, served: 'sound' });
    const alone = await ask({ only: ['lacking'] });
    expect(alone).toMatchObject({ status: 404, text: expect.stringContaining('house/model') });
    expect(alone.text).not.toContain('upstream-model');
    await Promise.all([gateway.close(), lacking.close(), sound.close()]);
  },
);
