/**
 * The official SDK's `images.generate` and `images.edit` with both kinds of providers, whole and streamed,
 * and their cost.
 */
import type OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { pixel } from '../support/vendor/images.ts';
import { jpegBytes, openGallery, pngBytes, pngFile, type Gallery } from './gallery.ts';

let gallery: Gallery;
beforeAll(async () => void (gallery = await openGallery()));
afterEach(() => {
  gallery.painter.unscript();
  gallery.gemini.unscript();
});
afterAll(() => gallery.close());

/** The exact cost of the next call. */
async function costOf(call: () => Promise<unknown>): Promise<string> {
  const before = gallery.gateway.ends.length;
  await call();
  const end = (await gallery.gateway.ended(before + 1)).at(-1);
  return end?.type === 'answered'
    ? `${end.outcome} ${end.charge.basis} ${end.charge.cost}`
    : String(end?.type);
}

const gpt = 'openai/gpt-image-1.5';
const nano = 'google/gemini-2.5-flash-image';

describe('a provider of images', () => {
  it('makes a picture, with all fields of the service interface', async () => {
    const result = await gallery.client.images.generate({
      model: gpt,
      prompt: 'A lighthouse',
      quality: 'low',
      size: '1024x1024',
    });
    expect(result).toEqual({
      created: 1_790_000_000,
      data: [{ b64_json: pixel(1), index: 0 }],
      model: gpt,
      size: '1024x1024',
      quality: 'low',
      background: 'opaque',
      output_format: 'png',
      usage: {
        input_tokens: 3,
        input_tokens_details: { text_tokens: 3 },
        output_tokens: 272,
        output_tokens_details: { image_tokens: 272, text_tokens: 0 },
        total_tokens: 275,
      },
    });
  });

  it('makes several at once, each with its index', async () => {
    const { data } = await gallery.client.images.generate({
      model: gpt,
      prompt: 'A lighthouse',
      quality: 'low',
      n: 3,
    });
    expect(data).toEqual([1, 2, 3].map((shade, index) => ({ b64_json: pixel(shade), index })));
  });

  it('receives every setting, and nothing else', async () => {
    await gallery.client.images.generate({
      model: gpt,
      prompt: 'A lighthouse',
      quality: 'high',
      size: '1536x1024',
      output_format: 'webp',
      output_compression: 50,
      background: 'transparent',
      moderation: 'low',
      user: 'someone',
      n: 2,
      response_format: 'b64_json',
    });
    expect(JSON.parse(String(gallery.painter.requests.at(-1)?.body))).toEqual({
      model: 'gpt-image-1.5',
      prompt: 'A lighthouse',
      quality: 'high',
      size: '1536x1024',
      output_format: 'webp',
      output_compression: 50,
      background: 'transparent',
      moderation: 'low',
      user: 'someone',
      n: 2,
    });
    expect(gallery.painter.requests.at(-1)?.leaked).toEqual([]);
  });

  it('streams unfinished pictures and the finished one', async () => {
    const stream = await gallery.client.images.generate({
      model: gpt,
      prompt: 'A lighthouse',
      quality: 'low',
      stream: true,
      partial_images: 2,
    });
    const events = await Array.fromAsync(stream);
    expect(events.map((event) => [event.type, event.b64_json])).toEqual([
      ['image_generation.partial_image', pixel(200)],
      ['image_generation.partial_image', pixel(201)],
      ['image_generation.completed', pixel(1)],
    ]);
    expect(events[1]).toMatchObject({
      partial_image_index: 1,
      size: '1024x1024',
      quality: 'low',
      output_format: 'png',
      created_at: 1_790_000_000,
    });
    expect(events[2]).toMatchObject({
      usage: { input_tokens: 3, output_tokens: 472, total_tokens: 475 },
      model: gpt,
    });
  });

  it('edits one picture, several, and one with a mask', async () => {
    const edit = (given: Partial<OpenAI.ImageEditParamsNonStreaming>): Promise<OpenAI.ImagesResponse> =>
      gallery.client.images.edit({
        model: gpt,
        prompt: 'Make it night',
        quality: 'low',
        image: [],
        ...given,
      });
    const one = await edit({ image: await pngFile() });
    expect(one.usage).toMatchObject({
      input_tokens: 327,
      input_tokens_details: { text_tokens: 4, image_tokens: 323 },
      num_input_images: 1,
    });
    expect(one.data?.[0]).toEqual({ b64_json: pixel(1), index: 0 });
    const several = await edit({
      image: [await pngFile('a.png', 1), await pngFile('b.png', 2), await pngFile('c.png', 3)],
    });
    expect(several.usage).toMatchObject({ input_tokens_details: { image_tokens: 969 }, num_input_images: 3 });
    const masked = await edit({ image: await pngFile(), mask: await pngFile('mask.png', 8) });
    expect(masked.usage).toMatchObject({ input_tokens_details: { image_tokens: 646 }, num_input_images: 1 });
  });

  it('receives the exact bytes of the files, under the names it takes', async () => {
    const seen: unknown[] = [];
    gallery.painter.script('gpt-image-1.5', ({ request: { files, ...fields } }) => {
      seen.push(fields, ...files.map(({ field, type, bytes }) => [field, type, bytes]));
      return {};
    });
    await gallery.client.images.edit({
      model: gpt,
      prompt: 'Mach es "Nacht" – 🌙',
      quality: 'medium',
      n: 2,
      size: '1024x1536',
      input_fidelity: 'high',
      image: [await pngFile('a.png', 1), new File([new Uint8Array(jpegBytes)], 'b', { type: 'image/gif' })],
      mask: await pngFile('m.png', 8),
    });
    expect(seen).toEqual([
      {
        model: 'gpt-image-1.5',
        prompt: 'Mach es "Nacht" – 🌙',
        quality: 'medium',
        n: 2,
        size: '1024x1536',
        input_fidelity: 'high',
      },
      ['image[]', 'image/png', pngBytes(1)],
      ['image[]', 'image/jpeg', jpegBytes],
      ['mask', 'image/png', pngBytes(8)],
    ]);
  });

  it('streams an edit', async () => {
    const stream = await gallery.client.images.edit({
      model: gpt,
      prompt: 'Make it night',
      quality: 'low',
      image: await pngFile(),
      stream: true,
      partial_images: 1,
    });
    const events = await Array.fromAsync(stream);
    expect(events.map(({ type }) => type)).toEqual(['image_edit.partial_image', 'image_edit.completed']);
    expect(events[1]).toMatchObject({
      b64_json: pixel(1),
      usage: { input_tokens_details: { text_tokens: 4, image_tokens: 323 }, num_input_images: 1 },
    });
  });
});

