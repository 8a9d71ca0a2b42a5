import { beforeAll, describe, expect, it } from 'vitest';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { mistral } from '../../plugins/providers/mistral.ts';
import { chunk } from '../support/chat-stream.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { readGolden } from '../support/golden.ts';
import { isObject } from '../support/json.ts';
import { readData } from '../support/listen.ts';
import { openOneReply, type OneReply } from '../support/one-reply.ts';
import { postJson } from '../support/post.ts';
import { withCounts } from '../support/rates.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { small } from './strict.ts';

describe('a stream from Mistral', () => {
  const known = new Set([
    'model',
    'messages',
    'stream',
    'max_tokens',
    'random_seed',
    'temperature',
    'tools',
    'tool_choice',
  ]);
  let pieces = ['Hm.'];
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const user = { role: 'user', content: 'Ahoy' };
  let vendor: ScriptedVendor;
  let gateway: TestGateway;
  let calls = 0;

  beforeAll(async () => {
    vendor = await startScriptedVendor((response, _, body) => {
      const sent: { messages: readonly { role: string; prefix?: boolean }[] } = JSON.parse(body);
      const last = sent.messages.at(-1);
      if (last?.role === 'assistant' && last.prefix !== true)
        return void response.writeHead(400).end(
          JSON.stringify({
            object: 'error',
            type: 'invalid_request_message_order',
            message: 'Expected last role User or Tool (or Assistant with prefix True) for serving.',
          }),
        );
      const strange = Object.keys(sent).find((field) => !known.has(field));
      if (strange !== undefined)
        return void response.writeHead(422).end(
          JSON.stringify({
            detail: [
              { type: 'extra_forbidden', loc: ['body', strange], msg: 'Extra inputs are not permitted' },
            ],
          }),
        );
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(
          `${pieces.map((content) => chunk({ role: 'assistant', content })).join('')}` +
            `${chunk({ content: '' }, 'stop', { usage })}data: [DONE]\n\n`,
        );
    });
    gateway = await startGateway({
      plugins: [
        bearer(),
        chatCompletions(),
        messages(),
        mistral({ apiKey: 'k', baseUrl: `${vendor.origin}/v1` }),
        balance({ firstCredit: '0' }),
      ],
    });
  });

  async function ask(path: string, fields: object): Promise<Response> {
    const made: unknown = await gateway.verb('keys create', [], { account: 'ann', credit: '5' });
    return await postJson(
      gateway.url + path,
      { model: small.id, messages: [user], stream: true, ...fields },
      {
        authorization: `Bearer ${isObject(made) ? String(made.key) : ''}`,
        'anthropic-version': '2023-06-01',
      },
    );
  }

  it.each([
    ['/v1/chat/completions', { stream_options: { include_usage: true } }],
    ['/v1/chat/completions', { seed: 7 }],
    ['/alpha/v1/messages', { max_tokens: 9 }],
  ])(
    'reaches a client of %s with %j, and is charged by the usage that Mistral sends unasked',
    async (path, fields) => {
      const response = await ask(path, fields);
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Hm.')]);
      expect((await gateway.ended(++calls)).at(-1)).toMatchObject({
        charge: { basis: 'usage', uses: withCounts({ output: 4 }) },
      });
    },
  );

  it.each([
    [['{"', 'a":', '1', '}'], '1}'],
    [['{"a":1}'], '1}'],
    [['1', '}'], '1}'],
    [['{', '"b":1}'], '{"b":1}'],
    [['{"'], '{"'],
  ])('continues the answer of a client of messages without its start: %j', async (sent, shown) => {
    pieces = sent;
    const begun = { role: 'assistant', content: '{"a":' };
    const response = await ask('/alpha/v1/messages', { max_tokens: 9, messages: [user, begun] });
    const text = [...(await response.text()).matchAll(/"text_delta","text":(".*?[^\\]")/g)];
    expect([response.status, text.map(([, piece = '""']) => JSON.parse(piece)).join('')]).toEqual([
      200,
      shown,
    ]);
  });
});

describe("a chat client, when Mistral's content comes in parts", () => {
  const usual = { role: 'assistant', content: '10', reasoning_content: '1+2+3+4' };
  const events = readData(readGolden('chat-completions', 'content-parts', 'reply.sse'));
  let harness: OneReply;
  beforeAll(async () => {
    harness = await openOneReply('chat-completions');
  });

  it('gets a text and its reasoning in a whole reply', async () => {
    const reply = readGolden('chat-completions', 'content-parts', 'reply.json');
    const { text } = await harness.ask('chat-completions', reply, { stream: false });
    expect(JSON.parse(text)).toEqual({
      ...JSON.parse(reply),
      model: 'house/model',
      choices: [{ index: 0, message: usual, finish_reason: 'stop' }],
    });
  });

  it('gets them in a stream, and only these chunks differ from what Mistral sent', async () => {
    const { text, end } = await harness.ask('chat-completions', [...events, '[DONE]']);
    const chunks = readData(text);
    const deltas = ['1+2', '+3+4'].map((thought) => ({ content: '', reasoning_content: thought }));
    const expected = [{ role: 'assistant', content: '' }, ...deltas, { content: '1' }, { content: '0' }];
    expect(chunks).toEqual(
      [0, 1, 2, 3, 4].map((index) => {
        const { usage, ...rest } = events[index] ?? {};
        const finish = index === 4 ? 'stop' : null;
        const choice = { index: 0, delta: expected[index], finish_reason: finish };
        return { ...rest, model: 'house/model', choices: [choice], ...(index === 4 ? { usage } : {}) };
      }),
    );
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(end).toMatchObject({
      outcome: 'completed',
      charge: { uses: withCounts({ input: 8, output: 9 }) },
    });
  });

  it('gets every piece of text that follows in the same form', async () => {
    const part = (text: string): object => ({
      id: 'c1',
      choices: [{ index: 0, delta: { content: [{ type: 'text', text }] }, finish_reason: null }],
    });
    const last = { id: 'c1', choices: [{ index: 0, delta: { content: '' }, finish_reason: 'stop' }] };
    const pieces = ['Ahoy', ' there', ', all', ' of you.'];
    const { text } = await harness.ask('chat-completions', [...pieces.map(part), last, '[DONE]']);
    const deltas = readData(text).map(({ choices }) => {
      const [choice]: unknown[] = Array.isArray(choices) ? choices : [];
      return isObject(choice) && isObject(choice.delta) ? choice.delta.content : undefined;
    });
    expect(deltas).toEqual([...pieces, '']);
  });

  it('gets references beside the text', async () => {
    const reference = { type: 'reference', reference_ids: [3] };
    const content = [{ type: 'text', text: 'High water is at two' }, reference];
    const reply = { id: 'c1', choices: [{ index: 0, message: { content }, finish_reason: 'stop' }] };
    const { text } = await harness.ask('chat-completions', reply);
    expect(JSON.parse(text)).toMatchObject({
      choices: [{ message: { content: 'High water is at two', content_parts: [reference] } }],
    });
  });

  it('leaves log probabilities and quoted JSON as they are', async () => {
    const quoted = '{"choices":[{"index":0,"delta":{"content":"\\"content\\":[1.0]"},"finish_reason":null}]}';
    const scored =
      '{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"logprob":-1.0}]},' +
      '"finish_reason":"stop"}]}';
    const { text } = await harness.ask('chat-completions', [quoted, scored, '[DONE]']);
    expect(text).toBe(`data: ${quoted}\n\ndata: ${scored}\n\ndata: [DONE]\n\n`);
  });
});
