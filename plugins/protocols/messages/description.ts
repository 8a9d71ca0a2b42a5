/** Describes the endpoints for the OpenAPI document. Fields that providers add pass too. */
import { z } from 'zod';
import type { CallDescription } from '../../../core/index.ts';
import { count, describeListing, listedModel } from '../../shared/wire-kit/reply-schemas.ts';
import { betaHeader, neutralVersionHeader, versionHeader, versions } from './call.ts';
import { pages } from './index.ts';
import * as Wire from './wire.ts';

const errorSchema = z
  .object({
    type: z.literal('error'),
    error: z.looseObject({ type: z.string(), message: z.string() }),
    request_id: z.string().optional(),
  })
  .meta({ title: 'MessagesError' });

const version = z.enum([...versions]).optional();
const headers = z.object({
  [versionHeader]: version.meta({
    description: `The version of the protocol. Required, here or as \`${neutralVersionHeader}\`.`,
    default: '2023-06-01',
  }),
  [neutralVersionHeader]: version,
  [betaHeader]: z.string().optional().meta({ description: "The vendor's betas, separated by commas." }),
});

const example = { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] };
const request = Wire.request.meta({
  title: 'MessageRequest',
  examples: [{ ...example, max_tokens: 200 }],
});
const countRequest = Wire.count.meta({ title: 'MessageCountRequest', examples: [example] });

const usage = z.looseObject({
  input_tokens: count.nullish(),
  output_tokens: count.nullish(),
  cache_creation_input_tokens: count.nullish(),
  cache_read_input_tokens: count.nullish(),
});

const message = z
  .looseObject({
    id: z.string(),
    type: z.literal('message'),
    role: z.literal('assistant'),
    content: z.array(z.looseObject({ type: z.string() })),
    model: z.string(),
    stop_reason: z.string().nullable(),
    stop_sequence: z.string().nullish(),
    usage,
  })
  .meta({ title: 'Message' });

const event = z
  .looseObject({
    type: z.string(),
    index: count.optional(),
    message: message.optional(),
    usage: usage.optional(),
  })
  .meta({
    title: 'MessageEvent',
    description: 'An event of a stream. The last one has the type `message_stop`.',
  });

const tokens = z.looseObject({ input_tokens: count }).meta({ title: 'MessageTokens' });

function describeBase(base: string): CallDescription[] {
  const shared = { method: 'POST', headers, error: errorSchema } as const;
  return [
    {
      ...shared,
      path: `${base}/v1/messages`,
      summary: 'Message',
      body: { 'application/json': request },
      replies: { 200: { 'application/json': message, 'text/event-stream': event } },
    },
    {
      ...shared,
      path: `${base}/v1/messages/count_tokens`,
      summary: 'Input tokens of a message',
      details:
        'If the provider cannot count, the reply is an estimate and has the header `x-tollgate-estimate`.',
      body: { 'application/json': countRequest },
      replies: { 200: { 'application/json': tokens } },
    },
  ];
}

/** Calls are the same below the mount and at the root. */
export function describeCalls(mount: string): CallDescription[] {
  return [...new Set([mount, ''])].flatMap(describeBase);
}

const model = z
  .looseObject({
    ...listedModel,
    type: z.literal('model'),
    display_name: z.string(),
    created_at: z.string(),
    max_input_tokens: count,
    max_tokens: count,
    capabilities: z.null(),
    line: z.null(),
    lifecycle: z.enum(['active', 'deprecated']),
    deprecated_at: z.null(),
    retires_at: z.string().nullable(),
  })
  .meta({ title: 'MessagesModel' });
const list = z
  .object({
    data: z.array(model),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  })
  .meta({ title: 'MessagesModelList' });

export const { models, namedModels } = describeListing({
  style: 'messages',
  sharing:
    'Where styles share a path, this is the one for requests with `anthropic-version` or `partner-version`.',
  model,
  list,
  error: errorSchema,
  pages,
  byOwner: true,
});
