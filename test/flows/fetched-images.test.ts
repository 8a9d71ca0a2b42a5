/**
 * A picture that a client names by URL reaches a provider that accepts only bytes, where the operator allows
 * it; each fault is reported at its field.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readCatalogue } from '../../core/index.ts';
import { fetchImages } from '../../plugins/operations/fetch-images.ts';
import { openGallery } from '../images/gallery.ts';
import { readCall, wires, type Wire } from '../support/families.ts';
import { png, startPictureServer, type PictureServer } from '../support/picture-server.ts';
import { openVendorHouse, type VendorHouse } from '../support/vendor-house.ts';

let server: PictureServer;
let house: VendorHouse;
beforeAll(async () => {
  server = await startPictureServer();
  house = await openVendorHouse([
    fetchImages({
      http: true,
      privateHosts: ['127.0.0.1'],
      ports: [server.port],
      providers: ['anthropic'],
      maxImages: 12,
      parallel: 1,
      timeout: 3,
      maxBytes: 100_000,
      heldBytes: 400_000,
    }),
  ]);
});
afterAll(async () => {
  await house.close();
  await server.close();
});
afterEach(() => {
  server.asked.splice(0);
  house.vendors.unscript();
});

const paths: Readonly<Record<Wire, (model: string) => string>> = {
  'chat-completions': () => '/v1/chat/completions',
  responses: () => '/v1/responses',
  messages: () => '/alpha/v1/messages',
  'generate-content': (model) => `/beta/v1beta/models/${model}:generateContent`,
};

/** A question with pictures, as a client of each protocol writes it. */
function bodyOf(wire: Wire, model: string, urls: readonly string[]): object {
  if (wire === 'chat-completions')
    return {
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            ...urls.map((url) => ({ type: 'image_url', image_url: { url } })),
          ],
        },
      ],
    };
  if (wire === 'responses')
    return {
      model,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is it?' },
            ...urls.map((url) => ({ type: 'input_image', image_url: url })),
          ],
        },
      ],
    };
  const source = (url: string): object =>
    url.startsWith('data:')
      ? { type: 'base64', media_type: 'image/png', data: url.slice(url.indexOf(',') + 1) }
      : { type: 'url', url };
  if (wire === 'messages')
    return {
      model,
      max_tokens: 50,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            ...urls.map((url) => ({ type: 'image', source: source(url) })),
          ],
        },
      ],
    };
  const part = (url: string): object =>
    url.startsWith('data:')
      ? { inlineData: { mimeType: 'image/png', data: url.slice(url.indexOf(',') + 1) } }
      : { fileData: { fileUri: url } };
  return { contents: [{ role: 'user', parts: [{ text: 'What is it?' }, ...urls.map(part)] }] };
}

async function send(
  wire: Wire,
  model: string,
  urls: readonly string[],
): Promise<{ status: number; body: unknown }> {
  const headers = {
    authorization: `Bearer ${house.key}`,
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
  };
  const response = await fetch(house.gateway.url + paths[wire](model), {
    method: 'POST',
    headers,
    body: JSON.stringify(bodyOf(wire, model, urls)),
  });
  return { status: response.status, body: await response.json() };
}

const picture = (): string => `${server.origin}/picture.png`;
const asked = (): string => house.journal().at(-1)?.received.body.toString() ?? '';
const bytes = png.toString('base64');

describe('a picture named by URL', () => {
  it.each(['chat-completions', 'responses', 'messages'] as const)(
    'reaches Google as bytes from a %s client',
    async (wire) => {
      expect(await send(wire, 'google/gemini-2.5-flash', [picture()])).toMatchObject({ status: 200 });
      expect(asked()).toContain(JSON.stringify({ inlineData: { mimeType: 'image/png', data: bytes } }));
      expect([asked().includes(server.origin), server.asked.length]).toEqual([false, 1]);
    },
  );

  it.each(['messages', 'chat-completions', 'generate-content'] as const)(
    'reaches a provider that the options list as bytes, from a %s client too',
    async (wire) => {
      expect(await send(wire, 'anthropic/claude-sonnet-4-5', [picture()])).toMatchObject({ status: 200 });
      expect(asked()).toContain(JSON.stringify({ type: 'base64', media_type: 'image/png', data: bytes }));
    },
  );

  it('reaches an image model, which edits it', async () => {
    const gallery = await openGallery({
      plugins: [fetchImages({ http: true, privateHosts: ['127.0.0.1'], ports: [server.port] })],
    });
    let files: unknown;
    gallery.painter.script('gpt-image-1.5', ({ request }) => {
      files = request.files.map(({ field, bytes: sent }) => [field, sent.toString('base64')]);
      return {};
    });
    const response = await gallery.post(
      '/v1/chat/completions',
      bodyOf('chat-completions', 'openai/gpt-image-1.5', [picture()]),
    );
    expect([response.status, files]).toEqual([200, [['image', bytes]]]);
    await gallery.close();
  });

  it('is passed on to providers that fetch it, and from clients of their own protocol', async () => {
    await send('chat-completions', 'openai/gpt-4o-mini', [picture()]);
    expect(asked()).toContain(picture());
    await send('generate-content', 'google/gemini-2.5-flash', [picture()]);
    expect(asked()).toContain(picture());
    expect(server.asked).toEqual([]);
  });

  it('is fetched once, however often requests and retries name it', async () => {
    house.vendors.google.script('gemini-2.5-flash', { reply: { status: 503, body: {} } });
    await send('chat-completions', 'google/gemini-2.5-flash', [picture(), picture(), picture()]);
    expect(server.asked).toHaveLength(1);
  });
});

