/** Describes the endpoint for the OpenAPI document. Fields that providers add pass too. */
import { z } from 'zod';
import type { CallDescription } from '../../../core/index.ts';
import { count, describePost } from '../../shared/wire-kit/reply-schemas.ts';
import { request } from './wire.ts';

const prompt = z
  .union([z.string(), z.array(z.string()), z.array(z.int()), z.array(z.array(z.int()))])
  .meta({ description: 'Several prompts and numbers of tokens are for models that complete texts.' });

const body = request
  .extend({ prompt })
  .meta({ title: 'CompletionRequest', examples: [{ model: 'demo/echo', prompt: 'Once', max_tokens: 32 }] });

const reply = z
  .looseObject({
    id: z.string(),
    object: z.literal('text_completion'),
    created: z.number(),
    model: z.string(),
    choices: z.array(
      z.looseObject({
        text: z.string(),
        index: count,
        logprobs: z.looseObject({}).nullish(),
        finish_reason: z.string().nullish(),
      }),
    ),
    usage: z.looseObject({ prompt_tokens: count, completion_tokens: count, total_tokens: count }).nullish(),
  })
  .meta({ title: 'Completion' });

export function describeCalls(path: string): CallDescription[] {
  return [describePost({ path, summary: 'Continue a text', body, reply }, { streams: true })];
}
