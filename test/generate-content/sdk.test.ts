import { ApiError, GoogleGenAI, type GenerateContentResponse } from '@google/genai';
import { afterEach, expect, it, vi } from 'vitest';
import { GatewayError, type CanonicalEvent } from '../../core/index.ts';
import { fold } from '../contract/replies.ts';
import { decodeGolden, listGolden } from '../support/golden.ts';
import { makeCall, makeMatch, protocol, showingThoughts } from './bodies.ts';

const cases = listGolden('generate-content', 'reply.sse');
const { client } = protocol;
const makeContext = (stream: boolean) => ({
  id: 'k7',
  model: 'google/gemini-3-pro',
  created: 1_790_000_000,
  call: makeCall(showingThoughts, makeMatch(stream)),
});

afterEach(() => vi.unstubAllGlobals());

const requests: { url: string; body: unknown }[] = [];

/** The SDK, with a fetch that always returns this body. */
function createSdk(body: string, type = 'application/json', status = 200): GoogleGenAI {
  requests.length = 0;
  vi.stubGlobal('fetch', async (input: string | URL | Request, init?: RequestInit) => {
    requests.push({
      url: input instanceof Request ? input.url : String(input),
      body: JSON.parse(String(init?.body)),
    });
    return new Response(body, { status, headers: { 'content-type': type } });
  });
  return new GoogleGenAI({ apiKey: 'sk-test', httpOptions: { baseUrl: 'http://gateway.invalid/beta' } });
}

const readEvents = (name: string): CanonicalEvent[] => decodeGolden(protocol, name, makeCall());

const question = { model: 'google/gemini-3-pro', contents: 'x' };

interface Gathered {
  text: string;
  thoughts: string;
  readonly calls: unknown[];
  output: number | undefined;
  reason: string | undefined;
}

/** Collects all chunks as users of the SDK do. */
function gather(chunks: readonly GenerateContentResponse[]): Gathered {
  const gathered: Gathered = { text: '', thoughts: '', calls: [], output: undefined, reason: undefined };
  for (const { candidates = [], usageMetadata } of chunks) {
    gathered.output = usageMetadata?.totalTokenCount ?? gathered.output;
    for (const { content, finishReason, index = 0 } of candidates) {
      if (index > 0) continue;
      gathered.reason = finishReason ?? gathered.reason;
      for (const { text = '', thought, functionCall } of content?.parts ?? []) {
        if (thought) gathered.thoughts += text;
        else gathered.text += text;
        if (functionCall) gathered.calls.push([functionCall.id, functionCall.name, functionCall.args]);
      }
    }
  }
  return gathered;
}

function gatherEvents(events: readonly CanonicalEvent[]): Gathered {
  const { candidates, usage } = fold(events);
  const { text = '', reasoning = '', calls = [] } = candidates[0] ?? {};
  return {
    text,
    thoughts: reasoning,
    calls: calls.map((call) => [call.id, call.name, JSON.parse(call.arguments)]),
    output: (usage.input ?? 0) + (usage.output ?? 0),
    reason: 'STOP',
  };
}

it.each(cases)("Google's own SDK reads our stream of %s as what the model said", async (name) => {
  const events = readEvents(name);
  const encoder = client.encodeEvents(makeContext(true));
  const stream = await createSdk(
    events.map((event) => encoder.push(event)).join(''),
    'text/event-stream',
  ).models.generateContentStream(question);
  expect(gather(await Array.fromAsync(stream))).toEqual(gatherEvents(events));
});

it.each(cases)("Google's own SDK reads our whole reply of %s", async (name) => {
  const events = readEvents(name);
  const reply = await createSdk(
    JSON.stringify(client.encodeReply(events, makeContext(false))),
  ).models.generateContent(question);
  expect(gather([reply])).toEqual(gatherEvents(events));
  expect(reply.modelVersion).toBe('google/gemini-3-pro');
});

it("Google's own SDK reads our count", async () => {
  expect(
    await createSdk(JSON.stringify(protocol.count?.encodeReply(42))).models.countTokens(question),
  ).toMatchObject({ totalTokens: 42 });
});

it("Google's own SDK sends bodies and calls addresses that the gateway accepts", async () => {
  const ai = createSdk('{"totalTokens":1,"candidates":[]}');
  const tools = [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object' } }] }];
  await ai.models.generateContent({
    ...question,
    config: {
      systemInstruction: 'Be brief.',
      tools,
      maxOutputTokens: 9,
      responseMimeType: 'application/json',
    },
  });
  await ai.models.countTokens(question);
  const calls = requests.map(({ url, body }) => {
    const match = client.match('POST', new URL(url).pathname, new URL(url).search.slice(1));
    return match && client.read(body, JSON.stringify(body), match, {});
  });
  expect(calls).toMatchObject([
    { model: 'google/gemini-3-pro', outputLimit: 9 },
    { model: 'google/gemini-3-pro', stream: false },
  ]);
});

it("Google's own SDK asks for a stream of server-sent events", async () => {
  const ai = createSdk('data: {}\n\n', 'text/event-stream');
  await Array.fromAsync(await ai.models.generateContentStream(question));
  const [{ url = '' } = {}] = requests;
  expect(client.match('POST', new URL(url).pathname, new URL(url).search.slice(1))).toMatchObject({
    stream: true,
    framing: 'events',
    model: 'google/gemini-3-pro',
  });
});

it("Google's own SDK throws an error inside a stream, with its status", async () => {
  const stream = await createSdk(
    client.encodeStreamError(
      new GatewayError('upstream_overloaded', 'It broke off.'),
      makeCall({}, makeMatch(true)),
      true,
    ),
    'text/event-stream',
  ).models.generateContentStream(question);
  const error: unknown = await Array.fromAsync(stream).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: 503, message: expect.stringContaining('It broke off.') });
});

it("Google's own SDK throws an error before the reply, with its status and message", async () => {
  const { status, body } = client.encodeError(new GatewayError('out_of_balance', 'Top up.'), 'k7');
  await expect(
    createSdk(JSON.stringify(body), 'application/json', status).models.generateContent(question),
  ).rejects.toMatchObject({ status: 402, message: expect.stringContaining('Top up.') });
});
