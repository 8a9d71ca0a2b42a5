/**
 * What a provider's wire cannot express and the gateway does itself: stop sequences, answers in JSON that are
 * not an object, and conversations that are too long.
 */
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { UpstreamRequest } from '../../core/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { chunk, ending } from '../support/chat-stream.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { readGolden } from '../support/golden.ts';
import { postJson } from '../support/post.ts';
import { tappedVendor, type TappedReply } from '../support/tapped-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';

let sent: unknown[] = [];
async function startHouse(
  wire: string,
  answer: (request: UpstreamRequest) => TappedReply,
): Promise<TestGateway> {
  sent = [];
  const noteRequest = (request: UpstreamRequest): TappedReply => {
    sent.push(JSON.parse(String(request.body)));
    return answer(request);
  };
  const gateway = await startGateway({
    plugins: [
      acceptAnyKey(),
      chatCompletions(),
      responses(),
      messages(),
      generateContent(),
      tappedVendor('house', [wire], noteRequest),
    ],
  });
  onTestFinished(() => gateway.close());
  return gateway;
}

function post({ url }: TestGateway, path: string, body: object): Promise<Response> {
  return postJson(url + path, { model: 'house/model', ...body }, { 'anthropic-version': '2023-06-01' });
}

/** What the golden reply of responses says: High water at Whitby is at 05:12 … */
const replyWhole = (): TappedReply => ({ body: readGolden('responses', 'text', 'reply.json') });
const replyStreamed = (): TappedReply => ({ body: readGolden('responses', 'text', 'reply.sse') });
const question = [{ role: 'user', content: 'When is high water?' }];

it("a stop sequence ends a reply of a wire without them, with the provider's own usage", async () => {
  const gateway = await startHouse('responses', replyWhole);
  const reply = await post(gateway, '/v1/chat/completions', {
    messages: question,
    stop: [' at 05', 'never'],
  });
  const body = z
    .object({
      choices: z.array(z.object({ message: z.object({ content: z.string() }), finish_reason: z.string() })),
      usage: z.object({ completion_tokens: z.number() }),
    })
    .parse(await reply.json());
  expect(body.choices).toEqual([{ message: { content: 'High water at Whitby is' }, finish_reason: 'stop' }]);
  expect(body.usage.completion_tokens).toBe(
    z
      .object({ usage: z.object({ output_tokens: z.number() }) })
      .parse(JSON.parse(readGolden('responses', 'text', 'reply.json'))).usage.output_tokens,
  );
  expect(reply.headers.get('x-tollgate-dropped')).toBeNull();
  expect(sent[0]).not.toHaveProperty('stop');
});

it('a stop sequence ends a stream so too, and is named where the protocol can', async () => {
  const gateway = await startHouse('responses', replyStreamed);
  const reply = await post(gateway, '/alpha/v1/messages', {
    max_tokens: 90,
    stream: true,
    messages: question,
    stop_sequences: [' at 05'],
  });
  const text = await reply.text();
  const said = [...text.matchAll(/"text_delta","text":"([^"]*)"/g)].map(([, part]) => part).join('');
  expect(said).toBe('High water at Whitby is');
  expect(text).toMatch(/"stop_reason":"stop_sequence","stop_sequence":" at 05"/);
  expect(text.trimEnd()).toMatch(/"message_stop"\}$/);
});

const pieces = ['{ "ans', 'wer"', ':\n["a}"', ',', '"b"]', '\n}', '\n'];
const streamed = pieces.map((content) => chunk({ content })).join('') + chunk({}, 'stop') + ending({});
const whole = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: pieces.join('') }, finish_reason: 'stop' }],
};
const ask = { contents: [{ role: 'user', parts: [{ text: 'Which?' }] }] };
const generationConfig = {
  responseMimeType: 'application/json',
  responseSchema: { type: 'ARRAY', items: { type: 'STRING' } },
};

