/** What clients send on each wire, at random, and what they read of its replies. */
import fc from 'fast-check';
import { z } from 'zod';
import type { FamilyClient } from '../contract/family.ts';
import { character, word } from '../support/arbitrary.ts';
import { fromWire, toVector } from './vectors.ts';

/** Lengths that all fake vendors have. */
export const lengths = [8, 16, 32] as const;

const text = fc.string({ unit: character, minLength: 1, maxLength: 8 });

const textBody = z.looseObject({
  input: z.union([z.string(), z.array(z.string())]),
  dimensions: z.number().optional(),
});

const reply = z.strictObject({
  object: z.literal('list'),
  model: z.string(),
  data: z.array(
    z.strictObject({ object: z.literal('embedding'), index: z.number(), embedding: z.unknown() }),
  ),
  usage: z.strictObject({ prompt_tokens: z.int(), total_tokens: z.int() }),
});

const openai: Omit<FamilyClient, 'wire'> = {
  path: '/v1/embeddings',
  bodies: fc.record(
    {
      model: fc.constant('house/embed'),
      input: fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 5 })),
      dimensions: fc.constantFrom(...lengths),
      encoding_format: fc.constantFrom('float', 'base64'),
      input_type: fc.constantFrom('query', 'document', 'search_query', 'clustering', 'classification'),
      truncate: fc.constantFrom('START', 'END'),
      user: word,
      x_unknown: fc.integer(),
    },
    { requiredKeys: ['model', 'input'] },
  ),
  local: ['model', 'encoding_format'],
  readAnswers(body) {
    const { data } = reply.parse(body);
    const read = data.map(({ embedding }) => fromWire(embedding));
    if (new Set(read.map(({ length }) => length)).size > 1) throw new Error('vectors of several lengths');
    return read;
  },
  expectAnswers(body) {
    const { input, dimensions } = textBody.parse(body);
    return [input].flat().map((each) => toVector(each, dimensions));
  },
};

const taskType = fc.constantFrom(
  'RETRIEVAL_QUERY',
  'RETRIEVAL_DOCUMENT',
  'CLASSIFICATION',
  'FACT_VERIFICATION',
);

const shared = {
  taskType,
  outputDimensionality: fc.constantFrom(...lengths),
  x_unknown: fc.integer(),
};

const settings = { ...shared, title: word };

const content = fc.array(text, { minLength: 1, maxLength: 3 }).map((texts) => ({
  role: 'user',
  parts: texts.map((each) => ({ text: each })),
}));

const contentBody = z.looseObject({
  content: z.looseObject({ parts: z.array(z.looseObject({ text: z.string() })) }),
  outputDimensionality: z.number().optional(),
});
type ContentBody = z.output<typeof contentBody>;

function expectVector({ content: { parts }, outputDimensionality: length }: ContentBody): number[] {
  return toVector(parts.map(({ text: each }) => each).join('\n'), length);
}

const usageMetadata = z.looseObject({ promptTokenCount: z.int(), totalTokenCount: z.int() });
const values = z.strictObject({ values: z.array(z.number()) });
const singleReply = z.strictObject({ embedding: values, usageMetadata });
const batchReply = z.strictObject({ embeddings: z.array(values), usageMetadata });

const embedContent: Omit<FamilyClient, 'wire'> = {
  path: '/v1beta/models/house/embed:embedContent',
  bodies: fc.record({ content, ...settings }, { requiredKeys: ['content'] }),
  readAnswers: (body) => [fromWire(singleReply.parse(body).embedding.values)],
  expectAnswers: (body) => [expectVector(contentBody.parse(body))],
};

const batchBody = z.looseObject({ requests: z.array(contentBody) });

const batchEmbedContents: Omit<FamilyClient, 'wire'> = {
  path: '/beta/v1/models/house/embed:batchEmbedContents',
  bodies: fc
    .tuple(
      fc.array(fc.record({ content, title: word }, { requiredKeys: ['content'] }), {
        minLength: 1,
        maxLength: 4,
      }),
      fc.record(shared, { requiredKeys: [] }),
    )
    .map(([requests, alike]) => ({
      requests: requests.map((each) => ({ model: 'models/house/embed', ...alike, ...each })),
    })),
  readAnswers: (body) => batchReply.parse(body).embeddings.map(({ values: vector }) => fromWire(vector)),
  expectAnswers: (body) => batchBody.parse(body).requests.map(expectVector),
};

export const clients: readonly FamilyClient[] = [
  { wire: 'embeddings', ...openai },
  { wire: 'embed-content', ...embedContent },
  { wire: 'embed-content', ...batchEmbedContents },
];
