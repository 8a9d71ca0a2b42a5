import OpenAI from 'openai';
import type { Response as Answer } from 'openai/resources/responses/responses';
import { expect, it } from 'vitest';
import { GatewayError, type CanonicalEvent } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { fold } from '../contract/replies.ts';
import { decodeGolden, listGolden } from '../support/golden.ts';
import { makeCall } from './bodies.ts';

const cases = listGolden('responses', 'reply.sse');
const { client } = protocol;
const context = {
  id: '0199-k7',
  model: 'openai/gpt-5.5',
  created: 1_790_000_000,
  call: makeCall({ stream: true }),
};
const streamed = { 'content-type': 'text/event-stream' };

/** The official client, with this reply to every call. */
function createSdk(body: string, headers: Record<string, string>, status = 200): OpenAI {
  return new OpenAI({
    apiKey: 'sk-test',
    baseURL: 'http://gateway.invalid/v1',
    maxRetries: 0,
    fetch: async () => new Response(body, { status, headers }),
  });
}

const readEvents = (name: string): CanonicalEvent[] => decodeGolden(protocol, name, makeCall());

function encodeFrames(events: readonly CanonicalEvent[]): string {
  const encoder = client.encodeEvents(context);
  return events.map((event) => encoder.push(event)).join('');
}

const request = { model: 'openai/gpt-5.5', input: 'x' };

function summarizeReply({
  output,
  usage,
  status,
  incomplete_details: details,
  output_text: text,
}: Answer): unknown {
  return {
    text,
    reasoning: output
      .flatMap((item) => (item.type === 'reasoning' ? item.summary.map((part) => part.text) : []))
      .join('\n\n'),
    refusal: output
      .flatMap((item) =>
        item.type === 'message'
          ? item.content.flatMap((part) => (part.type === 'refusal' ? [part.refusal] : []))
          : [],
      )
      .join(''),
    calls: output.flatMap((item) => {
      if (item.type === 'function_call') return [[item.call_id, item.name, item.arguments]];
      return item.type === 'custom_tool_call' ? [[item.call_id, item.name, item.input]] : [];
    }),
    hosted: output.filter(
      (item) =>
        item.type.endsWith('_call') && item.type !== 'function_call' && item.type !== 'custom_tool_call',
    ).length,
    ended: details?.reason ?? status,
    output: usage?.output_tokens,
  };
}

const endings: Record<string, string> = { length: 'max_output_tokens', 'content-filter': 'content_filter' };

function summarizeEvents(events: readonly CanonicalEvent[]): unknown {
  const { candidates, usage } = fold(events);
  const said = candidates[0];
  return {
    text: said?.text ?? '',
    reasoning: said?.reasoning ?? '',
    refusal: said?.refusal ?? '',
    calls: said?.calls.map(({ id, name, arguments: text }) => [id, name, text]) ?? [],
    // The output of code is in the item of the code.
    hosted:
      (said?.others.length ?? 0) -
      events.filter((event) => event.type === 'block-start' && event.name === 'code_result').length,
    ended: endings[said?.reason ?? ''] ?? 'completed',
    output: usage.output,
  };
}

it.each(cases)('the official SDK assembles our stream of %s to the whole reply', async (name) => {
  const events = readEvents(name);
  const seen: string[] = [];
  const stream = createSdk(encodeFrames(events), streamed).responses.stream({ ...request });
  stream.on('event', ({ type }) => void seen.push(type));
  expect(summarizeReply(await stream.finalResponse())).toEqual(summarizeEvents(events));
  expect(seen.slice(0, 2)).toEqual(['response.created', 'response.in_progress']);
});

it.each(cases)('the official SDK reads our response of %s', async (name) => {
  const events = readEvents(name);
  const body = JSON.stringify(client.encodeReply(events, context));
  expect(
    summarizeReply(await createSdk(body, { 'content-type': 'application/json' }).responses.create(request)),
  ).toEqual(summarizeEvents(events));
});

it('the official SDK reads text, calls and more text, with two calls open at the same time', async () => {
  const place = (block: number): { candidate: 0; block: number } => ({ candidate: 0, block });
  const events: CanonicalEvent[] = [
    { type: 'response-start' },
    { type: 'block-start', ...place(0), kind: 'text' },
    { type: 'block-delta', ...place(0), text: 'First. ' },
    { type: 'block-end', ...place(0) },
    { type: 'block-start', ...place(1), kind: 'tool-call', id: 'call_1', name: 'a' },
    { type: 'block-delta', ...place(1), text: '{"a":' },
    { type: 'block-start', ...place(2), kind: 'tool-call', id: 'call_2', name: 'b' },
    { type: 'block-delta', ...place(2), text: '{}' },
    { type: 'block-delta', ...place(1), text: '1}' },
    { type: 'block-end', ...place(1) },
    { type: 'block-end', ...place(2) },
    { type: 'block-start', ...place(3), kind: 'text' },
    { type: 'block-delta', ...place(3), text: 'Second.' },
    { type: 'block-end', ...place(3) },
    { type: 'finish', candidate: 0, reason: { unified: 'tool-calls', raw: 'x' } },
    { type: 'usage', usage: { input: 1, output: 2 } },
    { type: 'response-end' },
  ];
  const answer = await createSdk(encodeFrames(events), streamed)
    .responses.stream({ ...request })
    .finalResponse();
  expect(answer.output.map(({ type }) => type)).toEqual([
    'message',
    'function_call',
    'function_call',
    'message',
  ]);
  expect(summarizeReply(answer)).toEqual(summarizeEvents(events));
});

it('the official SDK throws on an error inside a stream, with or without comments before it', async () => {
  const frames =
    client.keepAlive +
    client.encodeStreamError(new GatewayError('upstream_failed', 'It broke off.'), context.call, true);
  const stream = await createSdk(frames, streamed).responses.create({ ...request, stream: true });
  await expect(Array.fromAsync(stream)).rejects.toThrow('It broke off.');
  await expect(
    createSdk(frames, streamed)
      .responses.stream({ ...request })
      .finalResponse(),
  ).rejects.toThrow('It broke off.');
});

it('the official SDK reports the status, code and field of an error before the reply', async () => {
  const { status, body } = client.encodeError(
    new GatewayError('invalid_request', 'Why.', { param: 'input', vendor: { code: 'bad_input' } }),
    'x',
  );
  const call = createSdk(
    JSON.stringify(body),
    { 'content-type': 'application/json' },
    status,
  ).responses.create(request);
  await expect(call).rejects.toMatchObject({
    status: 400,
    code: 'bad_input',
    param: 'input',
    type: 'invalid_request_error',
  });
});

it('the official SDK reads our token count', async () => {
  const body = JSON.stringify(protocol.count?.encodeReply(51));
  expect(
    await createSdk(body, { 'content-type': 'application/json' }).responses.inputTokens.count(request),
  ).toEqual({ object: 'response.input_tokens', input_tokens: 51 });
});
