/** Describes the endpoints for the OpenAPI document. Fields that providers add pass too. */
import { z } from 'zod';
import type { CallDescription } from '../../../core/index.ts';
import { count, describePost } from '../../shared/wire-kit/reply-schemas.ts';
import { batchBody, singleBody } from './google-client.ts';
import { request } from './openai.ts';

const input = z
  .union([z.string(), z.array(z.string()), z.array(z.int()), z.array(z.array(z.int()))])
  .meta({ description: 'A text, several, or the numbers of their tokens, for models that take them.' });

const body = request.extend({ input }).meta({
  title: 'EmbeddingRequest',
  examples: [{ model: 'demo/embed', input: ['A lighthouse', 'A harbour'] }],
});

const reply = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(
      z.looseObject({
        object: z.literal('embedding'),
        index: count,
        embedding: z.union([z.array(z.number()), z.string()]),
      }),
    ),
    model: z.string(),
    usage: z.looseObject({ prompt_tokens: count, total_tokens: count }),
  })
  .meta({ title: 'EmbeddingResult' });

export function describeOpenai(): CallDescription[] {
  return [describePost({ path: '/v1/embeddings', summary: 'Make vectors of texts', body, reply })];
}

const googleError = z
  .object({
    error: z.looseObject({ code: z.int(), message: z.string(), status: z.string() }),
  })
  .meta({ title: 'EmbedContentError' });

const embedding = z.looseObject({ values: z.array(z.number()) });
const usageMetadata = z.looseObject({ promptTokenCount: count, totalTokenCount: count });
const content = { parts: [{ text: 'A lighthouse' }] };

/** Google's two calls. */
export function describeGoogle(): CallDescription[] {
  const path = '/beta/v1beta/models/{model}';
  const single = {
    path: `${path}:embedContent`,
    summary: 'Make one vector of a content',
    body: singleBody.meta({ title: 'EmbedContentRequest', examples: [{ content }] }),
    reply: z.looseObject({ embedding, usageMetadata }).meta({ title: 'EmbedContentResponse' }),
  };
  const batch = {
    path: `${path}:batchEmbedContents`,
    summary: 'Make a vector of each content',
    body: batchBody.meta({ title: 'BatchEmbedContentsRequest', examples: [{ requests: [{ content }] }] }),
    reply: z
      .looseObject({ embeddings: z.array(embedding), usageMetadata })
      .meta({ title: 'BatchEmbedContentsResponse' }),
  };
  return [single, batch].map((call) => describePost({ ...call, error: googleError }));
}
