/** Describes the endpoints for the OpenAPI document. Fields that providers add pass too. */
import { z } from 'zod';
import type { CallDescription } from '../../../core/index.ts';
import { count, describePost } from '../../shared/wire-kit/reply-schemas.ts';
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

/** Either form has the same body. */
export function describeCalls(form: 'jina' | 'cohere'): CallDescription[] {
  if (form === 'jina') {
    const reply = z.looseObject({ results, usage, meta: meta.optional() }).meta({ title: 'RerankResult' });
    const summary = 'Sort documents by how well they answer a query';
    return [describePost({ path: '/v1/rerank', summary, body, reply })];
  }
  const reply = z.looseObject({ results, meta }).meta({ title: 'CohereRerankResult' });
  const error = z.looseObject({ message: z.string() }).meta({ title: 'CohereError' });
  const summary = "The same in Cohere's form";
  return [describePost({ path: '/v2/rerank', summary, body, reply }, { error })];
}