const fields: Readonly<Record<'chat-completions' | 'responses' | 'messages', string>> = {
  'chat-completions': 'messages[0].content[2].image_url.url',
  responses: 'input[0].content[2].image_url',
  messages: 'messages[0].content[2].source.url',
};

describe('a picture that cannot be fetched', () => {
  it.each(['chat-completions', 'responses'] as const)(
    'is refused at its field, and no provider is asked or paid: %s',
    async (wire) => {
      const before = house.journal().length;
      const { status, body } = await send(wire, 'google/gemini-2.5-flash', [
        picture(),
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
      expect(house.journal().length).toBe(before);
      expect(house.gateway.ends.at(-1)).toMatchObject({ type: 'failed', charge: { cost: 0n } });
    },
  );

  it('is refused in the format of its own protocol, which has no place for a field', async () => {
    const { status, body } = await send('messages', 'google/gemini-2.5-flash', [
      picture(),
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
    const many = Array.from({ length: 13 }, (_, index) => `${picture()}?${index}`);
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
    expect(await send('chat-completions', 'google/gemini-2.5-flash', [picture()])).toMatchObject({
      status: 200,
    });
  });

  it('gets a retryable error if calls would hold too many bytes, until they release them', async () => {
    const large = (count: number): string[] =>
      Array.from({ length: count }, (_, index) => `${server.origin}/large?${index}`);
    const statuses: number[] = [];
    for (const count of [3, 5, 3, 5, 3])
      statuses.push((await send('chat-completions', 'google/gemini-2.5-flash', large(count))).status);
    expect(statuses).toEqual([200, 503, 200, 503, 200]);
  });

  it('is no longer fetched when its client disconnects', async () => {
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' };
    const call = fetch(`${house.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(
        bodyOf('chat-completions', 'google/gemini-2.5-flash', [`${server.origin}/silent`]),
      ),
      signal: leaving.signal,
    });
    await expect.poll(() => server.asked.length).toBe(1);
    const ended = house.gateway.ends.length;
    leaving.abort();
    await expect(call).rejects.toThrow();
    await house.gateway.ended(ended + 1);
    expect(house.gateway.ends.at(-1)).toMatchObject({ type: 'failed', error: { code: 'client_gone' } });
    await expect.poll(() => server.openConnections()).toBe(0);
  });
});

describe('the reservation for a picture', () => {
  it.each(wires)('is the same by URL as by bytes: %s', (wire) => {
    const sizeOf = (url: string): unknown => readCall(wire, bodyOf(wire, 'house/model', [url])).size;
    const [address, data] = [sizeOf('https://a.example/b.png'), sizeOf(`data:image/png;base64,${bytes}`)];
    expect([address, data]).toMatchObject([
      { images: 1, mediaBytes: 0 },
      { images: 1, mediaBytes: 0 },
    ]);
  });
});

describe('the catalogue', () => {
  it.each(['amazon-bedrock', 'google-vertex'])('of %s says which models accept only bytes', (name) => {
    const models = readCatalogue(new URL(`../../plugins/providers/catalogue/${name}.json`, import.meta.url));
    const claudes = models.filter(({ id }) => id.startsWith('anthropic/'));
    expect(claudes.length).toBeGreaterThan(3);
    // Bedrock takes only bytes for every model, and Vertex AI only for those of Anthropic.
    const bytesOnly = name === 'amazon-bedrock' ? models : claudes;
    expect(models.filter(({ capabilities }) => !capabilities.imageUrls)).toEqual(bytesOnly);
  });
});
