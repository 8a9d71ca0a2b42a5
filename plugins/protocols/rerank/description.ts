/** Describes the endpoints for the OpenAPI document. Fields that providers add pass too. */
import { z } from 'zod';
import type { CallDescription } from '../../../core/index.ts';
import { count, errorSchema } from '../../shared/wire-kit/reply-schemas.ts';
import { request } from './client.ts';

const documents = ['A lighthouse is a lamp for ships.', 'Tea'];
const body = request.meta({
  title: 'RerankRequest',
  description:
    'Of a document that is an object, `text` counts, or the members that `rank_fields` names, or all.',
  examples: [{ model: 'demo/rank', query: 'a lamp for ships', documents }],
});

const result = z.looseObject({
  index: count.meta({ description: "The document's place in the request." }),
  relevance_score: z.number(),
  document: z.looseObject({}).optional(),
});
const results = z.array(result).meta({ description: 'The best first.' });
const billed = z.looseObject({ search_units: count.optional(), input_tokens: count.optional() });
const meta = z.looseObject({ billed_units: billed });
const usage = z.looseObject({ total_tokens: count.optional() });

function describe(path: string, summary: string, reply: z.ZodType, error: z.ZodType): CallDescription[] {
  const replies = { 200: { 'application/json': reply } };
  return [{ method: 'POST', path, summary, body: { 'application/json': body }, replies, error }];
}

export function describeJina(): CallDescription[] {
  const reply = z.looseObject({ results, usage, meta: meta.optional() }).meta({ title: 'RerankResult' });
  return describe('/v1/rerank', 'Sort documents by how well they answer a query', reply, errorSchema);
}

export function describeCohere(): CallDescription[] {
  const reply = z.looseObject({ results, meta }).meta({ title: 'CohereRerankResult' });
  const error = z.looseObject({ message: z.string() }).meta({ title: 'CohereError' });
  return describe('/v2/rerank', "The same in Cohere's form", reply, error);
}
