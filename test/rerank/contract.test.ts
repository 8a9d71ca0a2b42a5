/** The contract of families, for each wire of rerankers with a vendor as strict as the real one. */
import fc from 'fast-check';
import { z } from 'zod';
import { checkModel, type Model, type Usage } from '../../core/index.ts';
import { rerank } from '../../plugins/protocols/rerank/index.ts';
import { testFamily, type FamilyClient, type FamilyVendor } from '../contract/family.ts';
import { character } from '../support/arbitrary.ts';
import { buildModelFacts } from '../support/test-provider.ts';
import {
  answerBedrock,
  answerCohere,
  answerGoogle,
  answerJina,
  answerTei,
  answerVoyage,
  score,
} from './vendors.ts';

const text = fc.string({ unit: character, minLength: 1, maxLength: 8 });

const settings = {
  query: text,
  top_n: fc.integer({ min: 1, max: 50 }),
  return_documents: fc.boolean(),
  max_tokens_per_doc: fc.integer({ min: 1, max: 9999 }),
  truncation: fc.constant(false),
  x_unknown: fc.integer(),
};

/** More than one vendor takes at once. */
const texts = fc.array(fc.oneof(text, fc.record({ text })), { minLength: 1, maxLength: 80 });

/** The first member that is named is longer than any other text. */
const fields = fc.array(fc.record({ title: text, text: fc.constant('a text that does not count') }), {
  minLength: 1,
  maxLength: 4,
});

const bodies = fc
  .oneof(
    fc.record({ ...settings, documents: texts }, { requiredKeys: ['query', 'documents'] }),
    fc.record({ ...settings, documents: fields, rank_fields: fc.constant(['title']) }),
  )
  .map((body) => ({ model: 'house/rank', ...body }));

const sent = z.looseObject({
  documents: z.array(
    z.union([z.string(), z.looseObject({ text: z.string(), title: z.string().optional() })]),
  ),
  rank_fields: z.unknown().optional(),
  top_n: z.int().optional(),
});

const result = z.strictObject({
  index: z.int(),
  relevance_score: z.number(),
  document: z.unknown().optional(),
});

type Reply = z.ZodType<{ results: z.output<typeof result>[] }>;

function makeClient(wire: string, path: string, reply: Reply): FamilyClient {
  return {
    wire,
    path,
    bodies,
    local: ['model', 'top_n', 'return_documents'],
    readAnswers: (body) =>
      reply.parse(body).results.map(({ index, relevance_score }) => ({ index, relevance_score })),
    expectAnswers(body) {
      const { documents, rank_fields: names, top_n: most } = sent.parse(body);
      const read = documents.map((each) =>
        typeof each === 'string' ? each : ((names ? each.title : undefined) ?? each.text),
      );
      return score(read, most);
    },
  };
}

const meta = z.looseObject({ billed_units: z.looseObject({}) });
const usage = z.strictObject({
  prompt_tokens: z.int(),
  total_tokens: z.int(),
  search_units: z.int().optional(),
});
const jinaReply = z.strictObject({
  id: z.string(),
  object: z.literal('list'),
  model: z.literal('house/rank'),
  results: z.array(result),
  meta,
  usage,
});
const cohereReply = z.strictObject({ id: z.string(), results: z.array(result), meta });

function makeModel(wire: string, upstream: string): Model {
  return checkModel(buildModelFacts({ id: 'house/rank', upstream, output: ['scores'], protocols: [wire] }));
}

const toTokens = (tokens: number): Usage | undefined =>
  tokens > 0 ? { input: tokens, output: 0 } : undefined;
const toNothing = (): undefined => undefined;

const vendors: Readonly<Record<string, FamilyVendor>> = {
  rerank: { model: makeModel('rerank', 'bge'), answer: answerJina, toUsage: toTokens },
  'cohere-rerank': {
    model: makeModel('cohere-rerank', 'rerank-v3.5'),
    answer: (body, tokens) => answerCohere(body, { input_tokens: tokens }),
    toUsage: toTokens,
  },
  'voyage-rerank': {
    model: makeModel('voyage-rerank', 'rerank-3'),
    answer: answerVoyage,
    toUsage: toTokens,
  },
  'bedrock-rerank': {
    model: makeModel('bedrock-rerank', 'amazon.rerank-v1:0'),
    answer: answerBedrock,
    toUsage: toNothing,
  },
  'google-rank': {
    model: makeModel('google-rank', 'semantic-ranker-default-004'),
    answer: answerGoogle,
    toUsage: () => ({ input: 0, output: 0, search: 1 }),
  },
  'tei-rerank': { model: makeModel('tei-rerank', 'reranker'), answer: answerTei, toUsage: toNothing },
};

testFamily({
  plugin: rerank(),
  clients: [
    makeClient('rerank', '/v1/rerank', jinaReply),
    makeClient('cohere-rerank', '/v2/rerank', cohereReply),
  ],
  vendors,
});
