import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { GatewayError, type CanonicalEvent, type ClientCall } from '../../core/index.ts';
import { fold } from '../contract/replies.ts';
import { decodeGolden, listGolden } from '../support/golden.ts';
import { isObject } from '../support/json.ts';
import { makeCall, protocol } from './bodies.ts';

const cases = listGolden('messages', 'reply.sse');
const { client } = protocol;
const context = {
  id: 'k7',
  model: 'anthropic/claude-test',
  created: 1_790_000_000,
  call: makeCall({ thinking: { type: 'adaptive' } }),
};
const request = {
  model: 'anthropic/claude-test',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'x' }],
};

/** The official client, with this reply to its every call. */
function createSdk(
  body: string,
  headers: Record<string, string>,
  status = 200,
  seen?: (url: string, init: RequestInit) => void,
): Anthropic {
  const fetch = async (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    seen?.(url instanceof Request ? url.url : String(url), init);
    return new Response(body, { status, headers });
  };
  return new Anthropic({ apiKey: 'sk-test', baseURL: 'http://gateway.invalid/alpha', maxRetries: 0, fetch });
}

const asStream = { 'content-type': 'text/event-stream; charset=utf-8' };
const asJson = { 'content-type': 'application/json' };

const readEvents = (name: string): CanonicalEvent[] => decodeGolden(protocol, name, makeCall());

function encodeFrames(events: readonly CanonicalEvent[]): string {
  const encoder = client.encodeEvents(context);
  return events.map((event) => encoder.push(event)).join('');
}

function summarizeReply({ content, stop_reason: reason, usage }: Anthropic.Message): unknown {
  return {
    text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    thoughts: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
    calls: content.flatMap((block) =>
      block.type === 'tool_use' ? [[block.id, block.name, JSON.stringify(block.input)]] : [],
    ),
    reason,
    output: usage.output_tokens,
    input:
      usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
  };
}

const reasons: Record<string, string> = {
  stop: 'end_turn',
  'tool-calls': 'tool_use',
  'stop-sequence': 'stop_sequence',
};

function summarizeEvents(events: readonly CanonicalEvent[]): unknown {
  const { candidates, usage } = fold(events);
  const { text = '', reasoning: thoughts = '', calls = [], reason = '' } = candidates[0] ?? {};
  return {
    text,
    thoughts,
    calls: calls.map(({ id, name, arguments: said }) => [id, name, said]),
    reason: reasons[reason] ?? reason,
    output: usage.output,
    input: usage.input,
  };
}

describe('the official SDK', () => {
  it.each(cases)('assembles our stream of %s into what was said', async (name) => {
    const events = readEvents(name);
    expect(
      summarizeReply(await createSdk(encodeFrames(events), asStream).messages.stream(request).finalMessage()),
    ).toEqual(summarizeEvents(events));
  });

  it.each(cases)('reads our message of %s', async (name) => {
    const events = readEvents(name);
    expect(
      summarizeReply(
        await createSdk(JSON.stringify(client.encodeReply(events, context)), asJson).messages.create(request),
      ),
    ).toEqual(summarizeEvents(events));
  });

  it('assembles interleaved calls that another provider made', async () => {
    const place = (block: number): { candidate: number; block: number } => ({ candidate: 0, block });
    const events: CanonicalEvent[] = [
      { type: 'response-start' },
      { type: 'block-start', ...place(0), kind: 'tool-call', id: 'call_a', name: 'look' },
      { type: 'block-start', ...place(1), kind: 'tool-call', id: 'call_b', name: 'see' },
      { type: 'block-delta', ...place(1), text: '{"x":' },
      { type: 'block-delta', ...place(0), text: '{}' },
      { type: 'block-delta', ...place(1), text: '2}' },
      { type: 'block-end', ...place(0) },
      { type: 'block-end', ...place(1) },
      { type: 'usage', usage: { input: 5, output: 6 } },
      { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'stop' } },
      { type: 'response-end' },
    ];
    const message = await createSdk(encodeFrames(events), asStream).messages.stream(request).finalMessage();
    expect(summarizeReply(message)).toMatchObject({
      calls: [
        ['call_a', 'look', '{}'],
        ['call_b', 'see', '{"x":2}'],
      ],
      reason: 'tool_use',
    });
  });

  it('throws at an error inside a stream, with or without a keep-alive before it', async () => {
    const frames =
      client.keepAlive +
      client.encodeStreamError(new GatewayError('upstream_failed', 'It broke off.'), context.call, true);
    const stream = await createSdk(frames, asStream).messages.create({ ...request, stream: true });
    await expect(Array.fromAsync(stream)).rejects.toThrow('It broke off.');
  });

  it('reports an error before the reply with its status and type', async () => {
    const { status, body } = client.encodeError(
      new GatewayError('out_of_balance', 'No credit.'),
      'exchange-1',
    );
    await expect(
      createSdk(JSON.stringify(body), asJson, status).messages.create(request),
    ).rejects.toMatchObject({
      status: 402,
      error: { error: { type: 'billing_error' } },
    });
  });

  it('sends requests that we read: its calls, its counts, and its version', async () => {
    const read: ClientCall[] = [];
    const take = (url: string, { body, headers, method = '' }: RequestInit): void => {
      const match = protocol.client.match(method, new URL(url).pathname);
      if (!match) throw new Error(`nothing at ${url}`);
      const text = String(body);
      read.push(
        client.read(JSON.parse(text), text, match, Object.fromEntries(new Headers(headers).entries())),
      );
    };
    await createSdk(
      JSON.stringify(client.encodeReply(readEvents('text'), context)),
      asJson,
      200,
      take,
    ).messages.create(request);
    const counted = await createSdk(
      JSON.stringify(protocol.count?.encodeReply(12)),
      asJson,
      200,
      take,
    ).messages.countTokens({ model: request.model, messages: request.messages });
    expect(counted.input_tokens).toBe(12);
    expect(read.map(({ outputLimit }) => outputLimit)).toEqual([100, undefined]);
  });

  it('sends our reply back unchanged', async () => {
    const { content } = await createSdk(encodeFrames(readEvents('thinking')), asStream)
      .messages.stream(request)
      .finalMessage();
    const call = makeCall({
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content },
        { role: 'user', content: 'y' },
      ],
    });
    const { sealed } = fold(readEvents('thinking')).candidates[0] ?? { sealed: [] };
    expect(
      call
        .decode()
        .turns[1]?.blocks.flatMap((block) =>
          isObject(block) && block.type === 'reasoning' ? [block.opaque] : [],
        ),
    ).toEqual(sealed);
  });
});
