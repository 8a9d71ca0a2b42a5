import { expect, it } from 'vitest';
import { pixel } from '../support/vendor/images.ts';
import { gallery, makePngFile, gpt, nano, useGallery } from './gallery.ts';

useGallery();

/** The exact cost of the next call. */
async function measureCost(call: () => Promise<unknown>): Promise<string> {
  const before = gallery.gateway.ends.length;
  await call();
  const end = (await gallery.gateway.ended(before + 1)).at(-1);
  return end?.type === 'answered'
    ? `${end.outcome} ${end.charge.basis} ${end.charge.cost}`
    : String(end?.type);
}

it('the charge has text and image tokens at their own rates', async () => {
  // 3 x 5 + 272 x 32 USD a million.
  expect(
    await measureCost(() =>
      gallery.client.images.generate({ model: gpt, prompt: 'A lighthouse', quality: 'low' }),
    ),
  ).toBe('completed usage 8719000');
  // 4 x 5 + 323 x 8 + 272 x 32.
  expect(
    await measureCost(async () =>
      gallery.client.images.edit({
        model: gpt,
        prompt: 'Make it night',
        quality: 'low',
        image: await makePngFile(),
      }),
    ),
  ).toBe('completed usage 11308000');
});

it('the charge has text next to a picture as text tokens', async () => {
  gallery.painter.script('gpt-image-1.5', {
    usage: { output_tokens: 300, output_tokens_details: { image_tokens: 272, text_tokens: 28 } },
  });
  // 3 x 5 + 272 x 32 + 28 x 10.
  expect(
    await measureCost(() =>
      gallery.client.images.generate({ model: gpt, prompt: 'A lighthouse', quality: 'low' }),
    ),
  ).toBe('completed usage 8999000');
});

it('the charge has a picture of generate-content by its tokens, and thoughts as text tokens', async () => {
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
  expect(await measureCost(call)).toBe('completed usage 38953000');
  expect(await measureCost(call)).toBe('completed usage 38953000');
});

it('the charge has each picture at its price if the model is priced by picture', async () => {
  expect(
    await measureCost(() =>
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

it('the charge has an estimate by quality if the provider sends no usage', async () => {
  gallery.painter.script('gpt-image-1.5', { usage: 'missing' });
  // The call's 72 bytes are 18 tokens; a picture of low quality is estimated at 1500.
  expect(
    await measureCost(() =>
      gallery.post('/v1/images/generations', { model: gpt, prompt: 'A lighthouse', quality: 'low' }),
    ),
  ).toBe('completed estimate 48090000');
});

it('the charge is what the balance loses', async () => {
  const { charges } = gallery.gateway.ends.reduce(
    (sum, end) => ({ charges: sum.charges + ('charge' in end ? end.charge.cost : 0n) }),
    { charges: 0n },
  );
  expect(BigInt(Math.round((await gallery.readUsed()) * 1e9))).toBe(charges);
});
