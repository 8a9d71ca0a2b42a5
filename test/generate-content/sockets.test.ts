/** The protocol over real sockets: Google's SDK calls the gateway, and the gateway calls a fake of Google. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { GoogleGenAI } from '@google/genai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { google } from '../../plugins/providers/google.ts';
import { openHouse, type House } from '../support/house.ts';
import { isObject } from '../support/json.ts';

interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let reply: { readonly type: string; readonly body: string; readonly status?: number };
const asked: Asked[] = [];

function startGoogle(): Server {
  return createServer(async (request, response) => {
    asked.push({
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(await Array.fromAsync(request)).toString(),
    });
    response.writeHead(reply.status ?? 200, { 'content-type': reply.type }).end(reply.body);
  });
}

const model = 'google/gemini-3-flash-preview';
const usage = '"usageMetadata": {"promptTokenCount": 7,"candidatesTokenCount": 5,"totalTokenCount": 12}';
const chunk = (parts: string, reason = ''): string =>
  `{"candidates": [{"content": {"parts": [${parts}],"role": "model"}${reason},"index": ` +
  `0}],${usage},"modelVersion": "gemini-3-flash-preview","responseId": "r1"}`;
const stop = ',"finishReason": "STOP"';
const sse = (...chunks: string[]): string => chunks.map((each) => `data: ${each}\r\n\r\n`).join('');
const renamed = (text: string): string => text.replaceAll('"gemini-3-flash-preview"', JSON.stringify(model));

let house: House;
let vendor: Server;
let ai: GoogleGenAI;
beforeAll(async () => {
  vendor = startGoogle().listen(0, '127.0.0.1');
  await once(vendor, 'listening');
  const address = vendor.address();
  const baseUrl = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  house = await openHouse({
    plugins: [googleApiKey(), generateContent(), google({ apiKey: 'googles-key', baseUrl })],
  });
  ai = new GoogleGenAI({ apiKey: house.key, httpOptions: { baseUrl: `${house.gateway.url}/beta` } });
});
afterAll(async () => {
  await house.close();
  vendor.close();
});
beforeEach(() => void asked.splice(0));

function post(path: string, body: unknown, key = house.key): Promise<Response> {
  return fetch(`${house.gateway.url}/beta/v1beta/models/${path}`, {
    method: 'POST',
    headers: { 'x-goog-api-key': key },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

const question = { model, contents: 'Ahoy' };

describe('a Google client and a Google provider', () => {
  it('exchange all bytes except the model name, and no client header reaches the vendor', async () => {
    reply = { type: 'application/json; charset=UTF-8', body: chunk('{"text": "Hé","n":1.0}', stop) };
    const body =
      '{ "contents" : [{"parts":[{"text":"caf\\u00e9","x":1.0}]}] ,"generation_config":{ "top_k": 1.0 }}';
    const response = await post(`${model}:generateContent?alt=json&key=x`, body);
    expect(await response.text()).toBe(renamed(reply.body));
    expect(asked).toMatchObject([
      {
        path: '/v1beta/models/gemini-3-flash-preview:generateContent',
        body,
        headers: { 'x-goog-api-key': 'googles-key' },
      },
    ]);
    expect(JSON.stringify(asked)).not.toContain(house.key);
  });

  it('exchange a stream of events', async () => {
    reply = { type: 'text/event-stream', body: sse(chunk('{"text": "Ah"}'), chunk('{"text": "oy"}', stop)) };
    const response = await post(`${model.replace('/', '%2F')}:streamGenerateContent?alt=sse`, {
      contents: [{ parts: [{ text: 'x' }] }],
    });
    expect([response.headers.get('content-type'), await response.text()]).toEqual([
      'text/event-stream; charset=utf-8',
      renamed(reply.body),
    ]);
    expect(asked[0]?.path).toBe('/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse');
  });

  it('exchange a stream as one array, although the vendor sends events', async () => {
    const chunks = [chunk('{"text": "Ah"}'), chunk('{"text": "oy"}', stop)];
    reply = { type: 'text/event-stream', body: sse(...chunks) };
    const response = await post(`${model}:streamGenerateContent`, { contents: [{ parts: [{ text: 'x' }] }] });
    expect([response.headers.get('content-type'), await response.text()]).toEqual([
      'application/json; charset=utf-8',
      renamed(`[${chunks.join(',\r\n')}]`),
    ]);
  });

  it('count tokens at the vendor, free of charge', async () => {
    reply = { type: 'application/json', body: '{"totalTokens": 31, "promptTokensDetails": []}' };
    const before = await house.balance();
    expect(await ai.models.countTokens(question)).toMatchObject({ totalTokens: 31 });
    expect(asked[0]?.path).toBe('/v1beta/models/gemini-3-flash-preview:countTokens');
    expect(await house.balance()).toEqual(before);
  });

  it('are charged what the vendor counted, thoughts included', async () => {
    reply = {
      type: 'application/json',
      body:
        '{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}],' +
        '"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":10,"thoughtsTokenCount":90,' +
        '"totalTokenCount":1100}}',
    };
    const before = (await house.balance()).used;
    await ai.models.generateContent(question);
    const [end] = (await house.gateway.ended(1)).slice(-1);
    expect(end).toMatchObject({
      type: 'answered',
      charge: { basis: 'usage', usage: { input: 1000, output: 100 } },
    });
    expect((await house.balance()).used).toBeGreaterThan(before);
  });
});

describe('a cut stream', () => {
  it.each([
    ['streamGenerateContent?alt=sse', /^data: \{.*"Ah".*\r\n\r\ndata: \{"error":\{"code":503/s],
    ['streamGenerateContent', /^\[\{.*"Ah".*\},\r\n\{"error":\{"code":503.*\}\]$/s],
  ])('ends with an error and never looks complete, requested by %s', async (method, expected) => {
    reply = { type: 'text/event-stream', body: sse(chunk('{"text": "Ah"}')) };
    const text = await (await post(`${model}:${method}`, { contents: [{ parts: [{ text: 'x' }] }] })).text();
    expect(text).toMatch(expected);
    expect(text).not.toContain('finishReason');
  });
});

describe('a refused call', () => {
  it("gets an error in Google's format, in an array if the stream would be one", async () => {
    const unknown = await post('google/none:generateContent', { contents: [{ parts: [{ text: 'x' }] }] });
    expect([unknown.status, await unknown.json()]).toMatchObject([
      404,
      { error: { code: 404, status: 'NOT_FOUND' } },
    ]);
    const wrong = await post(`${model}:streamGenerateContent`, { contents: [] });
    expect([wrong.status, await wrong.json()]).toMatchObject([
      400,
      [{ error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringContaining('"contents"') } }],
    ]);
    const stranger = await post(`${model}:generateContent`, {}, 'sk-nobody');
    expect([stranger.status, await stranger.json()]).toMatchObject([
      401,
      { error: { status: 'UNAUTHENTICATED' } },
    ]);
    expect(asked).toEqual([]);
  });

  it("is not the client's fault if the vendor rejects the gateway's key", async () => {
    reply = {
      type: 'application/json',
      status: 400,
      body:
        '{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT",' +
        '"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}',
    };
    const response = await post(`${model}:generateContent`, { contents: [{ parts: [{ text: 'x' }] }] });
    expect([response.status, await response.text()]).toMatchObject([503, expect.not.stringMatching(/key/i)]);
  });
});

const weather = { type: 'object', properties: { city: { type: 'string' } } };

describe('a chat client and a Google provider', () => {
  it('hold a conversation with a tool, and the signature returns to its part', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'get weather', parameters: weather } }];
    reply = {
      type: 'text/event-stream',
      body: sse(
        chunk('{"text": "Hm.","thought": true}'),
        chunk(
          '{"functionCall": {"name": "get_weather_b7a1d0c9","args": {"city": ' +
            '"Oslo"}},"thoughtSignature": "c2lnbmVk"}',
        ),
        chunk('{"text": ""}', stop),
      ),
    };
    const offered = await house.client.chat.completions
      .stream({ model, messages: [{ role: 'user', content: 'Oslo?' }], tools, reasoning_effort: 'low' })
      .finalChatCompletion();
    const [sent = ''] = asked.map(({ body }) => body);
    expect(JSON.parse(sent)).toMatchObject({
      contents: [{ role: 'user', parts: [{ text: 'Oslo?' }] }],
      generationConfig: { thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true } },
    });
    const [call] = offered.choices[0]?.message.tool_calls ?? [];
    expect([offered.choices[0]?.finish_reason, call?.type === 'function' && call.function.arguments]).toEqual(
      ['tool_calls', '{"city":"Oslo"}'],
    );
    reply = { type: 'application/json', body: chunk('{"text": "Cold."}', stop) };
    const message = offered.choices[0]?.message;
    const answered = await house.client.chat.completions.create({
      model,
      tools,
      messages: [
        { role: 'user', content: 'Oslo?' },
        ...(message ? [message] : []),
        { role: 'tool', tool_call_id: call?.id ?? '', content: '-2' },
      ],
    });
    expect(answered.choices[0]?.message.content).toBe('Cold.');
    expect(JSON.parse(asked[1]?.body ?? '')).toMatchObject({
      contents: [
        { role: 'user' },
        {
          role: 'model',
          parts: [{ functionCall: { args: { city: 'Oslo' } }, thoughtSignature: 'c2lnbmVk' }],
        },
        { role: 'user', parts: [{ functionResponse: { id: call?.id, response: { output: '-2' } } }] },
      ],
    });
  });
});

describe('a Google client and another provider', () => {
  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];

  it('hold a streamed conversation', async () => {
    house.vendor.script('gpt-4o-mini', {
      text: ['Good ', 'day.'],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
    const chunks = await Array.fromAsync(
      await ai.models.generateContentStream({
        model: 'openai/gpt-4o-mini',
        contents,
        config: { temperature: 0.5, topK: 3, maxOutputTokens: 50 },
      }),
    );
    expect(chunks.map(({ text }) => text).join('')).toBe('Good day.');
    expect(chunks.at(-1)).toMatchObject({
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: { totalTokenCount: 5 },
      modelVersion: 'openai/gpt-4o-mini',
    });
    expect(JSON.parse(house.vendor.requests.at(-1)?.body.toString() ?? '')).toMatchObject({
      model: 'gpt-4o-mini',
      max_completion_tokens: 50,
      temperature: 0.5,
      messages: [{ role: 'user', content: 'Hello' }],
    });
  });

  it("report losses by the client's own field names", async () => {
    house.vendor.script('gpt-4o-mini', { text: ['Hi.'] });
    const response = await post('openai/gpt-4o-mini:generateContent', {
      contents,
      safety_settings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'OFF' }],
      generation_config: { top_k: 4, enable_affective: true },
    });
    const dropped = response.headers.get('x-tollgate-dropped')?.split(',') ?? [];
    expect(dropped.toSorted()).toEqual([
      'generation_config.enable_affective',
      'generation_config.top_k',
      'safety_settings',
    ]);
  });

  it('refuse a call whose prompt is cached at Google', async () => {
    const response = await post('openai/gpt-4o-mini:generateContent', {
      contents,
      cachedContent: 'cachedContents/x',
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { status: 'INVALID_ARGUMENT', message: expect.stringContaining('cachedContent') } },
    ]);
  });

  it.each(['embedContent', 'batchGenerateContent'])(
    "answer %s with a 404 in Google's format that lists the methods",
    async (method) => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${house.gateway.url}/beta/v1beta/models/openai/gpt-4o-mini:${method}`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ contents }),
      });
      expect([response.status, await response.json()]).toMatchObject([
        404,
        {
          error: {
            code: 404,
            status: 'NOT_FOUND',
            message: expect.stringMatching(
              `${method}: .* are generateContent, streamGenerateContent, countTokens.$`,
            ),
          },
        },
      ]);
    },
  );

  it('answer a count with an estimate, marked as one, if the vendor has no count', async () => {
    const response = await post('openai/gpt-4o-mini:countTokens', { contents });
    const body: unknown = await response.json();
    expect([response.headers.get('x-tollgate-estimate'), isObject(body) && typeof body.totalTokens]).toEqual([
      'true',
      'number',
    ]);
  });
});

describe('the model listing', () => {
  it('lists all models to the SDK', async () => {
    const names = (await Array.fromAsync(await ai.models.list())).map(({ name }) => name);
    expect(names).toContain('models/google/gemini-2.5-pro');
    expect(await ai.models.get({ model })).toMatchObject({
      name: `models/${model}`,
      inputTokenLimit: 1_048_576,
    });
  });
});