it.each([
  ['generateContent', JSON.stringify(whole)],
  ['streamGenerateContent?alt=sse', streamed],
])(
  'a list as the answer reaches a client of %s without the object around it, and nothing is lost',
  async (method, body) => {
    const gateway = await startHouse('chat-completions', () => ({ body }));
    const url = `${gateway.url}/beta/v1beta/models/house/model:${method}`;
    const reply = await postJson(url, { ...ask, generationConfig }, {});
    const text = await reply.text();
    const parts = [...text.matchAll(/"text":("(?:[^"\\]|\\.)*")/g)].map(([, part]) => JSON.parse(part ?? ''));
    expect(JSON.parse(parts.join(''))).toEqual(['a}', 'b']);
    expect(reply.headers.get('x-tollgate-dropped')).toBeNull();
    expect(sent[0]).toMatchObject({
      response_format: { json_schema: { schema: { type: 'object', required: ['answer'] } } },
    });
  },
);

const overflow: TappedReply = {
  status: 400,
  body:
    '{"error":{"message":"This model\'s maximum context length is 1000 tokens.",' +
    '"type":"invalid_request_error","code":"context_length_exceeded"}}',
};
const completion: TappedReply = { body: readGolden('chat-completions', 'text', 'reply.json') };

/** A conversation of `count` exchanges and a last question. */
function buildConversation(count: number): object[] {
  const turns = Array.from({ length: count }, (_, index) => [
    { role: 'user', content: `Question ${index}: ${'x'.repeat(100)}` },
    { type: 'function_call', call_id: `call_${index}`, name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: `call_${index}`, output: 'seen' },
    { role: 'assistant', content: `Answer ${index}.` },
  ]).flat();
  return [...turns, { role: 'user', content: 'And now?' }];
}

const answerUpTo =
  (characters: number) =>
  (request: UpstreamRequest): TappedReply =>
    String(request.body).length < characters ? completion : overflow;

it('too long a conversation loses its oldest exchanges if truncation is "auto"', async () => {
  const gateway = await startHouse('chat-completions', answerUpTo(1500));
  const reply = await post(gateway, '/v1/responses', {
    input: buildConversation(8),
    instructions: 'Be brief.',
    truncation: 'auto',
  });
  expect(await reply.json()).toMatchObject({ status: 'completed', truncation: 'auto' });
  expect(sent.length).toBeLessThanOrEqual(4);
  const last = z
    .object({
      messages: z.array(
        z.looseObject({
          role: z.string(),
          tool_call_id: z.string().optional(),
          tool_calls: z.array(z.object({ id: z.string() })).optional(),
        }),
      ),
    })
    .parse(sent.at(-1));
  expect(last.messages[0]).toMatchObject({ role: 'system', content: 'Be brief.' });
  expect(last.messages[1]).toMatchObject({ role: 'user' });
  const called = last.messages.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id));
  expect(last.messages.flatMap(({ tool_call_id: id }) => id ?? [])).toEqual(called);
  expect(reply.headers.get('x-tollgate-dropped')).toMatch(/^input\[0\],input\[1\]/);
  const [end] = await gateway.ended(1);
  expect(end?.losses.every(({ code }) => code === 'truncated')).toBe(true);
});

it('too long a conversation is refused if truncation is "disabled", or does not help', async () => {
  const gateway = await startHouse('chat-completions', () => overflow);
  for (const [truncation, tries] of [
    ['disabled', 1],
    ['auto', 4],
  ] as const) {
    sent = [];
    const reply = await post(gateway, '/v1/responses', { input: buildConversation(20), truncation });
    expect([reply.status, await reply.json(), sent.length]).toMatchObject([
      400,
      { error: { code: 'context_length_exceeded' } },
      tries,
    ]);
  }
});

it('too long a conversation is first sent unchanged where the protocols are the same', async () => {
  const gateway = await startHouse('responses', (request) =>
    String(request.body).length < 1500 ? replyWhole() : overflow,
  );
  const reply = await post(gateway, '/v1/responses', {
    input: buildConversation(8),
    truncation: 'auto',
    x_new: 1,
  });
  expect(reply.status).toBe(200);
  expect(sent[0]).toEqual({ model: 'm', input: buildConversation(8), truncation: 'auto', x_new: 1 });
  expect(sent.at(-1)).toMatchObject({ truncation: 'auto', x_new: 1 });
});

it('too long a conversation is not sent at all where no tokeniser could make it fit', async () => {
  const gateway = await startHouse('chat-completions', () => completion);
  const reply = await post(gateway, '/v1/chat/completions', {
    messages: [{ role: 'user', content: 'x'.repeat(17_000) }],
  });
  expect([reply.status, await reply.json(), sent]).toMatchObject([
    400,
    { error: { code: 'context_length_exceeded' } },
    [],
  ]);
});
