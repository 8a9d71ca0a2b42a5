/** What goes wrong at Amazon Bedrock, and what the client learns of it. */
import { describe, expect, it, vi } from 'vitest';
import { amazonBedrock } from '../../plugins/providers/amazon-bedrock.ts';
import { keys } from '../support/cloud/bedrock.ts';
import { openCloudHarness } from '../support/cloud/harness.ts';
import { refusals } from '../support/vendor/index.ts';
import { waitForCall, cloud, credentials, hello, harness, model, openBedrock } from './bedrock-harness.ts';

openBedrock();

describe('what goes wrong', () => {
  it.each([
    ['rateLimited', 429, 'rate_limit_error'],
    ['overloaded', 529, 'overloaded_error'],
    ['broken', 502, 'api_error'],
    ['forbidden', 502, 'api_error'],
  ] as const)('%s reaches the client as %i %s', async (kind, status, type) => {
    cloud.vendor.script('*', { reply: refusals.messages[kind] });
    const response = await harness.post('/alpha/v1/messages', { model, max_tokens: 50, messages: hello });
    expect([response.status, await response.json()]).toMatchObject([status, { error: { type } }]);
  });

  it("is the caller's own fault in the vendor's words", async () => {
    const response = await harness.post('/alpha/v1/messages', { model, max_tokens: 50, messages: [] });
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
    const response = await harness.post('/alpha/v1/messages', { model, max_tokens: 50, messages: hello });
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { error: { type: 'not_found_error' } },
    ]);
  });

  it('in a stream that breaks off is an error and never looks complete', async () => {
    cloud.vendor.script('*', { text: ['a', 'b', 'c'], cut: { how: 'end', events: 4 } });
    const text = await (
      await harness.post('/alpha/v1/messages', { model, max_tokens: 50, stream: true, messages: hello })
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
    async (_, path, more, expected, complete) => {
      cloud.vendor.script('*', { text: ['a', 'b', 'c'], fail: { after: 5 } });
      const text = await waitForCall(async () =>
        (await harness.post(path, { model, ...more, stream: true, messages: hello })).text(),
      );
      expect(text).toMatch(expected);
      expect(text).not.toMatch(complete);
      expect(harness.gateway.ends.at(-1)).toMatchObject({ type: 'answered', outcome: 'cut' });
    },
  );

  it('as an exception before anything was said has its own status', async () => {
    cloud.vendor.script('*', { text: 'a', fail: { after: 0 } });
    const response = await harness.post('/alpha/v1/messages', {
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
    const controller = new AbortController();
    await waitForCall(async () => {
      const response = await harness.post(
        '/alpha/v1/messages',
        { model, max_tokens: 5000, stream: true, messages: hello },
        { signal: controller.signal },
      );
      await response.body?.getReader().read();
      controller.abort();
    });
    expect(harness.gateway.ends.at(-1)).toMatchObject({ type: 'answered', outcome: 'aborted' });
    await vi.waitFor(() => expect(cloud.vendor.journal.at(-1)?.end).toBe('closed-by-peer'), 120_000);
  });

  it('reveals nothing of the credential, even if the provider does', async () => {
    const wrong = await openCloudHarness(
      amazonBedrock({ region: 'us-east-1', baseUrl: cloud.origin, credentials }),
    );
    const response = await wrong.post('/alpha/v1/messages', { model, max_tokens: 50, messages: hello });
    expect(response.status).toBe(502);
    expect(await response.text()).not.toContain(keys.secret);
    await wrong.close();
    expect([...harness.gateway.log, ...wrong.gateway.log].join('\n')).not.toMatch(
      /AWS4-HMAC-SHA256|Signature=/,
    );
  });
});
