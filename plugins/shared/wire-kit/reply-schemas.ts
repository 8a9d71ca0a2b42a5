/** Schemas that the replies of several families share, for the OpenAPI document. They do not check any reply. */
import { z } from 'zod';

/** The error body of chat-completions, responses and images, and of addresses that belong to no family. */
export const errorSchema = z
  .object({
    error: z.looseObject({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable().meta({ description: 'The field at fault, where there is one.' }),
      code: z.string().nullable(),
    }),
  })
  .meta({ title: 'Error' });

/** What all listings say about a model in the same fields. */
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

/** USD per token, or per piece, as decimal strings. */
export const pricing = z.record(z.string(), z.string());

/** Vendors name their counts differently, but all counts are whole numbers. */
export const count = z.int().nonnegative();
