/** The official SDKs of several majors, and the AI SDK, through a gateway to strict vendors of families. */
import { createCohere } from '@ai-sdk/cohere';
import { createOpenAI } from '@ai-sdk/openai';
import { GoogleGenAI } from '@google/genai';
import { embed, embedMany, rerank } from 'ai';
import { embedMany as embedManyIn6 } from 'ai-6';
import { createOpenAI as createOpenAIIn3 } from 'ai-sdk-openai-3';
import { CohereClientV2 } from 'cohere-ai';
import { GoogleGenAI as GoogleGenAIIn2 } from 'google-genai-2';
import OpenAI from 'openai';
import OpenAIIn6 from 'openai-6';
import { beforeAll, describe, expect, it } from 'vitest';
import { toVector } from '../embeddings/vectors.ts';
import { openFamilies, type FamilyHarness } from './calls.ts';

const texts = ['a lamp', 'for ships', 'and a cup of tea'];
const vectors = texts.map((text) => toVector(text));

let families: FamilyHarness;
beforeAll(async () => {
  families = await openFamilies();
});

describe.each([
  ['7', OpenAI],
  ['6', OpenAIIn6],
] as const)("OpenAI's SDK %s", (_, Sdk) => {
  // They are called in the same way.
  const open = (): OpenAI =>
    Reflect.construct(Sdk, [{ apiKey: families.key, baseURL: `${families.gateway.url}/v1`, maxRetries: 0 }]);

  it.each([
    ['house/embed', undefined],
    ['house/embed', 'float'],
    ['house/embed-in-parts', undefined],
    ['house/embed-in-parts', 'float'],
    ['house/embed-by-google-in-parts', undefined],
  ] as const)('reads the vectors of %s as %s', async (model, format) => {
    const { data, usage } = await open().embeddings.create({
      model,
      input: texts,
      ...(format && { encoding_format: format }),
    });
    // This vendor's own list has another order.
    const sorted = data.toSorted((one, other) => one.index - other.index);
    expect(sorted.map(({ embedding }) => embedding)).toEqual(vectors);
    expect(usage.total_tokens).toBeGreaterThan(0);
  });

  it('reads verdicts, and choices whole and streamed', async () => {
    const sdk = open();
    const { results } = await sdk.moderations.create({ model: 'house/guard', input: texts });
    expect(results.map(({ flagged }) => flagged)).toEqual([false, false, false]);
    const { choices } = await sdk.completions.create({ model: 'house/complete', prompt: texts, n: 2 });
    expect(choices.map(({ text, index }) => [text, index])).toEqual(
      Array.from({ length: 6 }, (__, index) => [' upon', index]),
    );
    const stream = await sdk.completions.create({ model: 'house/complete', prompt: 'Once', stream: true });
    let said = '';
    for await (const { choices: some } of stream) said += some[0]?.text ?? '';
    expect(said).toBe(' upon');
  });

  it('throws what the gateway says of a wrong call', async () => {
    const wrong = open().embeddings.create({ model: 'house/embed', input: texts, dimensions: 9 });
    await expect(wrong).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('dimensions'),
    });
    const absent = open().moderations.create({ model: 'house/absent', input: texts });
    await expect(absent).rejects.toMatchObject({ status: 404, param: 'model' });
  });
});

describe.each([
  ['3', GoogleGenAI],
  ['2', GoogleGenAIIn2],
] as const)("Google's SDK %s", (_, Sdk) => {
  it.each(['house/embed-by-google', 'house/embed-by-google-in-parts', 'house/embed'])(
    'reads the vectors of %s',
    async (model) => {
      const { key, gateway } = families;
      const sdk = new Sdk({ apiKey: key, httpOptions: { baseUrl: `${gateway.url}/beta` } });
      const { embeddings } = await sdk.models.embedContent({
        model,
        contents: texts,
        config: { taskType: 'RETRIEVAL_DOCUMENT', outputDimensionality: 8 },
      });
      expect(embeddings?.map(({ values }) => values)).toEqual(texts.map((text) => toVector(text, 8)));
    },
  );
});

it.each(['house/rank', 'house/rank-in-parts'])("Cohere's SDK reads the places of %s", async (model) => {
  const sdk = new CohereClientV2({ token: families.key, environment: families.gateway.url, maxRetries: 0 });
  const { results } = await sdk.rerank({ model, query: 'tea', documents: texts, topN: 2 });
  expect(results.map(({ index }) => index)).toEqual([2, 1]);
});

it.each(['house/embed-by-google', 'house/embed-in-parts'])(
  'both majors of the AI SDK embed many values by %s',
  async (id) => {
    const settings = { apiKey: families.key, baseURL: `${families.gateway.url}/v1` };
    const model = createOpenAI(settings).embedding(id);
    const many = await embedMany({ model, values: texts, maxRetries: 0 });
    expect(many.embeddings).toEqual(vectors);
    expect(many.usage.tokens).toBeGreaterThan(0);
    const one = await embed({ model, value: 'a lamp', maxRetries: 0 });
    expect(one.embedding).toEqual(vectors[0]);
    const older = createOpenAIIn3(settings).embedding(id);
    expect((await embedManyIn6({ model: older, values: texts, maxRetries: 0 })).embeddings).toEqual(vectors);
  },
);

it.each(['house/rank', 'house/rank-in-parts'])('the AI SDK ranks texts by %s', async (id) => {
  const cohere = createCohere({ apiKey: families.key, baseURL: `${families.gateway.url}/v2` });
  const { ranking } = await rerank({
    model: cohere.reranking(id),
    query: 'tea',
    documents: texts,
    topN: 2,
    maxRetries: 0,
  });
  expect(ranking.map(({ originalIndex }) => originalIndex)).toEqual([2, 1]);
});
