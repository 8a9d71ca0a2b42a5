/** Calls and token counts through a whole gateway, whose provider is a tap on `dispatch`. */
import { describe, expect, it } from 'vitest';
import { withCounts } from '../support/rates.ts';
import { chatReply } from '../support/replies.ts';
import { requests, getUrl, headers, message, post, start, buildVendor } from './gateway-calls.ts';

describe('a messages call through the gateway', () => {
  it('reaches its provider byte for byte with version and betas; its reply has our model name', async () => {
    const gateway = await start(buildVendor({ messages: getUrl }, message));
    const body = { max_tokens: 50, context_management: { edits: [] }, x_new: 1 };
    const response = await post(gateway, '/alpha/v1/messages?beta=true', body);
    expect(await response.text()).toBe(message.replace('claude-test-upstream', 'house/model'));
    expect(response.headers.get('request-id')).toBe(response.headers.get('x-request-id'));
    expect(requests).toMatchObject([
      { url: 'https://a.example/messages', json: { ...body, model: 'claude-test-upstream' } },
    ]);
    expect(requests[0]?.headers).toMatchObject({
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'new-thing-2026-11-01',
    });
    expect(JSON.stringify(requests[0]?.headers)).not.toMatch(/sk-client|cookie/);
    const [end] = await gateway.ended(1);
    expect(end).toMatchObject({
      type: 'answered',
      outcome: 'completed',
      charge: { uses: withCounts({ input: 10, output: 2 }), cost: 14_000n },
    });
  });

  it('passes on every header of its provider, except those about our credential or account', async () => {
    const gateway = await start(buildVendor({ messages: getUrl }, message));
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
    expect(requests[0]?.headers).toMatchObject(feature);
    expect(JSON.stringify(requests[0]?.headers)).not.toMatch(/theirs|sk-client|cookie/);
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
    const gateway = await start(buildVendor({ messages: getUrl }, stream));
    const response = await post(gateway, '/alpha/v1/messages', { max_tokens: 50, stream: true });
    expect(await response.text()).toBe(stream.replace('claude-test-upstream', 'house/model'));
  });

  it('leaves the verbatim lane if it contains reasoning its provider would refuse', async () => {
    const gateway = await start(buildVendor({ messages: getUrl }, message));
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
    expect(requests[0]?.headers).toMatchObject({
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'new-thing-2026-11-01',
    });
  });

  it("without its version is refused in the protocol's format, with the id of the call", async () => {
    const gateway = await start(buildVendor({ messages: getUrl }, message));
    const response = await fetch(`${gateway.url}/alpha/v1/messages`, { method: 'POST', body: '{}' });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.stringContaining('anthropic-version') },
      request_id: response.headers.get('x-request-id'),
    });
  });

  it('reaches a provider of another protocol', async () => {
    const usage = {
      prompt_tokens: 12,
      completion_tokens: 3,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4 },
    };
    const completion = chatReply('Ahoy', { usage });
    const gateway = await start(
      buildVendor({ 'chat-completions': 'https://a.example/chat' }, JSON.stringify(completion)),
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
    expect(requests[0]?.headers).not.toHaveProperty('anthropic-beta');
  });

  it('carries no version or beta of its client if the client speaks another protocol', async () => {
    const gateway = await start(buildVendor({ messages: getUrl }, message));
    expect((await post(gateway, '/v1/chat/completions', {})).status).toBe(200);
    expect(requests[0]?.headers).toMatchObject({
      'anthropic-version': expect.not.stringMatching(headers['anthropic-version']),
    });
    expect(requests[0]?.headers).not.toHaveProperty('anthropic-beta');
  });
});
