import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isObject } from '../support/json.ts';
import { postJson } from '../support/post.ts';
import { openGoogleHouse, type GoogleHouse } from './google-harness.ts';

let google: GoogleHouse;
beforeAll(async () => void (google = await openGoogleHouse()));
afterAll(() => google.close());
beforeEach(() => void google.asked.splice(0));

describe('a Google client and another provider', () => {
  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];

  it('hold a streamed conversation', async () => {
    google.harness.vendor.script('gpt-4o-mini', {
      text: ['Good ', 'day.'],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
    const chunks = await Array.fromAsync(
      await google.ai.models.generateContentStream({
        model: 'openai/gpt-4o-mini',
        contents,
        config: { temperature: 0.5, topK: 3, maxOutputTokens: 50 },
      }),
    );
    expect(chunks.map(({ text }) => text).join('')).toBe('Good day.');
    expect(chunks.at(-1)).toMatchObject({
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: { totalTokenCount: 5 },
      modelVersion: 'openai/gpt-4o-mini',
    });
    expect(JSON.parse(google.harness.vendor.requests.at(-1)?.body.toString() ?? '')).toMatchObject({
      model: 'gpt-4o-mini',
      max_completion_tokens: 50,
      temperature: 0.5,
      messages: [{ role: 'user', content: 'Hello' }],
    });
  });

  it("report losses by the client's own field names", async () => {
    google.harness.vendor.script('gpt-4o-mini', { text: ['Hi.'] });
    const response = await google.post('openai/gpt-4o-mini:generateContent', {
      contents,
      safety_settings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'OFF' }],
      generation_config: { top_k: 4, enable_affective: true },
    });
    const dropped = response.headers.get('x-tollgate-dropped')?.split(',') ?? [];
    expect(dropped.toSorted()).toEqual([
      'generation_config.enable_affective',
      'generation_config.top_k',
      'safety_settings',
    ]);
  });

  it('refuse a call whose prompt is cached at Google', async () => {
    const response = await google.post('openai/gpt-4o-mini:generateContent', {
      contents,
      cachedContent: 'cachedContents/x',
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { status: 'INVALID_ARGUMENT', message: expect.stringContaining('cachedContent') } },
    ]);
  });

  it.each(['embedContent', 'batchGenerateContent'])(
    "answer %s with a 404 in Google's format that lists the methods",
    async (method) => {
      const headers = { 'content-type': 'application/json' };
      const response = await postJson(
        `${google.harness.gateway.url}/beta/v1beta/models/openai/gpt-4o-mini:${method}`,
        { contents },
        headers,
      );
      expect([response.status, await response.json()]).toMatchObject([
        404,
        {
          error: {
            code: 404,
            status: 'NOT_FOUND',
            message: expect.stringMatching(
              `${method}: .* the methods generateContent, streamGenerateContent, countTokens.$`,
            ),
          },
        },
      ]);
    },
  );

  it('answer a count with an estimate, marked as one, if the vendor has no count', async () => {
    const response = await google.post('openai/gpt-4o-mini:countTokens', { contents });
    const body: unknown = await response.json();
    expect([response.headers.get('x-tollgate-estimate'), isObject(body) && typeof body.totalTokens]).toEqual([
      'true',
      'number',
    ]);
  });
});