describe('a model of generate-content', () => {
  it('makes one picture, requested in its own protocol', async () => {
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
    expect(Object.keys(result.usage?.input_tokens_details ?? {})).toEqual(['text_tokens']);
  });

  it('streams it as one event', async () => {
    const stream = await gallery.client.images.generate({
      model: nano,
      prompt: 'A lighthouse',
      quality: 'auto',
      stream: true,
    });
    expect((await Array.fromAsync(stream)).map(({ type }) => type)).toEqual(['image_generation.completed']);
  });

  it('reports the settings that it does not take', async () => {
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

  it.each([1, 2])('takes no n, not even %i', async (n) => {
    const error: unknown = await gallery.client.images
      .generate({ model: nano, prompt: 'A lighthouse', quality: 'auto', n })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 400, param: 'n' });
    expect(gallery.gemini.requests.filter(({ body }) => String(body).includes('candidateCount'))).toEqual([]);
  });

  it('edits nothing', async () => {
    const asked = gallery.gemini.requests.length;
    const error: unknown = await gallery.client.images
      .edit({ model: nano, prompt: 'Make it night', quality: 'low', image: await pngFile() })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      status: 400,
      error: { message: 'Image editing is not supported for model', type: 'invalid_request_error' },
    });
    expect(gallery.gemini.requests).toHaveLength(asked);
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

  it('never returns its thoughts as the result', async () => {
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
    'fails with a clear error if it answers with %s, whole and streamed',
    async (_, body, status, message) => {
      const reply = { status: 200, body };
      const frame = {
        status: 200,
        headers: { 'content-type': 'text/event-stream' },
        body: `data: ${JSON.stringify(body)}\r\n\r\n`,
      };
      gallery.gemini.script('gemini-2.5-flash-image', { reply }, { reply: frame });
      const used = await gallery.balance();
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
      expect(await gallery.balance()).toBe(used);
    },
  );
});

describe('the charge', () => {
  it('has text and image tokens at their own rates', async () => {
    // 3 x 5 + 272 x 32 USD a million.
    expect(
      await costOf(() =>
        gallery.client.images.generate({ model: gpt, prompt: 'A lighthouse', quality: 'low' }),
      ),
    ).toBe('completed usage 8719000');
    // 4 x 5 + 323 x 8 + 272 x 32.
    expect(
      await costOf(async () =>
        gallery.client.images.edit({
          model: gpt,
          prompt: 'Make it night',
          quality: 'low',
          image: await pngFile(),
        }),
      ),
    ).toBe('completed usage 11308000');
  });

  it('has text next to a picture as text tokens', async () => {
    gallery.painter.script('gpt-image-1.5', {
      usage: { output_tokens: 300, output_tokens_details: { image_tokens: 272, text_tokens: 28 } },
    });
    // 3 x 5 + 272 x 32 + 28 x 10.
    expect(
      await costOf(() =>
        gallery.client.images.generate({ model: gpt, prompt: 'A lighthouse', quality: 'low' }),
      ),
    ).toBe('completed usage 8999000');
  });

  it('has a picture of generate-content by its tokens, and thoughts as text tokens', async () => {
    const usageMetadata = {
      promptTokenCount: 10,
      candidatesTokenCount: 1290,
      thoughtsTokenCount: 100,
      totalTokenCount: 1400,
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }],
    };
    const body = {
      candidates: [
        {
          finishReason: 'STOP',
          content: { parts: [{ inlineData: { mimeType: 'image/png', data: pixel(1) } }] },
        },
      ],
      usageMetadata,
    };
    gallery.gemini.script(
      'gemini-2.5-flash-image',
      { reply: { status: 200, body } },
      {
        reply: {
          status: 200,
          body: { ...body, usageMetadata: { ...usageMetadata, candidatesTokensDetails: undefined } },
        },
      },
    );
    const call = (): Promise<unknown> =>
      gallery.client.images.generate({ model: nano, prompt: 'A lighthouse', quality: 'auto' });
    // 10 x 0.3 + 1290 x 30 + 100 x 2.5, also if the provider does not distinguish images from text.
    expect(await costOf(call)).toBe('completed usage 38953000');
    expect(await costOf(call)).toBe('completed usage 38953000');
  });

  it('has each picture at its price if the model is priced by picture', async () => {
    expect(
      await costOf(() =>
        gallery.client.images.generate({
          model: 'demo/paint',
          prompt: 'A lighthouse',
          quality: 'auto',
          size: '256x256',
          n: 3,
        }),
      ),
    ).toBe('completed usage 6000000');
  });

  it('has an estimate by quality if the provider sends no usage', async () => {
    gallery.painter.script('gpt-image-1.5', { usage: 'missing' });
    // The call's 72 bytes are 18 tokens; a picture of low quality is estimated at 1500.
    expect(
      await costOf(() =>
        gallery.post('/v1/images/generations', { model: gpt, prompt: 'A lighthouse', quality: 'low' }),
      ),
    ).toBe('completed estimate 48090000');
  });

  it('is what the balance loses', async () => {
    const { charges } = gallery.gateway.ends.reduce(
      (sum, end) => ({ charges: sum.charges + ('charge' in end ? end.charge.cost : 0n) }),
      { charges: 0n },
    );
    expect(BigInt(Math.round((await gallery.balance()) * 1e9))).toBe(charges);
  });
});
