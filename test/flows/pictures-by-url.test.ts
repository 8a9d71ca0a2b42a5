/**
 * A picture that a client names by URL reaches a provider that accepts only bytes, where the operator allows
 * it; each fault is reported at its field.
 */
import { afterEach, beforeAll, expect, it } from 'vitest';
import { fetchImages } from '../../plugins/operations/fetch-images.ts';
import { readCatalogue } from '../../plugins/shared/provider/catalogue-file.ts';
import { openGallery } from '../images/gallery.ts';
import { type Wire, readCall, wires } from '../support/families.ts';
import { startPictureServer, type PictureServer, png } from '../support/picture-server.ts';
import { postJson } from '../support/post.ts';
import { openVendorHarness, type VendorHarness } from '../support/vendor-harness.ts';

let server: PictureServer;
let harness: VendorHarness;

const paths: Readonly<Record<Wire, (model: string) => string>> = {
  'chat-completions': () => '/v1/chat/completions',
  responses: () => '/v1/responses',
  messages: () => '/alpha/v1/messages',
  'generate-content': (model) => `/beta/v1beta/models/${model}:generateContent`,
};

/** A question with pictures, as a client of each protocol writes it. */
function buildBody(wire: Wire, model: string, urls: readonly string[]): object {
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
  const buildSource = (url: string): object =>
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
            ...urls.map((url) => ({ type: 'image', source: buildSource(url) })),
          ],
        },
      ],
    };
  const buildPart = (url: string): object =>
    url.startsWith('data:')
      ? { inlineData: { mimeType: 'image/png', data: url.slice(url.indexOf(',') + 1) } }
      : { fileData: { fileUri: url } };
  return { contents: [{ role: 'user', parts: [{ text: 'What is it?' }, ...urls.map(buildPart)] }] };
}

async function send(
  wire: Wire,
  model: string,
  urls: readonly string[],
): Promise<{ status: number; body: unknown }> {
  const headers = {
    authorization: `Bearer ${harness.key}`,
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
  };
  const response = await postJson(
    harness.gateway.url + paths[wire](model),
    buildBody(wire, model, urls),
    headers,
  );
  return { status: response.status, body: await response.json() };
}

const getPictureUrl = (): string => `${server.origin}/picture.png`;

function openPictures(): void {
  beforeAll(async () => {
    server = await startPictureServer();
    harness = await openVendorHarness([
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
  afterEach(() => {
    server.asked.splice(0);
    harness.vendors.unscript();
  });
}

openPictures();

const getLastBody = (): string => harness.journal().at(-1)?.received.body.toString() ?? '';
const bytes = png.toString('base64');

it.each(['chat-completions', 'responses', 'messages'] as const)(
  'a picture named by URL reaches Google as bytes from a %s client',
  async (wire) => {
    expect(await send(wire, 'google/gemini-2.5-flash', [getPictureUrl()])).toMatchObject({ status: 200 });
    expect(getLastBody()).toContain(JSON.stringify({ inlineData: { mimeType: 'image/png', data: bytes } }));
    expect([getLastBody().includes(server.origin), server.asked.length]).toEqual([false, 1]);
  },
);

it.each(['messages', 'chat-completions', 'generate-content'] as const)(
  'a picture named by URL reaches a provider that the options list as bytes, from a %s client too',
  async (wire) => {
    expect(await send(wire, 'anthropic/claude-sonnet-4-5', [getPictureUrl()])).toMatchObject({
      status: 200,
    });
    expect(getLastBody()).toContain(JSON.stringify({ type: 'base64', media_type: 'image/png', data: bytes }));
  },
);

it('a picture named by URL reaches an image model, which edits it', async () => {
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
    buildBody('chat-completions', 'openai/gpt-image-1.5', [getPictureUrl()]),
  );
  expect([response.status, files]).toEqual([200, [['image', bytes]]]);
  const edit = { model: 'openai/gpt-image-1.5', prompt: 'Night', images: [{ image_url: getPictureUrl() }] };
  files = undefined;
  expect((await gallery.post('/v1/images/edits', edit)).status).toBe(200);
  expect(files).toEqual([['image', bytes]]);
});

it('a picture named by URL is passed on to providers that fetch it themselves', async () => {
  await send('chat-completions', 'openai/gpt-4o-mini', [getPictureUrl()]);
  expect(getLastBody()).toContain(getPictureUrl());
  await send('generate-content', 'google/gemini-2.5-flash', [getPictureUrl()]);
  expect(getLastBody()).toContain(getPictureUrl());
  expect(server.asked).toEqual([]);
});

it('a picture named by URL is fetched once, however often requests and retries name it', async () => {
  harness.vendors.google.script('gemini-2.5-flash', { reply: { status: 503, body: {} } });
  await send('chat-completions', 'google/gemini-2.5-flash', [
    getPictureUrl(),
    getPictureUrl(),
    getPictureUrl(),
  ]);
  expect(server.asked).toHaveLength(1);
});

it.each(wires)('the reservation for a picture is the same by URL as by bytes: %s', (wire) => {
  const readSize = (url: string): unknown => readCall(wire, buildBody(wire, 'house/model', [url])).size;
  const [address, data] = [readSize('https://a.example/b.png'), readSize(`data:image/png;base64,${bytes}`)];
  expect([address, data]).toMatchObject([
    { images: 1, mediaBytes: 0 },
    { images: 1, mediaBytes: 0 },
  ]);
});

it.each(['amazon-bedrock', 'google-vertex'])(
  'the catalogue of %s says which models accept only bytes',
  (name) => {
    const models = readCatalogue(new URL(`../../plugins/providers/catalogue/${name}.json`, import.meta.url));
    const claudes = models.filter(({ id }) => id.startsWith('anthropic/'));
    expect(claudes.length).toBeGreaterThan(3);
    // Bedrock takes only bytes for every model, and Vertex AI only for those of Anthropic.
    const bytesOnly = name === 'amazon-bedrock' ? models : claudes;
    expect(models.filter(({ capabilities }) => !capabilities.imageUrls)).toEqual(bytesOnly);
  },
);

const fields: Readonly<Record<'chat-completions' | 'responses' | 'messages', string>> = {
  'chat-completions': 'messages[0].content[2].image_url.url',
  responses: 'input[0].content[2].image_url',
  messages: 'messages[0].content[2].source.url',
};

it.each(['chat-completions', 'responses'] as const)(
  'a picture that cannot be had is refused at its field, and no provider is asked or paid: %s',
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

it('a picture that cannot be had is refused in the format of its protocol', async () => {
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
])('a picture that cannot be had is refused with the reason: %s', async (path, message) => {
  const { status, body } = await send('chat-completions', 'google/gemini-2.5-flash', [server.origin + path]);
  expect([status, body]).toMatchObject([400, { error: { message: expect.stringMatching(message) } }]);
  await expect.poll(() => server.openConnections()).toBe(0);
});

it('a picture that cannot be had is refused when a request names more than the maximum', async () => {
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

it('a picture gets a retryable error while the maximum number of fetches runs', async () => {
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

it('a picture gets a retryable error while calls would hold too many bytes', async () => {
  const listLargeUrls = (count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${server.origin}/large?${index}`);
  const statuses: number[] = [];
  for (const count of [3, 5, 3, 5, 3])
    statuses.push((await send('chat-completions', 'google/gemini-2.5-flash', listLargeUrls(count))).status);
  expect(statuses).toEqual([200, 503, 200, 503, 200]);
});

it('a picture that cannot be had is no longer fetched when its client disconnects', async () => {
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
