/** Describes the endpoints for the OpenAPI document. Fields that providers add pass too. */
import { z } from 'zod';
import type { CallDescription } from '../../../core/index.ts';
import { count, errorSchema } from '../../shared/wire-kit/reply-schemas.ts';
import { request } from './clients.ts';

const examples = [
  { model: 'demo/rank', query: 'a lamp for ships', documents: ['A lighthouse is a lamp for ships.', 'Tea'] },
];

const documents = z.array(z.union([z.string(), z.looseObject({})])).meta({
  description: 'Texts, or objects: of these counts `text`, or the members that `rank_fields` names, or all.',
});

const body = request.extend({ documents }).meta({ title: 'RerankRequest', examples });

const result = z.looseObject({
  index: count.meta({ description: "The document's place in the request." }),
  relevance_score: z.number(),
  document: z.looseObject({}).optional(),
});

const meta = z.looseObject({
  billed_units: z.looseObject({ search_units: count.optional(), input_tokens: count.optional() }).optional(),
});

const reply = z
  .looseObject({
    results: z.array(result).meta({ description: 'The best first.' }),
    usage: z.looseObject({ total_tokens: count.optional() }),
    meta: meta.optional(),
  })
  .meta({ title: 'RerankResult' });

const cohereReply = z
  .looseObject({ id: z.string().optional(), results: z.array(result), meta })
  .meta({ title: 'CohereRerankResult' });

const cohereError = z.looseObject({ message: z.string() }).meta({ title: 'CohereError' });

function describe(path: string, summary: string, reply200: z.ZodType, error: z.ZodType): CallDescription[] {
  return [
    {
      method: 'POST',
      path,
      summary,
      body: { 'application/json': body },
      replies: { 200: { 'application/json': reply200 } },
      error,
    },
  ];
}

export function describeJina(): CallDescription[] {
  return describe('/v1/rerank', 'Sort documents by how well they answer a query', reply, errorSchema);
}

export function describeCohere(): CallDescription[] {
  return describe('/v2/rerank', "The same in Cohere's form", cohereReply, cohereError);
}
