/** Describes the endpoints for the OpenAPI document. Fields that providers add pass too. */
import { z } from 'zod';
import type { CallDescription } from '../../../core/index.ts';
import { count, errorSchema } from '../../shared/wire-kit/reply-schemas.ts';
import * as Wire from './wire.ts';

/** Items and tools of other types pass too; the provider validates them. */
const inputItem = z.union([
  Wire.message,
  Wire.functionCall,
  Wire.customCall,
  Wire.callOutput,
  Wire.reasoning,
  Wire.imageCall,
  Wire.anyItem,
]);
const wholeRequest = Wire.request.extend({
  input: z.union([z.string(), z.array(inputItem)]).nullish(),
  tools: z.array(z.union([Wire.ownTool, Wire.anyTool])).nullish(),
});
const examples = [{ model: 'demo/echo', input: 'Hello!' }];
const request = wholeRequest.meta({ title: 'ResponseRequest', examples });
const countRequest = wholeRequest.meta({ title: 'ResponseCountRequest', examples });
const compactRequest = wholeRequest
  .pick({ model: true, input: true, instructions: true, provider: true })
  .meta({ title: 'ResponseCompactRequest', examples });

const usage = z.looseObject({
  input_tokens: count,
  input_tokens_details: z.looseObject({ cached_tokens: count.nullish() }).nullish(),
  output_tokens: count,
  output_tokens_details: z.looseObject({ reasoning_tokens: count.nullish() }).nullish(),
  total_tokens: count,
});

const outputItem = z.looseObject({
  id: z.string().nullish(),
  type: z.string().meta({
    description:
      "`message`, `function_call`, `custom_tool_call`, `reasoning`, or another type of the provider's.",
  }),
  status: z.string().nullish(),
});

const response = z
  .looseObject({
    id: z.string(),
    object: z.literal('response'),
    created_at: z.number(),
    model: z.string(),
    status: z.enum(['completed', 'failed', 'in_progress', 'cancelled', 'incomplete', 'queued']),
    output: z.array(outputItem),
    usage: usage.nullish(),
    error: z.looseObject({ code: z.string().nullish(), message: z.string() }).nullish(),
    incomplete_details: z.looseObject({ reason: z.string().optional() }).nullish(),
  })
  .meta({ title: 'Response' });

const event = z
  .looseObject({ type: z.string(), sequence_number: count.optional(), response: response.optional() })
  .meta({
    title: 'ResponseEvent',
    description: 'A stream event, identified by its `type`. The last one holds the whole response.',
  });

const compacted = z
  .looseObject({
    id: z.string(),
    object: z.literal('response.compaction'),
    created_at: z.number(),
    output: z.array(outputItem),
    usage,
  })
  .meta({ title: 'CompactedResponse' });

const tokens = z
  .looseObject({ object: z.literal('response.input_tokens'), input_tokens: count })
  .meta({ title: 'ResponseInputTokens' });

export const calls: readonly CallDescription[] = [
  {
    method: 'POST',
    path: '/v1/responses',
    summary: 'Create a response',
    details:
      'A request may refer to responses that the gateway keeps. Without its option `store` it keeps none: ' +
      'send the whole conversation. With `"stream": true` the reply is a stream that ends with ' +
      '`data: [DONE]`.',
    body: { 'application/json': request },
    replies: { 200: { 'application/json': response, 'text/event-stream': event } },
    error: errorSchema,
  },
  {
    method: 'POST',
    path: '/v1/responses/compact',
    summary: 'Compact a conversation',
    details:
      "The reply has the user's messages and an item of type `compaction` in place of the rest of " +
      'the conversation. Send them with the next call.',
    body: { 'application/json': compactRequest },
    replies: { 200: { 'application/json': compacted } },
    error: errorSchema,
  },
  {
    method: 'POST',
    path: '/v1/responses/input_tokens',
    summary: 'Count the input tokens of a response',
    details:
      'If the provider cannot count tokens, the reply is an estimate and has the header ' +
      '`x-tollgate-estimate`.',
    body: { 'application/json': countRequest },
    replies: { 200: { 'application/json': tokens } },
    error: errorSchema,
  },
];
