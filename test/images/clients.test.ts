/** Clients of the other protocols and models that make pictures. */
import { GoogleGenAI } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { isObject } from '../support/json.ts';
import { readData } from '../support/listen.ts';
import { pixel } from '../support/vendor/images.ts';
import { gallery, makePng, useGallery } from './gallery.ts';

useGallery();

const model = 'openai/gpt-image-1.5';
const picture = makePng(5).toString('base64');
const shown = `data:image/png;base64,${pixel(1)}`;

/** The path and body of the latest request to the provider of images. */
function getLastRequest(): { path: string | undefined; body: string } {
  const { path, body } = gallery.painter.requests.at(-1) ?? {};
  return { path, body: String(body) };
}

describe('chat-completions', () => {
  const path = '/v1/chat/completions';

  it('gets a picture next to the text, and pays for it', async () => {
    const before = gallery.gateway.ends.length;
    const response = await gallery.post(path, {
      model,
      messages: [
        { role: 'system', content: 'Woodcuts only.' },
        { role: 'user', content: 'A heron' },
      ],
      n: 2,
    });
    expect(await response.json()).toMatchObject({
      object: 'chat.completion',
      model,
      choices: [1, 2].map((shade, index) => ({
        index,
        finish_reason: 'stop',
        message: {
          role: 'assistant',
          content: '',
          images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${pixel(shade)}` } }],
        },
      })),
      usage: { completion_tokens: 2112, completion_tokens_details: { image_tokens: 2112 } },
    });
    expect(JSON.parse(getLastRequest().body)).toEqual({
      model: 'gpt-image-1.5',
      prompt: 'Woodcuts only.\n\nA heron',
      n: 2,
    });
    // 6 x 5 + 2112 x 32.
    expect((await gallery.gateway.ended(before + 1)).at(-1)).toMatchObject({
      outcome: 'completed',
      charge: { cost: 67_614_000n },
    });
  });

  it.each([1, 2])('gets it in a stream of %i', async (n) => {
    const response = await gallery.post(path, {
      model,
      messages: [{ role: 'user', content: 'A heron' }],
      n,
      stream: true,
    });
    const text = await response.text();
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
    const urls = readData(text).flatMap(({ choices }) =>
      Array.isArray(choices)
        ? choices.flatMap((choice: { delta: { images?: unknown[] } }) => choice.delta.images ?? [])
        : [],
    );
    expect(urls).toHaveLength(n);
    expect(urls[0]).toEqual({ type: 'image_url', image_url: { url: shown } });
    expect(JSON.parse(getLastRequest().body)).toMatchObject(n === 1 ? { stream: true } : { n: 2 });
  });

  it('has its picture edited through a form', async () => {
    const messages = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Make it night' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
        ],
      },
    ];
    let files: unknown;
    gallery.painter.script('gpt-image-1.5', ({ request }) => {
      files = request.files.map(({ field, bytes }) => [field, bytes.toString('base64')]);
      return {};
    });
    const response = await gallery.post(path, { model, messages });
    expect([response.status, getLastRequest().path, files]).toEqual([
      200,
      '/v1/images/edits',
      [['image', picture]],
    ]);
  });

  it('continues the conversation about the picture it got', async () => {
    const messages = [
      { role: 'user', content: 'A heron' },
      { role: 'assistant', content: 'There.' },
      { role: 'user', content: 'Now at night' },
    ];
    const response = await gallery.post(path, {
      model,
      messages,
      temperature: 0.5,
      max_completion_tokens: 50,
      tools: [{ type: 'function', function: { name: 'f' } }],
    });
    expect(response.headers.get('x-tollgate-dropped')?.split(',').toSorted()).toEqual([
      'max_completion_tokens',
      'messages[1].content',
      'temperature',
      'tools[0]',
    ]);
    expect(JSON.parse(getLastRequest().body)).toEqual({
      model: 'gpt-image-1.5',
      prompt: 'A heron\n\nNow at night',
    });
  });

  it.each([
    [
      'a picture at an address',
      [
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        { type: 'text', text: 'Night' },
      ],
      /fetches none from a URL: send a data URL/,
    ],
    [
      'a document',
      [
        { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' } },
        { type: 'text', text: 'Night' },
      ],
      /nothing else besides its prompt/,
    ],
    [
      'no words',
      [{ type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }],
      /No text describes what to draw/,
    ],
  ])('cannot send %s', async (_, content, message) => {
    const response = await gallery.post(path, { model, messages: [{ role: 'user', content }] });
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: expect.objectContaining({ message: expect.stringMatching(message) }) },
    ]);
  });
});

it('a client of responses gets an image generation call, with the settings of its image tool', async () => {
  const tools = [
    {
      type: 'image_generation',
      quality: 'low',
      size: '1024x1536',
      output_format: 'png',
      background: 'auto',
    },
  ];
  const { output } = await gallery.client.responses.create({
    model,
    input: 'A heron',
    tools: tools as never,
  });
  expect(output).toMatchObject([
    { type: 'image_generation_call', status: 'completed', output_format: 'png', result: pixel(1) },
  ]);
  expect(JSON.parse(getLastRequest().body)).toEqual({
    model: 'gpt-image-1.5',
    prompt: 'A heron',
    quality: 'low',
    size: '1024x1536',
    output_format: 'png',
    background: 'auto',
  });
});

it('a client of responses gets it in a stream', async () => {
  const stream = gallery.client.responses.stream({ model, input: 'A heron' });
  expect((await stream.finalResponse()).output).toMatchObject([
    { type: 'image_generation_call', result: pixel(1) },
  ]);
});

const createSdk = (): GoogleGenAI =>
  new GoogleGenAI({ apiKey: gallery.key, httpOptions: { baseUrl: `${gallery.gateway.url}/beta` } });

it('a client of generate-content gets a picture from a provider of images', async () => {
  const { candidates, usageMetadata } = await createSdk().models.generateContent({
    model,
    contents: 'A heron',
  });
  expect(candidates?.[0]?.content?.parts).toEqual([
    { inlineData: { mimeType: 'image/png', data: pixel(1) } },
  ]);
  expect(usageMetadata?.candidatesTokensDetails).toEqual([{ modality: 'IMAGE', tokenCount: 1056 }]);
  const chunks = await Array.fromAsync(
    await createSdk().models.generateContentStream({ model, contents: 'A heron' }),
  );
  const parts = chunks.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? []);
  expect(parts.flatMap(({ inlineData }) => inlineData ?? [])).toEqual([
    { mimeType: 'image/png', data: pixel(1) },
  ]);
});

it('a client of generate-content has its inline picture edited by a Gemini model', async () => {
  const contents = [
    {
      role: 'user',
      parts: [{ text: 'Make it night' }, { inlineData: { mimeType: 'image/png', data: picture } }],
    },
  ];
  const { candidates } = await createSdk().models.generateContent({
    model: 'google/gemini-2.5-flash-image',
    contents,
    config: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '16:9' } },
  });
  expect(
    candidates?.[0]?.content?.parts?.some(({ inlineData }) => inlineData?.mimeType === 'image/png'),
  ).toBe(true);
  expect(JSON.parse(String(gallery.gemini.requests.at(-1)?.body))).toMatchObject({
    contents,
    generationConfig: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '16:9' } },
  });
});

it('a client of generate-content has its picture edited by a provider of images', async () => {
  const contents = [
    {
      role: 'user',
      parts: [{ text: 'Make it night' }, { inlineData: { mimeType: 'image/png', data: picture } }],
    },
  ];
  const { candidates } = await createSdk().models.generateContent({ model, contents });
  expect([getLastRequest().path, candidates?.[0]?.content?.parts?.[0]?.inlineData?.data]).toEqual([
    '/v1/images/edits',
    pixel(1),
  ]);
});

it('a client of messages is refused before anything is made, since it cannot show a picture', async () => {
  const before = gallery.painter.requests.length;
  const headers = {
    'x-api-key': gallery.key,
    'anthropic-version': '2023-06-01',
    'content-type': 'application/json',
  };
  const body = JSON.stringify({ model, max_tokens: 10, messages: [{ role: 'user', content: 'A heron' }] });
  const response = await fetch(`${gallery.gateway.url}/alpha/v1/messages`, {
    method: 'POST',
    headers,
    body,
  });
  const answer: unknown = await response.json();
  expect([response.status, isObject(answer) && answer.type]).toEqual([400, 'error']);
  expect(JSON.stringify(answer)).toContain('returns only pictures');
  expect(gallery.painter.requests).toHaveLength(before);
});

it('a client of images reaches only models that make pictures', async () => {
  const response = await gallery.post('/v1/images/generations', {
    model: 'openai/gpt-5.5',
    prompt: 'A heron',
    quality: 'low',
  });
  expect([response.status, await response.json()]).toEqual([
    400,
    {
      error: expect.objectContaining({
        message: 'The model "openai/gpt-5.5" cannot create images.',
        param: 'model',
      }),
    },
  ]);
});

it('a client of images names an unknown model in its error', async () => {
  const response = await gallery.post('/v1/images/generations', {
    model: 'openai/gpt-image-9',
    prompt: 'A heron',
    quality: 'low',
  });
  expect(response.status).toBe(404);
});
