/** The contract of families, for moderations with a vendor as strict as the real one. */
import fc from 'fast-check';
import { z } from 'zod';
import { checkModel } from '../../core/index.ts';
import { moderations } from '../../plugins/protocols/moderations/index.ts';
import { testFamily, type FamilyClient, type FamilyVendor } from '../contract/family.ts';
import { character } from '../support/arbitrary.ts';
import { buildModelFacts } from '../support/test-provider.ts';

const text = fc.string({ unit: character, maxLength: 8 });
const url = fc.constantFrom('https://example.com/a.png', 'data:image/png;base64,iVBORw0KGgo=');
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text }),
  fc.record({ type: fc.constant('image_url'), image_url: fc.record({ url }) }),
);

const verdict = z.strictObject({
  // Mistral has none.
  flagged: z.boolean().optional(),
  // OpenAI's older models have null for some.
  categories: z.record(z.string(), z.boolean().nullable()),
  category_scores: z.record(z.string(), z.number()),
});
const reply = z.strictObject({
  id: z.string(),
  model: z.literal('house/guard'),
  results: z.array(verdict),
  usage: z.strictObject({ prompt_tokens: z.int(), total_tokens: z.int() }),
});

function judge(input: unknown): z.output<typeof verdict>[] {
  const isList = Array.isArray(input) && typeof input[0] === 'string';
  return (isList ? input : [input]).map((each) => {
    const { length } = JSON.stringify(each);
    return {
      flagged: length > 6,
      categories: { violence: length > 6 },
      category_scores: { violence: length / 1024 },
    };
  });
}

const client: FamilyClient = {
  wire: 'moderations',
  path: '/v1/moderations',
  bodies: fc.record(
    {
      model: fc.constant('house/guard'),
      input: fc.oneof(
        text,
        fc.array(text, { minLength: 1, maxLength: 4 }),
        fc.array(part, { minLength: 1, maxLength: 3 }),
      ),
      metadata: fc.record({ team: text }),
    },
    { requiredKeys: ['model', 'input'] },
  ),
  local: ['model'],
  readAnswers: (body) => reply.parse(body).results,
  expectAnswers: ({ input }) => judge(input),
};

const body = z.strictObject({
  model: z.literal('guard'),
  input: z.union([z.string(), z.array(z.string()).min(1), z.array(z.looseObject({})).min(1)]),
  metadata: z.record(z.string(), z.string()).optional(),
});

const vendor: FamilyVendor = {
  model: checkModel(
    buildModelFacts({
      id: 'house/guard',
      upstream: 'guard',
      input: ['text', 'image'],
      output: ['categories'],
      protocols: ['moderations'],
    }),
  ),
  answer(sent, tokens) {
    const results = judge(body.parse(sent).input);
    return { id: 'modr-1', model: 'guard', results, usage: { prompt_tokens: tokens, total_tokens: tokens } };
  },
  toUsage: (tokens) => (tokens > 0 ? { input: tokens, output: 0 } : undefined),
};

testFamily({
  plugin: moderations(),
  clients: [client],
  vendors: { moderations: vendor },
});
