/** The shape of OpenAI's older requests, as strict as the vendor is. */
import { z } from 'zod';

export const completion = z.strictObject({
  model: z.string(),
  prompt: z.union([z.string(), z.array(z.string()), z.array(z.int()), z.array(z.array(z.int()))]),
  suffix: z.string().optional(),
  max_tokens: z.int().min(0),
  temperature: z.number().optional(),
  n: z.int().optional(),
  best_of: z.int().optional(),
  echo: z.boolean().optional(),
  logprobs: z.int().max(5).optional(),
  logit_bias: z.record(z.string(), z.number()).optional(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).optional(),
  frequency_penalty: z.number().optional(),
  presence_penalty: z.number().optional(),
  seed: z.int().optional(),
  user: z.string().optional(),
  stream: z.boolean().optional(),
  stream_options: z.strictObject({ include_usage: z.boolean() }).optional(),
});
