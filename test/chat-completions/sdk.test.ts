import OpenAI from 'openai';
import type { ChatCompletion } from 'openai/resources/chat/completions';
import { expect, it } from 'vitest';
import { GatewayError, type CanonicalEvent } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { fold } from '../contract/replies.ts';
import { decodeGolden, listGolden } from '../support/golden.ts';
import { makeCall } from './bodies.ts';

const cases = listGolden('chat-completions', 'reply.sse');
const { client } = protocol;
const context = {
  id: 'k7',
  model: 'openai/gpt-5.5',
  created: 1_790_000_000,
  call: makeCall({ stream: true, stream_options: { include_usage: true } }),
};

/** The official SDK, with every call answered by this body. */
function createSdk(body: string, headers: Record<string, string>, status = 200): OpenAI {
  return new OpenAI({
    apiKey: 'sk-test',
    baseURL: 'http://gateway.invalid/v1',
    maxRetries: 0,
    fetch: async () => new Response(body, { status, headers }),
  });
}

const readEvents = (name: string): CanonicalEvent[] => decodeGolden(protocol, name, makeCall());

const request = { model: 'openai/gpt-5.5', messages: [{ role: 'user' as const, content: 'x' }] };

function summarizeReply({ choices, usage }: ChatCompletion): unknown {
  return choices.map(({ index, message, finish_reason: reason }) => ({
    index,
    reason,
    text: message.content ?? '',
    refusal: message.refusal ?? '',
    calls:
      message.tool_calls?.map((call) =>
        call.type === 'function'
          ? [call.id, call.function.name, call.function.arguments]
          : [call.id, call.custom.name],
      ) ?? [],
    output: usage?.completion_tokens,
  }));
}

function summarizeEvents(events: readonly CanonicalEvent[]): unknown {
  const { candidates, usage } = fold(events);
  const reasons: Record<string, string> = { 'tool-calls': 'tool_calls', 'content-filter': 'content_filter' };
  return Object.entries(candidates).map(([index, { text, refusal, calls, reason = '' }]) => ({
    index: Number(index),
    reason: reasons[reason] ?? reason,
    text,
    refusal,
    calls: calls.map(({ id, name, arguments: said, custom }) => (custom ? [id, name] : [id, name, said])),
    output: usage.output,
  }));
}

it.each(cases)('the official SDK assembles our stream of %s into the whole reply', async (name) => {
  const events = readEvents(name);
  const encoder = client.encodeEvents(context);
  const frames = events.map((event) => encoder.push(event)).join('');
  const stream = createSdk(frames, {
    'content-type': 'text/event-stream; charset=utf-8',
  }).chat.completions.stream({ ...request, stream: true });
  expect(summarizeReply(await stream.finalChatCompletion())).toEqual(summarizeEvents(events));
});

it.each(cases)('the official SDK reads our whole completion of %s', async (name) => {
  const events = readEvents(name);
  const body = JSON.stringify(client.encodeReply(events, context));
  expect(
    summarizeReply(
      await createSdk(body, { 'content-type': 'application/json' }).chat.completions.create(request),
    ),
  ).toEqual(summarizeEvents(events));
});

it('the official SDK throws on an error inside a stream, with or without comments before it', async () => {
  const frames =
    client.keepAlive +
    client.encodeStreamError(new GatewayError('upstream_failed', 'It broke off.'), makeCall(), true);
  const stream = await createSdk(frames, {
    'content-type': 'text/event-stream; charset=utf-8',
  }).chat.completions.create({ ...request, stream: true });
  await expect(Array.fromAsync(stream)).rejects.toThrow('It broke off.');
});

it('the official SDK exposes the status, code and field of an error before the reply', async () => {
  const { status, body } = client.encodeError(
    new GatewayError('invalid_request', 'Why.', { param: 'n', vendor: { code: 'bad_n' } }),
    'exchange-1',
  );
  const call = createSdk(
    JSON.stringify(body),
    { 'content-type': 'application/json' },
    status,
  ).chat.completions.create(request);
  await expect(call).rejects.toMatchObject({
    status: 400,
    code: 'bad_n',
    param: 'n',
    type: 'invalid_request_error',
  });
});
