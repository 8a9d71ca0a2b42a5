/**
 * Schemas for the OpenAPI document that the replies of several protocols share. No reply is validated with
 * them.
 */
import { z } from 'zod';
import type { CallDescription, Description } from '../../../core/index.ts';
import type { PageParameters } from './model-listing.ts';

/** The error body of chat-completions, responses and images, and of paths that belong to no protocol. */
export const errorSchema = z
  .object({
    error: z.looseObject({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable().meta({ description: 'The field at fault, if there is one.' }),
      code: z.string().nullable(),
    }),
  })
  .meta({ title: 'Error' });

interface Posted extends Pick<CallDescription, 'path' | 'summary' | 'details'> {
  readonly body: z.ZodType;
  readonly reply: z.ZodType;
  /** What a stream consists of, if the reply may be one. */
  readonly chunk?: z.ZodType;
  readonly error?: z.ZodType;
}

/** Describes a call of JSON. */
export function describePost({ body, reply, chunk, error = errorSchema, ...call }: Posted): CallDescription {
  // An error ends a stream that began well.
  const stream = chunk && { 'text/event-stream': z.union([chunk, error]) };
  return {
    ...call,
    method: 'POST',
    body: { 'application/json': body },
    replies: { 200: { 'application/json': reply, ...stream } },
    error,
  };
}

export const architecture = z.looseObject({
  modality: z.string(),
  input_modalities: z.array(z.string()),
  output_modalities: z.array(z.string()),
  tokenizer: z.string(),
  instruct_type: z.string().nullable(),
});

export const topProvider = z.looseObject({
  context_length: z.number(),
  max_completion_tokens: z.number(),
  is_moderated: z.boolean(),
});

/** USD per token, or per request, image or search, as decimal strings. */
export const pricing = z.record(z.string(), z.string());

export const count = z.int().nonnegative();

/** A model's fields that the listings of chat-completions and messages share. */
export const listedModel = {
  id: z.string(),
  owned_by: z.string(),
  description: z.string(),
  canonical_slug: z.string(),
  context_length: count,
  architecture,
  pricing,
  top_provider: topProvider,
  supported_parameters: z.array(z.string()),
  expiration_date: z.string().nullable(),
};

function describeCursor(place: string): z.ZodOptional {
  return z
    .string()
    .optional()
    .meta({ description: `The id of the model ${place} the page.` });
}

function describePages({ limit, after, before }: PageParameters): z.ZodObject {
  return z.object({
    [limit]: z.int().optional().meta({ description: 'The most models of a page. Without it, all.' }),
    [after]: describeCursor('before'),
    ...(before === undefined ? {} : { [before]: describeCursor('after') }),
  });
}

interface Described {
  /** Whose listing it is, and which requests get it where protocols share a path. */
  readonly style: string;
  readonly sharing: string;
  readonly model: z.ZodType;
  readonly list: z.ZodType;
  readonly error: z.ZodType;
  readonly pages: PageParameters;
  /** What else the list can be asked for. */
  readonly query?: z.ZodRawShape;
  /** Whether a name without a slash is an owner, whose models are listed. */
  readonly byOwner: boolean;
}

/** Describes the two routes of a listing. */
export function describeListing(listing: Described): {
  readonly models: Description;
  readonly namedModels: Description;
} {
  const { style, sharing, model, list, error, byOwner } = listing;
  const shared = { query: describePages(listing.pages), error };
  const owner = byOwner ? 'An id without a slash is an owner. ' : '';
  return {
    models: {
      ...shared,
      query: shared.query.extend(listing.query ?? {}),
      summary: `All models, in the ${style} style`,
      details: sharing,
      replies: { 200: { 'application/json': list } },
    },
    namedModels: {
      ...shared,
      summary: `One model${byOwner ? ', or all of an owner' : ''}, in the ${style} style`,
      details: `${owner}The slash in the id of a model may be sent as it is, or as \`%2F\`. ${sharing}`,
      replies: { 200: { 'application/json': byOwner ? z.union([model, list]) : model } },
    },
  };
}
