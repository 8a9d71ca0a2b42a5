/** Describes the endpoints for the OpenAPI document. Fields that providers add pass too. */
import { z } from 'zod';
import type { CallDescription } from '../../../core/index.ts';
import {
  architecture,
  count,
  describeListing,
  pricing,
  topProvider,
} from '../../shared/wire-kit/reply-schemas.ts';
import { pages } from './index.ts';
import * as Wire from './wire.ts';

const errorSchema = z
  .object({
    error: z.looseObject({
      code: z.int(),
      message: z.string(),
      status: z.string(),
      details: z.array(z.looseObject({})).optional(),
    }),
  })
  .meta({ title: 'GenerateContentError' });

const example = { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] };
const request = Wire.request.meta({
  title: 'GenerateContentRequest',
  description: 'Every field may be written in camelCase, as here, and in snake_case.',
  examples: [example],
});
const countRequest = Wire.count.meta({ title: 'GenerateContentCountRequest', examples: [example] });

const part = z.looseObject({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  inlineData: z.looseObject({ mimeType: z.string(), data: z.string() }).optional(),
  functionCall: z
    .looseObject({ id: z.string().nullish(), name: z.string(), args: z.looseObject({}).nullish() })
    .optional(),
});

const modality = z.looseObject({ modality: z.string(), tokenCount: count });

const response = z
  .looseObject({
    candidates: z
      .array(
        z.looseObject({
          content: z.looseObject({ role: z.string().optional(), parts: z.array(part).optional() }).optional(),
          finishReason: z.string().nullish(),
          index: count.optional(),
        }),
      )
      .optional(),
    modelVersion: z.string().optional(),
    responseId: z.string().optional(),
    usageMetadata: z
      .looseObject({
        promptTokenCount: count.optional(),
        candidatesTokenCount: count.optional(),
        thoughtsTokenCount: count.optional(),
        totalTokenCount: count.optional(),
        candidatesTokensDetails: z.array(modality).optional(),
      })
      .optional(),
  })
  .meta({ title: 'GenerateContentResponse' });

/** An error ends a stream that began well. */
const element = z.union([response, errorSchema]);

const tokens = z.looseObject({ totalTokens: count }).meta({ title: 'GenerateContentTokens' });

const streamQuery = z.object({
  alt: z
    .literal('sse')
    .optional()
    .meta({ description: 'Server-sent events; without it the stream is one JSON array.' }),
});

function describeMethods(models: string): CallDescription[] {
  const shared = { method: 'POST', error: errorSchema } as const;
  return [
    {
      ...shared,
      path: `${models}/{model}:generateContent`,
      summary: 'Generate content',
      body: { 'application/json': request },
      replies: { 200: { 'application/json': response } },
    },
    {
      ...shared,
      path: `${models}/{model}:streamGenerateContent`,
      summary: 'Generate content, streamed',
      query: streamQuery,
      body: { 'application/json': request },
      // An error of an array is an array too, and one in mid-stream is its last element.
      error: z.union([errorSchema, z.array(errorSchema)]),
      replies: { 200: { 'text/event-stream': element, 'application/json': z.array(element) } },
    },
    {
      ...shared,
      path: `${models}/{model}:countTokens`,
      summary: 'Count the tokens of contents',
      details:
        'If the provider cannot count, the reply is an estimate and has the header `x-tollgate-estimate`.',
      body: { 'application/json': countRequest },
      replies: { 200: { 'application/json': tokens } },
    },
  ];
}

/** Calls are the same below the mount and at the root. The slash in a model's id may be sent as `%2F`. */
export function describeCalls(mount: string): CallDescription[] {
  return [...new Set([mount, ''])].flatMap((base) =>
    ['v1beta', 'v1'].flatMap((version) => describeMethods(`${base}/${version}/models`)),
  );
}

const model = z
  .looseObject({
    name: z.string(),
    version: z.string(),
    displayName: z.string(),
    description: z.string(),
    inputTokenLimit: count,
    outputTokenLimit: count,
    supportedGenerationMethods: z.array(z.string()),
    ownedBy: z.string(),
    canonicalSlug: z.string(),
    contextLength: count,
    architecture,
    pricing,
    topProvider,
    supportedParameters: z.array(z.string()),
    expirationDate: z.string().nullable(),
  })
  .meta({ title: 'GenerateContentModel' });
const list = z
  .object({ models: z.array(model), nextPageToken: z.string().optional() })
  .meta({ title: 'GenerateContentModelList' });

export const { models, namedModels } = describeListing({
  style: 'generate-content',
  sharing: "Where styles share a path, this is the one for requests with a key in a place of Google's.",
  model,
  list,
  error: errorSchema,
  pages,
  byOwner: true,
});
