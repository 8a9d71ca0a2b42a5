/** Pictures that cannot be fetched, and what the client learns of each. */
import { describe, expect, it } from 'vitest';
import { buildBody, harness, openPictures, getPictureUrl, send, server } from './pictures-by-url.ts';

openPictures();

const fields: Readonly<Record<'chat-completions' | 'responses' | 'messages', string>> = {
  'chat-completions': 'messages[0].content[2].image_url.url',
  responses: 'input[0].content[2].image_url',
  messages: 'messages[0].content[2].source.url',
};

describe('a picture that cannot be fetched', () => {
  it.each(['chat-completions', 'responses'] as const)(
    'is refused at its field, and no provider is asked or paid: %s',
    async (wire) => {
      const before = harness.journal().length;
      const { status, body } = await send(wire, 'google/gemini-2.5-flash', [
        getPictureUrl(),
        'http://169.254.169.254/latest/meta-data',
      ]);
      expect([status, body]).toMatchObject([
        400,
        {
          error: {
            param: fields[wire],
            message:
              `The picture of "${fields[wire]}" has to be at one of the ports ${server.port}. ` +
              'Send the picture itself as base64.',
          },
        },
      ]);
      expect(harness.journal().length).toBe(before);
      expect(harness.gateway.ends.at(-1)).toMatchObject({ type: 'failed', charge: { cost: 0n } });
    },
  );

  it('is refused in the format of its own protocol, which has no place for a field', async () => {
    const { status, body } = await send('messages', 'google/gemini-2.5-flash', [
      getPictureUrl(),
      `http://[::1]:${server.port}/`,
    ]);
    expect([status, body]).toMatchObject([
      400,
      {
        type: 'error',
        error: { type: 'invalid_request_error', message: expect.stringContaining(fields.messages) },
      },
    ]);
  });

  it.each([
    ['/page', /none of the pictures/],
    ['/endless', /more than the 100000 bytes/],
    ['/gone', /answers 404/],
    ['/slow', /within 3 seconds/],
  ])('is refused with the reason: %s', async (path, message) => {
    const { status, body } = await send('chat-completions', 'google/gemini-2.5-flash', [
      server.origin + path,
    ]);
    expect([status, body]).toMatchObject([400, { error: { message: expect.stringMatching(message) } }]);
    await expect.poll(() => server.openConnections()).toBe(0);
  });

  it('is refused when a request names more than the maximum', async () => {
    const many = Array.from({ length: 13 }, (_, index) => `${getPictureUrl()}?${index}`);
    const { status, body } = await send('chat-completions', 'google/gemini-2.5-flash', many);
    expect([status, body, server.asked]).toMatchObject([
      400,
      {
        error: {
          param: 'messages[0].content[13].image_url.url',
          message: expect.stringContaining('the 12 that are fetched'),
        },
      },
      [],
    ]);
  });

  it('gets a retryable error while the maximum number of fetches runs', async () => {
    const { status, body } = await send(
      'chat-completions',
      'google/gemini-2.5-flash',
      Array.from({ length: 12 }, (_, index) => `${server.origin}/silent?${index}`),
    );
    expect([status, body]).toMatchObject([
      503,
      { error: { message: expect.stringContaining('as many pictures as it can') } },
    ]);
    // All of them are released with the call.
    await expect.poll(() => server.openConnections()).toBe(0);
    expect(await send('chat-completions', 'google/gemini-2.5-flash', [getPictureUrl()])).toMatchObject({
      status: 200,
    });
  });

  it('gets a retryable error if calls would hold too many bytes, until they release them', async () => {
    const listLargeUrls = (count: number): string[] =>
      Array.from({ length: count }, (_, index) => `${server.origin}/large?${index}`);
    const statuses: number[] = [];
    for (const count of [3, 5, 3, 5, 3])
      statuses.push((await send('chat-completions', 'google/gemini-2.5-flash', listLargeUrls(count))).status);
    expect(statuses).toEqual([200, 503, 200, 503, 200]);
  });

  it('is no longer fetched when its client disconnects', async () => {
    const controller = new AbortController();
    const headers = { authorization: `Bearer ${harness.key}`, 'content-type': 'application/json' };
    const call = fetch(`${harness.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(
        buildBody('chat-completions', 'google/gemini-2.5-flash', [`${server.origin}/silent`]),
      ),
      signal: controller.signal,
    });
    await expect.poll(() => server.asked.length).toBe(1);
    const ended = harness.gateway.ends.length;
    controller.abort();
    await expect(call).rejects.toThrow();
    await harness.gateway.ended(ended + 1);
    expect(harness.gateway.ends.at(-1)).toMatchObject({ type: 'failed', error: { code: 'client_gone' } });
    await expect.poll(() => server.openConnections()).toBe(0);
  });
});
