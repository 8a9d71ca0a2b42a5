/** The protocol over real sockets: clients of Google call a gateway, and it calls a fake of Google. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { beforeAll, expect, it } from 'vitest';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { google } from '../../plugins/providers/google.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { serve, type Served } from '../support/serve.ts';

const model = 'google/gemini-3-flash-preview';
const usage = '"usageMetadata": {"promptTokenCount": 7,"candidatesTokenCount": 5,"totalTokenCount": 12}';

const chunk = (parts: string, reason = ''): string =>
  `{"candidates": [{"content": {"parts": [${parts}],"role": "model"}${reason},"index": ` +
  `0}],${usage},"modelVersion": "gemini-3-flash-preview","responseId": "r1"}`;

const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];

interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let reply: { readonly type: string; readonly body: string };
const asked: Asked[] = [];
let vendor: Served;
let harness: Harness;

beforeAll(async () => {
  vendor = await serve(
    createServer(async (request, response) => {
      const body = Buffer.concat(await Array.fromAsync(request)).toString();
      asked.push({ path: request.url ?? '', headers: request.headers, body });
      response.writeHead(200, { 'content-type': reply.type }).end(reply.body);
    }),
  );
  harness = await openHarness({
    plugins: [googleApiKey(), generateContent(), google({ apiKey: 'googles-key', baseUrl: vendor.origin })],
  });
});

function post(path: string, body: unknown): Promise<Response> {
  return fetch(`${harness.gateway.url}/beta/v1beta/models/${path}`, {
    method: 'POST',
    headers: { 'x-goog-api-key': harness.key },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

it('Google clients and providers exchange all bytes but the model name, and no client header', async () => {
  const said = chunk('{"text": "Hé","n":1.0}', ',"finishReason": "STOP"');
  reply = { type: 'application/json; charset=UTF-8', body: said };
  const body =
    '{ "contents" : [{"parts":[{"text":"caf\\u00e9","x":1.0}]}] ,"generation_config":{ "top_k": 1.0 }}';
  const response = await post(`${model}:generateContent?alt=json&key=x`, body);
  expect(await response.text()).toBe(said.replace('"gemini-3-flash-preview"', JSON.stringify(model)));
  expect(asked).toMatchObject([
    {
      path: '/v1beta/models/gemini-3-flash-preview:generateContent',
      body,
      headers: { 'x-goog-api-key': 'googles-key' },
    },
  ]);
  expect(JSON.stringify(asked)).not.toContain(harness.key);
});

it('Google clients and providers exchange all bytes of a stream but the model name', async () => {
  const said = [chunk('{"text": "Ah"}'), chunk('{"text": "oy"}', ',"finishReason": "STOP"')]
    .map((each) => `data: ${each}\r\n\r\n`)
    .join('');
  reply = { type: 'text/event-stream', body: said };
  const response = await post(`${model}:streamGenerateContent?alt=sse`, { contents });
  expect(await response.text()).toBe(said.replaceAll('"gemini-3-flash-preview"', JSON.stringify(model)));
});

it.each([
  ['streamGenerateContent?alt=sse', /^data: \{.*"Ah".*\r\n\r\ndata: \{"error":\{"code":503/s],
  ['streamGenerateContent', /^\[\{.*"Ah".*\},\r\n\{"error":\{"code":503.*\}\]$/s],
])('a cut stream ends with an error and never looks complete, requested by %s', async (method, expected) => {
  reply = { type: 'text/event-stream', body: `data: ${chunk('{"text": "Ah"}')}\r\n\r\n` };
  const text = await (await post(`${model}:${method}`, { contents })).text();
  expect(text).toMatch(expected);
  expect(text).not.toContain('finishReason');
});

it.each([
  ['google/none:generateContent', contents, 404, { error: { code: 404, status: 'NOT_FOUND' } }],
  [
    `${model}:streamGenerateContent`,
    [],
    400,
    [{ error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringContaining('"contents"') } }],
  ],
])(
  "a wrong call of %s with %j gets a %i in Google's format, as an array if the stream were one",
  async (...row) => {
    const [path, asked, status, error] = row;
    const response = await post(path, { contents: asked });
    expect([response.status, await response.json()]).toMatchObject([status, error]);
  },
);

it("a client of another provider's model is told of losses by its own field names", async () => {
  harness.vendor.script('gpt-4o-mini', { text: ['Hi.'] });
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

it.each([
  ['generateContent', { cachedContent: 'cachedContents/x' }, 400, 'INVALID_ARGUMENT', /cachedContent/],
  ...['embedContent', 'batchGenerateContent'].map(
    (method) =>
      [
        method,
        {},
        404,
        'NOT_FOUND',
        new RegExp(`${method}: .* the methods generateContent, streamGenerateContent, countTokens.$`),
      ] as const,
  ),
] as const)(
  "a call of %s with %j to another provider's model gets a %i in Google's format that says why",
  async (method, fields, status, word, message) => {
    const response = await post(`openai/gpt-4o-mini:${method}`, { contents, ...fields });
    expect([response.status, await response.json()]).toMatchObject([
      status,
      { error: { code: status, status: word, message: expect.stringMatching(message) } },
    ]);
  },
);
