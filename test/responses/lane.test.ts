/** The verbatim lane of this protocol over real sockets, with a vendor that sends what each test scripts. */
import { createServer } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { xai } from '../../plugins/providers/xai.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { serve, type Served } from '../support/serve.ts';

interface Said {
  readonly type: string;
  readonly body: string;
}

let gateway: TestGateway;
let vendor: Served;
let key = '';
let says: Said = { type: 'application/json', body: '{}' };

beforeAll(async () => {
  vendor = await serve(
    createServer(async (request, response) => {
      await Array.fromAsync(request);
      response.writeHead(200, { 'content-type': says.type }).end(says.body);
    }),
  );
  gateway = await startGateway({
    plugins: [
      bearer(),
      responses(),
      ...[openai, xai].map((provider) => provider({ apiKey: 'sk-vendor', baseUrl: `${vendor.origin}/v1` })),
      balance({ firstCredit: '0' }),
    ],
  });
  key = await gateway.newKey({ account: 'tester', credit: '5' });
});

async function post(body: string): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

const response = (status: string, more: object = {}): object => ({
  response: { id: 'resp_1', object: 'response', model: 'gpt-4.1-2025-04-14', status, output: [], ...more },
});
const begun = event('response.created', response('in_progress'));
const said = event('response.output_text.delta', {
  output_index: 0,
  content_index: 0,
  delta: 'café "model":"x"',
});
const usage = { usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } };
const completed = event('response.completed', response('completed', usage));
const done = 'data: [DONE]\n\n';
const renameModel = (text: string): string => text.replaceAll('gpt-4.1-2025-04-14', 'openai/gpt-4.1');
const call =
  '{ "model":"openai/gpt-4.1" , "stream":true, "input":"Ahoy", "provider":{"order":["openai"]}, "x": 1.0 }';

describe('a verbatim stream', () => {
  it.each([
    ['without [DONE], as OpenAI sends it', begun + said + completed],
    ['with [DONE], as other providers do', begun + said + completed + done],
    ['with more events after its end', begun + said + completed + completed + done + done],
    ['whose last blank line is missing', (begun + said + completed).trimEnd()],
  ])('ends with [DONE] once: %s', async (_, body) => {
    says = { type: 'text/event-stream', body };
    const { text } = await post(call);
    expect(text).toBe(renameModel(begun + said + completed) + done);
  });

  it.each([
    ['rate_limit_exceeded', 429, 'rate_limit_exceeded'],
    ['invalid_prompt', 400, 'invalid_prompt'],
  ])('that begins with an error gets the status of the error: %s', async (code, status, sentCode) => {
    says = {
      type: 'text/event-stream',
      body:
        event('response.created', response('in_progress')) +
        event('error', { error: { type: 'some', code, message: 'No.', param: null } }),
    };
    const refused = await post('{"model":"openai/gpt-4.1","input":"Hi","stream":true}');
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([status, { error: { code: sentCode } }]);
  });

  it('with the status incomplete counts as complete, because the provider ended it on purpose', async () => {
    const incomplete = event(
      'response.incomplete',
      response('incomplete', { incomplete_details: { reason: 'max_output_tokens' }, ...usage }),
    );
    says = { type: 'text/event-stream', body: begun + said + incomplete };
    expect((await post(call)).text).toBe(renameModel(begun + said + incomplete) + done);
  });

  it('that breaks off ends with an error and a failed response', async () => {
    says = { type: 'text/event-stream', body: begun + said };
    const { text } = await post(call);
    expect(text.startsWith(renameModel(begun + said))).toBe(true);
    const [error = '', failed = '', ...rest] = text.slice(renameModel(begun + said).length).split('\n\n');
    expect(error).toMatch(/^event: error\ndata: .*"error":\{/);
    expect(failed).toMatch(/^event: response.failed\ndata: .*"status":"failed"/);
    expect(rest).toEqual(['data: [DONE]', '']);
  });
});

describe("a stream that fails because of the client's input", () => {
  const flagged = event(
    'response.failed',
    response('failed', { error: { code: 'invalid_prompt', message: 'The prompt was flagged.' } }),
  );

  it("is refused with the provider's message if no output was sent, and asks for no retry", async () => {
    says = { type: 'text/event-stream', body: begun + flagged };
    const { status, text, headers } = await post(call);
    expect([status, headers.get('x-should-retry')]).toEqual([400, 'false']);
    expect(JSON.parse(text)).toEqual({
      error: {
        type: 'invalid_request_error',
        code: 'invalid_prompt',
        message: 'The prompt was flagged.',
        param: null,
      },
    });
  });

  it("ends with the provider's error code if output was sent", async () => {
    says = { type: 'text/event-stream', body: begun + said + flagged };
    expect((await post(call)).text).toContain(
      '"error":{"code":"invalid_prompt","message":"The prompt was flagged."}',
    );
  });
});

it('refuses a stream that fails with a rate limit with the status of a rate limit', async () => {
  says = {
    type: 'text/event-stream',
    body:
      begun +
      event(
        'response.failed',
        response('failed', { error: { code: 'rate_limit_exceeded', message: 'Slow down.' } }),
      ),
  };
  const { status, text, headers } = await post(call);
  expect([status, headers.get('x-should-retry')]).toEqual([429, null]);
  expect(JSON.parse(text)).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
});

it.each([true, false])(
  'a verbatim call to a provider whose ids have no prefix gets an id with one, streamed or not: %s',
  async (stream) => {
    const named = {
      id: '25de2f84-163c-6e9e-e42e-cd1dbd6f9ed0',
      object: 'response',
      model: 'grok-4.3',
      created_at: 1,
    };
    const item = {
      id: 'msg_25de2f84',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Ahoy', annotations: [] }],
    };
    const whole = {
      ...named,
      status: 'completed',
      output: [item],
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    };
    const events = [
      { type: 'response.created', response: { ...named, status: 'in_progress', output: [] } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: whole },
    ];
    says = stream
      ? {
          type: 'text/event-stream',
          body: events.map(({ type, ...fields }) => event(type, fields)).join(''),
        }
      : { type: 'application/json', body: JSON.stringify(whole) };
    const { text } = await post(JSON.stringify({ model: 'xai/grok-4.3', input: 'Ahoy', stream }));
    expect(text).not.toContain(named.id);
    expect(text).toMatch(/"id":"resp_[0-9a-f]{32}"/);
    expect(text).toContain('"text":"Ahoy"');
  },
);
