/** The service interface of generate-content, field by field. */
import { describe, expect, it } from 'vitest';
import { readData } from '../support/listen.ts';
import { key, number, openService, post, said, text } from './service.ts';

openService();

describe('generate-content', () => {
  const buildAddress = (method: string, model = 'demo/echo'): string =>
    `/beta/v1beta/models/${model}:${method}`;
  const ahoy = { contents: [{ parts: [{ text: 'Ahoy' }] }] };
  const buildOwnHeaders = (): Record<string, string> => ({ 'x-partner-api-key': key });
  const usageMetadata = expect.objectContaining({
    promptTokenCount: number,
    candidatesTokenCount: number,
    totalTokenCount: number,
    candidatesTokensDetails: [{ modality: 'TEXT', tokenCount: number }],
  });
  const whole = {
    candidates: [{ content: { role: 'model', parts: [{ text: said }] }, finishReason: 'STOP' }],
    modelVersion: 'demo/echo',
    usageMetadata,
  };

  it.each([
    ['the key header', () => buildOwnHeaders()],
    ['the key header of its vendor', () => ({ 'x-goog-api-key': key })],
    ['a bearer', () => ({ authorization: `Bearer ${key}` })],
  ])('answers at %s', async (_, headers) => {
    expect(await post(buildAddress('generateContent'), ahoy, headers())).toMatchObject({
      status: 200,
      body: whole,
    });
  });

  it('accepts bytes in both spellings', async () => {
    for (const part of [
      { inline_data: { mime_type: 'image/png', data: 'iVBORw0KGgo=' } },
      { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
    ]) {
      expect(
        (
          await post(
            buildAddress('generateContent'),
            { contents: [{ parts: [{ text: 'Ahoy' }, part] }] },
            buildOwnHeaders(),
          )
        ).status,
      ).toBe(200);
    }
  });

  it('returns a picture as base64 in a part', async () => {
    const { body } = await post(
      buildAddress('generateContent', 'demo/paint'),
      { contents: [{ parts: [{ text: 'A lighthouse' }] }] },
      buildOwnHeaders(),
    );
    expect(body).toMatchObject({
      candidates: [
        {
          content: {
            role: 'model',
            parts: [{ inlineData: { mimeType: 'image/png', data: expect.stringMatching(/^iVBORw0KGgo/) } }],
          },
        },
      ],
      usageMetadata: {
        candidatesTokensDetails: expect.arrayContaining([{ modality: 'IMAGE', tokenCount: number }]),
      },
    });
  });

  it('streams one array, and bare events if the client asks for them', async () => {
    const array = await post(buildAddress('streamGenerateContent'), ahoy, buildOwnHeaders());
    const events = await post(`${buildAddress('streamGenerateContent')}?alt=sse`, ahoy, buildOwnHeaders());
    expect([array.type, events.type]).toEqual([
      expect.stringContaining('application/json'),
      expect.stringContaining('text/event-stream'),
    ]);
    for (const chunks of [array.body, readData(events.text)]) {
      const all: unknown[] = Array.isArray(chunks) ? chunks : [];
      expect(all[0]).toMatchObject({
        candidates: [{ content: { role: 'model', parts: [{ text }] } }],
        modelVersion: 'demo/echo',
      });
      expect(all.at(-1)).toMatchObject({ candidates: [{ finishReason: 'STOP' }], usageMetadata });
      expect(JSON.stringify(all.slice(0, -1))).not.toContain('finishReason');
    }
  });

  it('counts the tokens of contents', async () => {
    expect(await post(buildAddress('countTokens'), ahoy, buildOwnHeaders())).toMatchObject({
      status: 200,
      body: { totalTokens: number },
    });
  });

  it.each<[string, string, object, Record<string, string> | undefined, number, string]>([
    [
      'a wrong key',
      buildAddress('generateContent'),
      ahoy,
      { 'x-partner-api-key': 'nonsense' },
      401,
      'UNAUTHENTICATED',
    ],
    ['no contents', buildAddress('generateContent'), {}, undefined, 400, 'INVALID_ARGUMENT'],
    [
      'a text that is none',
      buildAddress('generateContent'),
      { contents: [{ parts: [{ text: 1 }] }] },
      undefined,
      400,
      'INVALID_ARGUMENT',
    ],
    ['an unknown model', buildAddress('generateContent', 'demo/nobody'), ahoy, undefined, 404, 'NOT_FOUND'],
    ['an unknown method', buildAddress('embedContent'), ahoy, undefined, 404, 'NOT_FOUND'],
  ])('refuses %s in its own error format', async (_, path, body, headers, code, status) => {
    expect(await post(path, body, headers ?? buildOwnHeaders())).toMatchObject({
      status: code,
      body: { error: { code, status, message: text } },
    });
  });

  it('refuses a stream in array form with an array', async () => {
    expect(
      await post(buildAddress('streamGenerateContent', 'demo/nobody'), ahoy, buildOwnHeaders()),
    ).toMatchObject({
      status: 404,
      body: [{ error: { code: 404, status: 'NOT_FOUND' } }],
    });
  });
});
