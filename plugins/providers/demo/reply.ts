/** The demo model's reply on the chat-completions wire: whole as JSON, or word by word as a stream. */
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { UpstreamResponse } from '../../../core/index.ts';
import { parseJson } from '../../shared/wire-kit/event-data.ts';
import { answerRequest, countTokens, type Outcome } from './answer.ts';
import { echo } from './models.ts';
import { requestSchema, type Request } from './request.ts';

export interface ReplyContext {
  /** The exchange's id. Replies and tool calls contain it, so that their ids are unique. */
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** Milliseconds between two words of a stream. */
  readonly pace: number;
  readonly signal: AbortSignal;
}

/**
 * Answers the body of a finished request. Like a vendor, it answers 400 to a body that makes no sense or does
 * not fit its context.
 */
export function replyTo(body: string | Uint8Array, context: ReplyContext): UpstreamResponse {
  const parsed = requestSchema.safeParse(parseJson(Buffer.from(body).toString('utf8')));
  if (!parsed.success) return buildJsonResponse(400, buildRefusal(parsed.error));
  const request = parsed.data;
  const input = countInput(request);
  if (input > echo.contextLength) return buildJsonResponse(400, buildOverflow(input));
  const outcome = answerRequest(request);
  if (!request.stream) return buildJsonResponse(200, buildCompletion(request, outcome, context));
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    body: streamFrames(request, outcome, context),
  };
}

export function buildJsonResponse(status: number, value: unknown): UpstreamResponse {
  const bytes = Buffer.from(JSON.stringify(value));
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: (async function* () {
      yield bytes;
    })(),
  };
}

export function buildRefusal({ issues: [issue] }: z.ZodError): unknown {
  const param = issue && issue.path.length > 0 ? z.core.toDotPath(issue.path) : null;
  const message = `${param ? `"${param}": ` : ''}${issue?.message ?? 'The request makes no sense.'}`;
  return { error: { message, type: 'invalid_request_error', param, code: null } };
}

function buildOverflow(input: number): unknown {
  const message = `The ${input} tokens of the request exceed the model's context of ${echo.contextLength}.`;
  return {
    error: {
      message,
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    },
  };
}

function buildCompletion(request: Request, outcome: Outcome, context: ReplyContext): unknown {
  return {
    ...buildHead(request, context, 'chat.completion'),
    choices: listChoices(request).map((index) => ({
      index,
      message: buildMessage(outcome, context, index),
      logprobs: null,
      finish_reason: outcome.reason,
    })),
    usage: computeUsage(request, outcome),
  };
}

function buildHead({ model }: Request, { id, created }: ReplyContext, object: string): object {
  return { id: `chatcmpl-${id}`, object, created, model };
}

function listChoices({ n }: Request): number[] {
  return Array.from({ length: n ?? 1 }, (_, index) => index);
}

/** A whole message, or the empty one that a stream begins with. */
function buildMessage({ answer }: Outcome, { id }: ReplyContext, index: number, streamed = false): object {
  const text = streamed ? '' : answer.text;
  if (answer.kind === 'text') return { role: 'assistant', content: text, refusal: null };
  const call = {
    ...(streamed ? { index: 0 } : {}),
    id: `call_${id}_${index}`,
    type: 'function',
    function: { name: answer.name, arguments: text },
  };
  return { role: 'assistant', content: null, refusal: null, tool_calls: [call] };
}

/** These are not counted, since the demo model does not read them. */
const media = new Set(['image_url', 'input_audio', 'file']);

function countInput({ messages, tools }: Request): number {
  return countTokens(
    JSON.stringify({ messages, tools }, (key, value) => (media.has(key) ? undefined : value)),
  );
}

function computeUsage(request: Request, { answer }: Outcome): unknown {
  const prompt_tokens = countInput(request);
  const completion_tokens = countTokens(answer.text) * listChoices(request).length;
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** A stream as bytes, one frame at a time. Throws as soon as the signal fires. */
async function* streamFrames(
  request: Request,
  outcome: Outcome,
  context: ReplyContext,
): AsyncGenerator<Uint8Array> {
  const wantsUsage = request.stream_options?.include_usage === true;
  const shared = {
    ...buildHead(request, context, 'chat.completion.chunk'),
    ...(wantsUsage && { usage: null }),
  };
  const buildFrame = (fields: object): Uint8Array =>
    Buffer.from(`data: ${JSON.stringify({ ...shared, ...fields })}\n\n`);
  const buildChoice = (index: number, delta: object, finish_reason: string | null = null): Uint8Array =>
    buildFrame({ choices: [{ index, delta, logprobs: null, finish_reason }] });

  for (const index of listChoices(request))
    yield buildChoice(index, buildMessage(outcome, context, index, true));
  for (const piece of splitAnswer(outcome)) {
    if (context.pace > 0) await pause(context.pace, undefined, { signal: context.signal });
    for (const index of listChoices(request)) {
      context.signal.throwIfAborted();
      yield buildChoice(index, buildDelta(outcome, piece));
    }
  }
  for (const index of listChoices(request)) yield buildChoice(index, {}, outcome.reason);
  if (wantsUsage) yield buildFrame({ choices: [], usage: computeUsage(request, outcome) });
  yield Buffer.from('data: [DONE]\n\n');
}

function buildDelta({ answer }: Outcome, piece: string): object {
  return answer.kind === 'text'
    ? { content: piece }
    : { tool_calls: [{ index: 0, function: { arguments: piece } }] };
}

/**
 * A text word by word, each with the space that follows it; arguments in small pieces, as vendors send them.
 */
function splitAnswer({ answer }: Outcome): string[] {
  return answer.text.match(answer.kind === 'text' ? /\S+\s*|\s+/g : /.{1,12}/gsu) ?? [];
}
