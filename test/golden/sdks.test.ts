/**
 * The official SDKs read what the gateway writes: every golden reply, whole and through the SDK's own stream
 * helper, and errors. `flows/one-address.test.ts` shows that the gateway reads what they send.
 */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI, type GenerateContentResponse } from '@google/genai';
import OpenAI from 'openai';
import type { ChatCompletion } from 'openai/resources/chat/completions';
import type { Response as Answer } from 'openai/resources/responses/responses';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { GatewayError, type CanonicalEvent } from '../../core/index.ts';
import { fold } from '../contract/replies.ts';
import { buildBlock } from '../support/events.ts';
import { families, makeContext, readShortest, wires, type Wire } from '../support/families.ts';
import { decodeGolden, listGolden } from '../support/golden.ts';

/** What an SDK makes of a choice: what its types have no name for is missing. */
interface Heard {
  readonly text: string;
  readonly reasoning?: string;
  readonly refusal?: string;
  /** Calls of tools: their id, name and arguments. */
  readonly calls: readonly unknown[];
  /** Items of the vendor's own tools. */
  readonly hosted?: number;
  readonly seals?: readonly string[];
  readonly reason: unknown;
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly total?: number | undefined;
}

type Choices = Readonly<Record<number, Heard>>;

interface Sdk {
  whole(): Promise<Choices>;
  /** Reads a stream through the helper of the SDK, if it has one. */
  streamed(): Promise<Choices>;
  /** The chunks of a stream, one by one. */
  iterate(): Promise<unknown>;
  /** The words for reasons that differ from ours. */
  readonly reasons: Readonly<Record<string, string>>;
  /** What it throws at an invalid request. */
  readonly refusal: object;
}

function hearChat({ choices, usage }: ChatCompletion): Choices {
  const heard = choices.map(({ index, message, finish_reason: reason }) => [
    index,
    {
      text: message.content ?? '',
      refusal: message.refusal ?? '',
      calls: (message.tool_calls ?? []).map((call) =>
        call.type === 'function'
          ? [call.id, call.function.name, call.function.arguments]
          : [call.id, call.custom.name, call.custom.input],
      ),
      reason,
      output: usage?.completion_tokens,
    },
  ]);
  return Object.fromEntries(heard);
}

function hearResponse({ output, usage, status, incomplete_details: details, ...rest }: Answer): Choices {
  const join = (texts: readonly string[], between = ''): string => texts.join(between);
  const own = new Set(['function_call', 'custom_tool_call']);
  return {
    0: {
      text: rest.output_text,
      reasoning: join(
        output.flatMap((item) => (item.type === 'reasoning' ? item.summary.map(({ text }) => text) : [])),
        '\n\n',
      ),
      refusal: join(
        output
          .flatMap((item) => (item.type === 'message' ? item.content : []))
          .map((part) => (part.type === 'refusal' ? part.refusal : '')),
      ),
      calls: output.flatMap((item) => {
        if (item.type === 'function_call') return [[item.call_id, item.name, item.arguments]];
        return item.type === 'custom_tool_call' ? [[item.call_id, item.name, item.input]] : [];
      }),
      hosted: output.filter(({ type }) => type.endsWith('_call') && !own.has(type)).length,
      reason: details?.reason ?? status,
      output: usage?.output_tokens,
    },
  };
}

function hearMessage({ content, stop_reason: reason, usage }: Anthropic.Message): Choices {
  return {
    0: {
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      reasoning: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
      calls: content.flatMap((block) =>
        block.type === 'tool_use' ? [[block.id, block.name, JSON.stringify(block.input)]] : [],
      ),
      seals: content.flatMap((block) => {
        if (block.type === 'thinking') return [block.signature];
        return block.type === 'redacted_thinking' ? [block.data] : [];
      }),
      reason,
      output: usage.output_tokens,
      input:
        usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
    },
  };
}

