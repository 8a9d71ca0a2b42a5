/**
 * The official SDK's `images.generate` and `images.edit` with both kinds of providers, whole and streamed,
 * and their cost.
 */
import type OpenAI from 'openai';
import { expect, it } from 'vitest';
import { pixel } from '../support/vendor/images.ts';
import { gallery, jpegBytes, makePng, makePngFile, gpt, useGallery } from './gallery.ts';

useGallery();

it('a provider of images makes a picture, with all fields of the service interface', async () => {
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
      input_tokens_details: { text_tokens: 3, image_tokens: 0 },
      output_tokens: 272,
      output_tokens_details: { image_tokens: 272, text_tokens: 0 },
      total_tokens: 275,
    },
  });
});

it.each(['generate', 'edit'] as const)(
  'a provider of images fills in the quality that %s left out, and says so',
  async (kind) => {
    const wanted = { model: gpt, prompt: 'A lighthouse' };
    const { images } = gallery.client;
    const { data, response } =
      kind === 'edit'
        ? await images.edit({ ...wanted, image: await makePngFile() }).withResponse()
        : await images.generate(wanted).withResponse();
    expect(response.headers.get('x-tollgate-defaulted')).toBe('quality');
    expect(data.data).toHaveLength(1);
    expect(String(gallery.painter.requests.at(-1)?.body)).toMatch(
      /"quality":"auto"|name="quality"\r\n\r\nauto\r/,
    );
    const stated = await images.generate({ ...wanted, quality: 'low' }).withResponse();
    expect(stated.response.headers.get('x-tollgate-defaulted')).toBeNull();
  },
);

it('a provider of images names the quality that was left out beside an error, too', async () => {
  const response = await gallery.post('/v1/images/generations', {
    model: 'openai/none',
    prompt: 'A heron',
  });
  expect([response.status, response.headers.get('x-tollgate-defaulted')]).toEqual([404, 'quality']);
});

it('a provider of images makes several at once, each with its index', async () => {
  const { data } = await gallery.client.images.generate({
    model: gpt,
    prompt: 'A lighthouse',
    quality: 'low',
    n: 3,
  });
  expect(data).toEqual([1, 2, 3].map((shade, index) => ({ b64_json: pixel(shade), index })));
});

it('a provider of images receives every setting, and nothing else', async () => {
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

it('a provider of images streams unfinished pictures and the finished one', async () => {
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

it('a provider of images edits pictures that come in JSON, with a mask and every setting', async () => {
  const toUrl = (bytes: Buffer): string => `data:image/png;base64,${bytes.toString('base64')}`;
  const response = await gallery.post('/v1/images/edits', {
    model: gpt,
    prompt: 'Make it night',
    quality: 'low',
    n: 2,
    images: [{ image_url: toUrl(makePng(1)) }, { image_url: toUrl(makePng(2)), file_id: null }],
    mask: { image_url: toUrl(makePng(3)) },
  });
  expect(await response.json()).toMatchObject({ data: [{}, {}], usage: { num_input_images: 2 } });
  const { path, body } = gallery.painter.requests.at(-1) ?? {};
  expect(path).toBe('/v1/images/edits');
  const sent = String(body);
  expect([...sent.matchAll(/ name="([^"]+)"/g)].map(([, name]) => name).toSorted()).toEqual([
    'image[]',
    'image[]',
    'mask',
    'model',
    'n',
    'prompt',
    'quality',
  ]);
});

it('a provider of images edits one picture, several, and one with a mask', async () => {
  const edit = (given: Partial<OpenAI.ImageEditParamsNonStreaming>): Promise<OpenAI.ImagesResponse> =>
    gallery.client.images.edit({
      model: gpt,
      prompt: 'Make it night',
      quality: 'low',
      image: [],
      ...given,
    });
  const one = await edit({ image: await makePngFile() });
  expect(one.usage).toMatchObject({
    input_tokens: 327,
    input_tokens_details: { text_tokens: 4, image_tokens: 323 },
    num_input_images: 1,
  });
  expect(one.data?.[0]).toEqual({ b64_json: pixel(1), index: 0 });
  const several = await edit({
    image: [await makePngFile('a.png', 1), await makePngFile('b.png', 2), await makePngFile('c.png', 3)],
  });
  expect(several.usage).toMatchObject({ input_tokens_details: { image_tokens: 969 }, num_input_images: 3 });
  const masked = await edit({ image: await makePngFile(), mask: await makePngFile('mask.png', 8) });
  expect(masked.usage).toMatchObject({ input_tokens_details: { image_tokens: 646 }, num_input_images: 1 });
});

it('a provider of images receives the exact bytes of the files, under the names it takes', async () => {
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
    image: [await makePngFile('a.png', 1), new File([new Uint8Array(jpegBytes)], 'b', { type: 'image/gif' })],
    mask: await makePngFile('m.png', 8),
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
    ['image[]', 'image/png', makePng(1)],
    ['image[]', 'image/jpeg', jpegBytes],
    ['mask', 'image/png', makePng(8)],
  ]);
});

it('a provider of images streams an edit', async () => {
  const stream = await gallery.client.images.edit({
    model: gpt,
    prompt: 'Make it night',
    quality: 'low',
    image: await makePngFile(),
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
