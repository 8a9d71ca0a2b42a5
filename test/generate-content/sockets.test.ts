/** The protocol over real sockets: Google's SDK calls the gateway, and the gateway calls a fake of Google. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { withCounts } from '../support/rates.ts';
import { openGoogleHouse, type GoogleHouse } from './google-harness.ts';

const model = 'google/gemini-3-flash-preview';
const usage = '"usageMetadata": {"promptTokenCount": 7,"candidatesTokenCount": 5,"totalTokenCount": 12}';

const chunk = (parts: string, reason = ''): string =>
  `{"candidates": [{"content": {"parts": [${parts}],"role": "model"}${reason},"index": ` +
  `0}],${usage},"modelVersion": "gemini-3-flash-preview","responseId": "r1"}`;

const stop = ',"finishReason": "STOP"';
const sse = (...chunks: string[]): string => chunks.map((each) => `data: ${each}\r\n\r\n`).join('');
const renameModel = (text: string): string =>
  text.replaceAll('"gemini-3-flash-preview"', JSON.stringify(model));
let google: GoogleHouse;
beforeAll(async () => void (google = await openGoogleHouse()));
afterAll(() => google.close());
beforeEach(() => void google.asked.splice(0));
const question = { model, contents: 'Ahoy' };

describe('a Google client and a Google provider', () => {
  it('exchange all bytes except the model name, and no client header reaches the vendor', async () => {
    google.reply = { type: 'application/json; charset=UTF-8', body: chunk('{"text": "Hé","n":1.0}', stop) };
    const body =
      '{ "contents" : [{"parts":[{"text":"caf\\u00e9","x":1.0}]}] ,"generation_config":{ "top_k": 1.0 }}';
    const response = await google.post(`${model}:generateContent?alt=json&key=x`, body);
    expect(await response.text()).toBe(renameModel(google.reply.body));
    expect(google.asked).toMatchObject([
      {
        path: '/v1beta/models/gemini-3-flash-preview:generateContent',
        body,
        headers: { 'x-goog-api-key': 'googles-key' },
      },
    ]);
    expect(JSON.stringify(google.asked)).not.toContain(google.harness.key);
  });

  it('exchange a stream of events', async () => {
    google.reply = {
      type: 'text/event-stream',
      body: sse(chunk('{"text": "Ah"}'), chunk('{"text": "oy"}', stop)),
    };
    const response = await google.post(`${model.replace('/', '%2F')}:streamGenerateContent?alt=sse`, {
      contents: [{ parts: [{ text: 'x' }] }],
    });
    expect([response.headers.get('content-type'), await response.text()]).toEqual([
      'text/event-stream; charset=utf-8',
      renameModel(google.reply.body),
    ]);
    expect(google.asked[0]?.path).toBe('/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse');
  });

  it('exchange a stream as one array, although the vendor sends events', async () => {
    const chunks = [chunk('{"text": "Ah"}'), chunk('{"text": "oy"}', stop)];
    google.reply = { type: 'text/event-stream', body: sse(...chunks) };
    const response = await google.post(`${model}:streamGenerateContent`, {
      contents: [{ parts: [{ text: 'x' }] }],
    });
    expect([response.headers.get('content-type'), await response.text()]).toEqual([
      'application/json; charset=utf-8',
      renameModel(`[${chunks.join(',\r\n')}]`),
    ]);
  });

  it('count tokens at the vendor, free of charge', async () => {
    google.reply = { type: 'application/json', body: '{"totalTokens": 31, "promptTokensDetails": []}' };
    const before = await google.harness.balance();
    expect(await google.ai.models.countTokens(question)).toMatchObject({ totalTokens: 31 });
    expect(google.asked[0]?.path).toBe('/v1beta/models/gemini-3-flash-preview:countTokens');
    expect(await google.harness.balance()).toEqual(before);
  });

  it('are charged what the vendor counted, thoughts included', async () => {
    google.reply = {
      type: 'application/json',
      body:
        '{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}],' +
        '"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":10,"thoughtsTokenCount":90,' +
        '"totalTokenCount":1100}}',
    };
    const before = (await google.harness.balance()).used;
    await google.ai.models.generateContent(question);
    const [end] = (await google.harness.gateway.ended(1)).slice(-1);
    expect(end).toMatchObject({
      type: 'answered',
      charge: { basis: 'usage', uses: withCounts({ input: 1000, output: 100 }) },
    });
    expect((await google.harness.balance()).used).toBeGreaterThan(before);
  });
});

describe('a cut stream', () => {
  it.each([
    ['streamGenerateContent?alt=sse', /^data: \{.*"Ah".*\r\n\r\ndata: \{"error":\{"code":503/s],
    ['streamGenerateContent', /^\[\{.*"Ah".*\},\r\n\{"error":\{"code":503.*\}\]$/s],
  ])('ends with an error and never looks complete, requested by %s', async (method, expected) => {
    google.reply = { type: 'text/event-stream', body: sse(chunk('{"text": "Ah"}')) };
    const text = await (
      await google.post(`${model}:${method}`, { contents: [{ parts: [{ text: 'x' }] }] })
    ).text();
    expect(text).toMatch(expected);
    expect(text).not.toContain('finishReason');
  });
});

describe('a refused call', () => {
  it("gets an error in Google's format, in an array if the stream would be one", async () => {
    const unknown = await google.post('google/none:generateContent', {
      contents: [{ parts: [{ text: 'x' }] }],
    });
    expect([unknown.status, await unknown.json()]).toMatchObject([
      404,
      { error: { code: 404, status: 'NOT_FOUND' } },
    ]);
    const wrong = await google.post(`${model}:streamGenerateContent`, { contents: [] });
    expect([wrong.status, await wrong.json()]).toMatchObject([
      400,
      [{ error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringContaining('"contents"') } }],
    ]);
    const stranger = await google.post(`${model}:generateContent`, {}, 'sk-unknown');
    expect([stranger.status, await stranger.json()]).toMatchObject([
      401,
      { error: { status: 'UNAUTHENTICATED' } },
    ]);
    expect(google.asked).toEqual([]);
  });

  it("is not the client's fault if the vendor rejects the gateway's key", async () => {
    google.reply = {
      type: 'application/json',
      status: 400,
      body:
        '{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT",' +
        '"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}',
    };
    const response = await google.post(`${model}:generateContent`, {
      contents: [{ parts: [{ text: 'x' }] }],
    });
    expect([response.status, await response.text()]).toMatchObject([503, expect.not.stringMatching(/key/i)]);
  });
});

const weather = { type: 'object', properties: { city: { type: 'string' } } };

describe('a chat client and a Google provider', () => {
  it('hold a conversation with a tool, and the signature returns to its part', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'get weather', parameters: weather } }];
    google.reply = {
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
    const offered = await google.harness.client.chat.completions
      .stream({ model, messages: [{ role: 'user', content: 'Oslo?' }], tools, reasoning_effort: 'low' })
      .finalChatCompletion();
    const [sent = ''] = google.asked.map(({ body }) => body);
    expect(JSON.parse(sent)).toMatchObject({
      contents: [{ role: 'user', parts: [{ text: 'Oslo?' }] }],
      generationConfig: { thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true } },
    });
    const [call] = offered.choices[0]?.message.tool_calls ?? [];
    expect([offered.choices[0]?.finish_reason, call?.type === 'function' && call.function.arguments]).toEqual(
      ['tool_calls', '{"city":"Oslo"}'],
    );
    google.reply = { type: 'application/json', body: chunk('{"text": "Cold."}', stop) };
    const message = offered.choices[0]?.message;
    const answered = await google.harness.client.chat.completions.create({
      model,
      tools,
      messages: [
        { role: 'user', content: 'Oslo?' },
        ...(message ? [message] : []),
        { role: 'tool', tool_call_id: call?.id ?? '', content: '-2' },
      ],
    });
    expect(answered.choices[0]?.message.content).toBe('Cold.');
    expect(JSON.parse(google.asked[1]?.body ?? '')).toMatchObject({
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

describe('the model listing', () => {
  it('lists all models to the SDK', async () => {
    const names = (await Array.fromAsync(await google.ai.models.list())).map(({ name }) => name);
    expect(names).toContain('models/google/gemini-2.5-pro');
    expect(await google.ai.models.get({ model })).toMatchObject({
      name: `models/${model}`,
      inputTokenLimit: 1_048_576,
    });
  });
});
