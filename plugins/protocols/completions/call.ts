/** Reads a client's request, collects the facts that routing and billing need, and describes the call. */
import { z } from 'zod';
import type { CallDescription, Edit, Retarget } from '../../../core/index.ts';
import { readTexts } from '../../shared/openai/texts.ts';
import { readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { ReadCall, readLabels } from '../../shared/wire-kit/read-call.ts';
import { buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { decodeRequest, request, usualLimit, type Request } from './request.ts';

function checkTogether({ stream, stream_options, n, best_of: best, suffix, prompt }: Request): void {
  if (stream_options && !stream)
    throw buildFieldError('stream_options', 'is only for streams', '"stream": true with it, or leave it out');
  if (best && best < (n ?? 1)) throw buildFieldError('best_of', 'is less than "n"', 'at least as many');
  if (best && stream && best > (n ?? 1))
    throw buildFieldError('best_of', 'cannot be streamed', '"stream": false with it');
  if (suffix && typeof prompt !== 'string')
    throw buildFieldError('suffix', 'belongs to one text', 'a text as "prompt" with it');
}

/** Throws `invalid_request` with the name of the field. */
export function readRequest(body: unknown, text: string): ReadCall {
  const wire = checkWire(request, body);
  checkTogether(wire);
  const prompts = readTexts(wire.prompt) ?? [];
  const limit = wire.max_tokens ?? undefined;
  return new ReadCall(
    {
      model: wire.model,
      stream: wire.stream ?? false,
      outputLimit: limit ?? usualLimit,
      // All of `best_of` are billed.
      candidates: Math.max(wire.n ?? 1, wire.best_of ?? 1) * prompts.length,
      framing: 'events',
      usageWanted: wire.stream_options?.include_usage ?? false,
      size: { textBytes: Buffer.byteLength(text), images: 0, mediaBytes: 0, items: prompts.length },
      preferences: readPreferences(wire.provider),
      carriesState: false,
      labels: readLabels(wire),
      defaulted: limit === undefined ? ['max_tokens'] : [],
    },
    () => decodeRequest(wire),
  );
}

export function retarget({ call, model, outputLimit }: Retarget): readonly Edit[] {
  const edits: Edit[] = [
    { path: ['model'], value: model },
    { path: ['provider'], value: undefined },
  ];
  if (call.stream && !call.usageWanted)
    edits.push({ path: ['stream_options', 'include_usage'], value: true });
  // Vendors' own limits differ, so the usual one is stated.
  const limit = outputLimit ?? call.outputLimit;
  if (limit !== undefined) edits.push({ path: ['max_tokens'], value: limit });
  return edits;
}

/** Describes the endpoint for the OpenAPI document. Fields that providers add pass too. */
export async function describeCalls(path: string): Promise<CallDescription[]> {
  const { count, describePost } = await import('../../shared/wire-kit/reply-schemas.ts');
  const body = request.meta({
    title: 'CompletionRequest',
    examples: [{ model: 'demo/echo', prompt: 'Once', max_tokens: 32 }],
  });
  const choice = z.looseObject({
    text: z.string(),
    index: count,
    logprobs: z.looseObject({}).nullish(),
    finish_reason: z.string().nullish(),
  });
  const usage = z.looseObject({ prompt_tokens: count, completion_tokens: count, total_tokens: count });
  const reply = z
    .looseObject({
      id: z.string(),
      object: z.literal('text_completion'),
      created: z.number(),
      model: z.string(),
      choices: z.array(choice),
      usage: usage.nullish(),
    })
    .meta({ title: 'Completion' });
  return [describePost({ path, summary: 'Continue a text', body, reply, chunk: reply })];
}
