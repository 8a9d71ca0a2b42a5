import { expect, it } from 'vitest';
import { pixel } from '../support/vendor/images.ts';
import { gallery, makePngFile, nano, useGallery } from './gallery.ts';

useGallery();

it('a model of generate-content makes one picture, requested in its own protocol', async () => {
  const result = await gallery.client.images.generate({
    model: nano,
    prompt: 'A lighthouse',
    quality: 'auto',
    size: '1792x1024',
  });
  expect(JSON.parse(String(gallery.gemini.requests.at(-1)?.body))).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'A lighthouse' }] }],
    generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9' } },
  });
  expect(result).toMatchObject({
    model: nano,
    size: '1344x768',
    quality: 'auto',
    output_format: 'png',
    data: [{ index: 0 }],
  });
  expect(result.data).toHaveLength(1);
  expect(
    Buffer.from(result.data?.[0]?.b64_json ?? '', 'base64')
      .subarray(1, 4)
      .toString(),
  ).toBe('PNG');
  expect(result.usage?.output_tokens).toBeGreaterThan(0);
  expect(Object.keys(result.usage?.input_tokens_details ?? {})).toEqual(['text_tokens', 'image_tokens']);
});

it('a model of generate-content streams it as one event', async () => {
  const stream = await gallery.client.images.generate({
    model: nano,
    prompt: 'A lighthouse',
    quality: 'auto',
    stream: true,
  });
  expect((await Array.fromAsync(stream)).map(({ type }) => type)).toEqual(['image_generation.completed']);
});

it('a model of generate-content reports the settings that it does not take', async () => {
  const response = await gallery.post('/v1/images/generations', {
    model: nano,
    prompt: 'A lighthouse',
    quality: 'hd',
    size: '1536x1024',
    output_format: 'png',
    moderation: 'low',
    style: 'vivid',
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('x-tollgate-dropped')?.split(',').toSorted()).toEqual([
    'moderation',
    'output_format',
    'quality',
    'size',
    'style',
  ]);
  expect(await response.json()).toMatchObject({ size: '1248x832', quality: 'auto' });
});

it.each([1, 2])('a model of generate-content takes no n, not even %i', async (n) => {
  const error: unknown = await gallery.client.images
    .generate({ model: nano, prompt: 'A lighthouse', quality: 'auto', n })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ status: 400, param: 'n' });
  expect(gallery.gemini.requests.filter(({ body }) => String(body).includes('candidateCount'))).toEqual([]);
});

it('a model of generate-content refuses to edit a picture', async () => {
  const requestCount = gallery.gemini.requests.length;
  const error: unknown = await gallery.client.images
    .edit({ model: nano, prompt: 'Make it night', quality: 'low', image: await makePngFile() })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    status: 400,
    error: { message: 'Image editing is not supported for model', type: 'invalid_request_error' },
  });
  expect(gallery.gemini.requests).toHaveLength(requestCount);
});

const part = (fields: object): object => ({
  candidates: [{ index: 0, finishReason: 'STOP', content: { role: 'model', parts: [fields].flat() } }],
  usageMetadata: {
    promptTokenCount: 3,
    candidatesTokenCount: 1290,
    thoughtsTokenCount: 50,
    totalTokenCount: 1343,
    candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }],
  },
  modelVersion: 'gemini-2.5-flash-image',
});
const inline = (shade: number): object => ({ inlineData: { mimeType: 'image/png', data: pixel(shade) } });

it('a model of generate-content never returns its thoughts as the result', async () => {
  const parts = [
    { text: 'Hm, a draft.', thought: true },
    { ...inline(1), thought: true },
    { ...inline(2), thought: true },
    { ...inline(3), thoughtSignature: 'c2VhbA==' },
  ];
  gallery.gemini.script('gemini-2.5-flash-image', { reply: { status: 200, body: part(parts) } });
  const { data } = await gallery.client.images.generate({
    model: nano,
    prompt: 'A lighthouse',
    quality: 'auto',
  });
  expect(data).toEqual([{ b64_json: pixel(3), index: 0 }]);
});

it.each([
  ['only thoughts', part([{ ...inline(1), thought: true }]), 502, /without an image \(STOP\)/],
  ['only words', part({ text: 'I would rather not.' }), 502, /without an image.*I would rather not/],
  [
    'nothing, for safety',
    {
      candidates: [{ index: 0, finishReason: 'IMAGE_SAFETY' }],
      usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 },
    },
    400,
    /safety rules.*IMAGE_SAFETY/,
  ],
  [
    'a refused prompt',
    {
      promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
      usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 },
    },
    400,
    /safety rules.*PROHIBITED_CONTENT/,
  ],
  [
    'no image at all',
    {
      candidates: [{ index: 0, finishReason: 'NO_IMAGE' }],
      usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 },
    },
    502,
    /NO_IMAGE/,
  ],
])(
  'a model of generate-content fails with a clear error if it answers with %s, whole and streamed',
  async (_, body, status, message) => {
    const reply = { status: 200, body };
    const frame = {
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      body: `data: ${JSON.stringify(body)}\r\n\r\n`,
    };
    gallery.gemini.script('gemini-2.5-flash-image', { reply }, { reply: frame });
    const used = await gallery.readUsed();
    for (const stream of [false, true]) {
      const response = await gallery.post('/v1/images/generations', {
        model: nano,
        prompt: 'A lighthouse',
        quality: 'auto',
        stream,
      });
      expect([response.status, response.headers.get('x-should-retry')]).toEqual([status, 'false']);
      expect(await response.json()).toMatchObject({ error: { message: expect.stringMatching(message) } });
    }
    expect(await gallery.readUsed()).toBe(used);
  },
);
