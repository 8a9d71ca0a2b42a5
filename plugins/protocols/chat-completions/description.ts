/** Describes the endpoint for the OpenAPI document. Fields that providers add pass too. */
import { z } from 'zod';
import type { CallDescription } from '../../../core/index.ts';
import {
  count,
  describeListing,
  describePost,
  errorSchema,
  listedModel,
} from '../../shared/wire-kit/reply-schemas.ts';
import { pages } from './index.ts';
import * as Wire from './wire.ts';

const usage = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z
    .looseObject({ cached_tokens: count.nullish(), audio_tokens: count.nullish() })
    .nullish(),
  completion_tokens_details: z
    .looseObject({ reasoning_tokens: count.nullish(), audio_tokens: count.nullish() })
    .nullish(),
});

const toolCall = z.looseObject({
  id: z.string().optional(),
  type: z.string().optional(),
  function: z.looseObject({ name: z.string().optional(), arguments: z.string().optional() }).optional(),
});

const message = z.looseObject({
  role: z.string().optional(),
  content: z.string().nullish(),
  refusal: z.string().nullish(),
  reasoning: z.string().nullish(),
  tool_calls: z.array(toolCall).optional(),
  annotations: z.array(z.looseObject({})).optional(),
});

const finishReason = z.string().nullable().meta({
  description: '`stop`, `length`, `tool_calls` or `content_filter`; null until the end of a stream.',
});
const head = { id: z.string(), created: z.number(), model: z.string() };
const choice = { index: count, logprobs: z.looseObject({}).nullish(), finish_reason: finishReason };

const completion = z
  .looseObject({
    ...head,
    object: z.literal('chat.completion'),
    choices: z.array(z.looseObject({ ...choice, message })),
    usage: usage.nullish(),
  })
  .meta({ title: 'ChatCompletion' });
const chunk = z
  .looseObject({
    ...head,
    object: z.literal('chat.completion.chunk'),
    choices: z.array(z.looseObject({ ...choice, delta: message })),
    usage: usage.nullish(),
  })
  .meta({ title: 'ChatCompletionChunk' });

const request = Wire.request.meta({
  title: 'ChatCompletionRequest',
  examples: [{ model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] }],
});

export function describeCalls(path: string): CallDescription[] {
  return [
    describePost({
      path,
      summary: 'Chat completion',
      details: 'With `"stream": true` the reply is a stream, which ends with `data: [DONE]`.',
      body: request,
      reply: completion,
      chunk,
    }),
  ];
}

const model = z
  .looseObject({
    ...listedModel,
    object: z.literal('model'),
    created: z.number(),
    name: z.string(),
  })
  .meta({ title: 'ChatModel' });

const list = z
  .object({
    object: z.literal('list'),
    data: z.array(model),
    models: z
      .array(z.looseObject({ slug: z.string() }))
      .optional()
      .meta({ description: 'What Codex reads, if the query has `client_version`.' }),
    first_id: z.string().nullish(),
    last_id: z.string().nullish(),
    has_more: z.boolean().optional().meta({ description: 'Of a page: whether another follows.' }),
  })
  .meta({ title: 'ChatModelList' });

export const { models, namedModels } = describeListing({
  style: 'chat',
  sharing: 'Where styles share a path, this is the one for requests without a header of another.',
  model,
  list,
  error: errorSchema,
  pages,
  query: {
    client_version: z
      .string()
      .optional()
      .meta({ description: 'The version of Codex, whose list of `models` is then added.' }),
  },
  byOwner: false,
});