/** Collects chunks as users of Google's SDK do, which has no helper for it. */
function hearChunks(chunks: readonly GenerateContentResponse[]): Choices {
  const candidates = chunks.flatMap((chunk) => chunk.candidates ?? []).filter(({ index = 0 }) => index === 0);
  const parts = candidates.flatMap(({ content }) => content?.parts ?? []);
  const join = (thought: boolean): string =>
    parts.map((part) => (Boolean(part.thought) === thought ? (part.text ?? '') : '')).join('');
  return {
    0: {
      text: join(false),
      reasoning: join(true),
      calls: parts.flatMap(({ functionCall: call }) =>
        call ? [[call.id, call.name, JSON.stringify(call.args)]] : [],
      ),
      reason: candidates.findLast(({ finishReason }) => finishReason)?.finishReason,
      total: chunks.findLast(({ usageMetadata }) => usageMetadata)?.usageMetadata?.totalTokenCount,
    },
  };
}

const model = 'owner/model';
const chat = { model, messages: [{ role: 'user' as const, content: 'x' }] };
const options = { apiKey: 'sk-test', maxRetries: 0, baseURL: 'http://gateway.invalid' };
const invalid = { status: 400, code: 'bad_n', param: 'n', type: 'invalid_request_error' };

/** An SDK takes the global `fetch` when it is made. */
const sdks: Readonly<Record<Wire, () => Sdk>> = {
  'chat-completions': () => {
    const { completions } = new OpenAI(options).chat;
    return {
      whole: async () => hearChat(await completions.create(chat)),
      streamed: async () => hearChat(await completions.stream(chat).finalChatCompletion()),
      iterate: async () => Array.fromAsync(await completions.create({ ...chat, stream: true })),
      reasons: { 'tool-calls': 'tool_calls', 'content-filter': 'content_filter' },
      refusal: invalid,
    };
  },
  responses: () => {
    const { responses } = new OpenAI(options);
    const asked = { model, input: 'x' };
    return {
      whole: async () => hearResponse(await responses.create(asked)),
      streamed: async () => hearResponse(await responses.stream(asked).finalResponse()),
      iterate: async () => Array.fromAsync(await responses.create({ ...asked, stream: true })),
      reasons: {
        stop: 'completed',
        'tool-calls': 'completed',
        refusal: 'completed',
        length: 'max_output_tokens',
        'content-filter': 'content_filter',
      },
      refusal: invalid,
    };
  },
  messages: () => {
    const { messages } = new Anthropic(options);
    const asked = { ...chat, max_tokens: 100 };
    return {
      whole: async () => hearMessage(await messages.create(asked)),
      streamed: async () => hearMessage(await messages.stream(asked).finalMessage()),
      iterate: async () => Array.fromAsync(await messages.create({ ...asked, stream: true })),
      reasons: { stop: 'end_turn', 'tool-calls': 'tool_use', 'stop-sequence': 'stop_sequence' },
      refusal: { status: 400, error: { error: { type: 'invalid_request_error' } } },
    };
  },
  'generate-content': () => {
    const { models } = new GoogleGenAI({ apiKey: 'sk-test', httpOptions: { baseUrl: options.baseURL } });
    const asked = { model, contents: 'x' };
    const iterate = async (): Promise<GenerateContentResponse[]> =>
      Array.fromAsync(await models.generateContentStream(asked));
    return {
      whole: async () => {
        const reply = await models.generateContent(asked);
        expect(reply.modelVersion).toBe(model);
        return hearChunks([reply]);
      },
      streamed: async () => hearChunks(await iterate()),
      iterate,
      reasons: { stop: 'STOP', 'tool-calls': 'STOP' },
      refusal: { status: 400, message: expect.stringContaining('Why.') },
    };
  },
};

afterEach(() => vi.unstubAllGlobals());

/** The SDK of a wire, with this reply to its every call. */
function createSdk(wire: Wire, body: string, type = 'application/json', status = 200): Sdk {
  vi.stubGlobal('fetch', async () => new Response(body, { status, headers: { 'content-type': type } }));
  return sdks[wire]();
}

function createStreamingSdk(wire: Wire, frames: string): Sdk {
  return createSdk(wire, frames, 'text/event-stream; charset=utf-8');
}

