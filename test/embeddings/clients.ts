/** What clients send on each wire, at random, and what they read of its replies. */
import fc from 'fast-check';
import { z } from 'zod';
import type { FamilyClient } from '../contract/family.ts';
import { character, word } from '../support/arbitrary.ts';
import { fromWire, toVector } from './vectors.ts';

/** Lengths that all fake vendors have. */
export const lengths = [256, 512, 1024] as const;

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

const openai: FamilyClient = {
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

export const clients = { embeddings: openai };