/** What was said, of which an SDK has to hear everything that it has a name for. */
function summarize(events: readonly CanonicalEvent[], reasons: Sdk['reasons']): unknown {
  const { candidates, usage } = fold(events);
  const { input = 0, output = 0 } = usage;
  // The output of code is in the item of the code.
  const results = events.filter((event) => event.type === 'block-start' && event.name === 'code_result');
  const said = Object.entries(candidates).map(([index, { calls, reason = '', sealed, others, ...rest }]) => [
    index,
    {
      ...rest,
      calls: calls.map((call) => [call.id, call.name, call.arguments]),
      hosted: others.length - results.length,
      seals: sealed.flat().map((seal) => Object(seal).value),
      reason: reasons[reason] ?? reason,
      input,
      output,
      total: input + output,
    },
  ]);
  return Object.fromEntries(said);
}

function encodeStream(wire: Wire, events: readonly CanonicalEvent[]): string {
  const encoder = families[wire].protocol.client.encodeEvents(makeContext(readShortest(wire, true)));
  return events.map((event) => encoder.push(event)).join('');
}

describe.each(wires)('the official SDK of %s', (wire) => {
  const { protocol } = families[wire];
  const { client } = protocol;
  const readEvents = (name: string): CanonicalEvent[] =>
    decodeGolden(protocol, name, readShortest(wire, true));

  it.each(listGolden(wire, 'reply.sse'))('assembles our stream of %s into what was said', async (name) => {
    const events = readEvents(name);
    const sdk = createStreamingSdk(wire, encodeStream(wire, events));
    expect(summarize(events, sdk.reasons)).toMatchObject(await sdk.streamed());
  });

  it.each(listGolden(wire, 'reply.sse'))('reads our whole reply of %s as what was said', async (name) => {
    const events = readEvents(name);
    const body = client.encodeReply(events, makeContext(readShortest(wire)));
    const sdk = createSdk(wire, JSON.stringify(body));
    expect(summarize(events, sdk.reasons)).toMatchObject(await sdk.whole());
  });

  it('reads two calls that another vendor made at the same time, between texts', async () => {
    const [start, ...first] = buildBlock(1, 'tool-call', ['{"a":', '1}'], { id: 'call_1', name: 'a' });
    const [begun, ...second] = buildBlock(2, 'tool-call', ['{}'], { id: 'call_2', name: 'b' });
    if (!start || !begun) throw new Error('a block has a start');
    const events: CanonicalEvent[] = [
      { type: 'response-start' },
      ...buildBlock(0, 'text', ['First. ']),
      start,
      ...first.slice(0, 1),
      begun,
      ...second.slice(0, 1),
      ...first.slice(1),
      ...second.slice(1),
      ...buildBlock(3, 'text', ['Second.']),
      { type: 'finish', candidate: 0, reason: { unified: 'tool-calls', raw: 'x' } },
      { type: 'usage', usage: { input: 1, output: 2 } },
      { type: 'response-end' },
    ];
    const sdk = createStreamingSdk(wire, encodeStream(wire, events));
    expect(summarize(events, sdk.reasons)).toMatchObject(await sdk.streamed());
  });

  it('throws at an error inside a stream, with or without a keep-alive before it', async () => {
    const error = new GatewayError('upstream_failed', 'It broke off.');
    const frames = client.keepAlive + client.encodeStreamError(error, readShortest(wire, true), true);
    await expect(createStreamingSdk(wire, frames).iterate()).rejects.toThrow('It broke off.');
    await expect(createStreamingSdk(wire, frames).streamed()).rejects.toThrow('It broke off.');
  });

  it('throws an error before the reply, with its status and what else its type has', async () => {
    const details = { param: 'n', vendor: { code: 'bad_n' } };
    const { status, body } = client.encodeError(new GatewayError('invalid_request', 'Why.', details), 'x');
    const sdk = createSdk(wire, JSON.stringify(body), 'application/json', status);
    await expect(sdk.whole()).rejects.toMatchObject(sdk.refusal);
  });
});
