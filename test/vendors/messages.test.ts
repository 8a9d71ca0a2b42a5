/** The fake Anthropic accepts, refuses and replies as the real one does, with the same error messages. */
import Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeAll, expect, describe, it } from 'vitest';
import { readCases } from '../support/cases.ts';
import { createCaller, type Caller } from '../support/vendor/call.ts';
import { startMessagesVendor, type MessagesRequest, messagesRefusals } from '../support/vendor/messages.ts';
import type { Stage } from '../support/vendor/stage.ts';

const model = 'claude-sonnet-4-5';
const user = { role: 'user', content: 'Hello!' };
const good = { model, max_tokens: 100, messages: [user] };

/** Changes to a valid request, with the message of the 400. */
type Change = [change: object, message: string | RegExp];

let vendor: Stage<MessagesRequest>;
let call: Caller;

/** Starts the fake for the tests of a file. */
function useAnthropic(): void {
  beforeAll(async () => {
    vendor = await startMessagesVendor({ models: { 'claude-ahead': { fields: ['new_field'] } } });
    call = createCaller(vendor, '/v1/messages', {
      'x-api-key': vendor.key,
      'anthropic-version': '2023-06-01',
    });
  });
  afterEach(() => vendor.unscript());
}

/** Checks that a change to a valid request is refused. */
async function isRefused(_: string, [change, message]: Change): Promise<void> {
  const reply = await call({ ...good, ...change });
  const shown = typeof message === 'string' ? message : expect.stringMatching(message);
  expect({ status: reply.status, body: reply.json() }).toEqual({
    status: 400,
    body: {
      type: 'error',
      error: { type: 'invalid_request_error', message: shown },
      request_id: expect.stringMatching(/^req_/),
    },
  });
}

useAnthropic();

describe('the fake Anthropic, asked something right', () => {
  const createClient = (): Anthropic =>
    new Anthropic({ apiKey: vendor.key, baseURL: vendor.url, maxRetries: 0 });
  const thinking = {
    model: 'claude-opus-4-6',
    max_tokens: 2000,
    thinking: { type: 'enabled' as const, budget_tokens: 1024 },
  };
  const question = { role: 'user' as const, content: 'Where?' };
  const tools = ['find', 'count'].map((name) => ({
    name,
    input_schema: {
      type: 'object' as const,
      properties: name === 'find' ? { town: { type: 'string' } } : {},
    },
  }));

  it('calls the tools it is offered, streamed or not, and accepts its own thinking', async () => {
    const whole = await createClient().messages.create({ ...thinking, messages: [question], tools });
    const streamed = await createClient()
      .messages.stream({ ...thinking, messages: [question], tools })
      .finalMessage();
    for (const { content, stop_reason: reason } of [whole, streamed]) {
      expect({ content, reason }).toMatchObject({
        reason: 'tool_use',
        content: [
          { type: 'thinking', thinking: 'Let me think about that.' },
          { type: 'tool_use', name: 'find', input: { town: 'Whitby' } },
          { type: 'tool_use', name: 'count', input: {} },
        ],
      });
      const results = content.flatMap((block) =>
        block.type === 'tool_use'
          ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: `R ${block.name}` }]
          : [],
      );
      const messages = [
        question,
        { role: 'assistant' as const, content },
        { role: 'user' as const, content: results },
      ];
      const second = await createClient().messages.create({ ...thinking, tools, messages });
      expect(second.content.at(-1)).toMatchObject({
        type: 'text',
        text: 'find said: R find; count said: R count',
      });
    }
  });

  it.each([
    ['other words', { thinking: 'Let me think.' }],
    ['a shorter signature', (signature: string) => ({ signature: signature.slice(0, -4) })],
    [
      'a signature in the other alphabet',
      (signature: string) => ({ signature: `${signature.slice(0, -1)}_` }),
    ],
    ['a space after the signature', (signature: string) => ({ signature: `${signature} ` })],
  ])('refuses thinking with %s', async (_, change) => {
    const { content } = await createClient().messages.create({ ...thinking, messages: [question] });
    const altered = content.map((block) =>
      block.type === 'thinking'
        ? { ...block, ...(typeof change === 'function' ? change(block.signature) : change) }
        : block,
    );
    const again = { ...thinking, messages: [question, { role: 'assistant', content: altered }, question] };
    expect((await call(again)).json()).toMatchObject({
      error: { message: 'messages.1.content.0: Invalid `signature` in `thinking` block' },
    });
  });
});

const wrong: Readonly<Record<string, Change>> = {
  ...readCases<Record<string, Change>>('messages-refusals.json', import.meta.url),
  'no max_tokens': [{ max_tokens: undefined }, 'max_tokens: Field required'],
  'more than the model holds': [
    { messages: [{ role: 'user', content: 'a '.repeat(200_001) }] },
    /^prompt is too long: \d+ tokens > 200000 maximum/,
  ],
};

describe('the fake Anthropic, asked something wrong', () => {
  it.each(Object.entries(wrong))('refuses it as the real one does: %s', isRefused);

  it('refuses a model that it does not have', async () => {
    const reply = await call({ ...good, model: 'claude-sonet-4-5' });
    expect(reply).toMatchObject({ status: 404 });
    expect(reply.json()).toMatchObject({
      type: 'error',
      error: { type: 'not_found_error', message: 'model: claude-sonet-4-5' },
    });
  });

  it.each([
    [{ 'x-api-key': 'sk-other' }, 'invalid x-api-key'],
    [{ 'x-api-key': '', authorization: 'Bearer sk-other' }, 'Invalid bearer token'],
    [{ 'x-api-key': '' }, 'x-api-key header is required'],
  ])('refuses the unknown key in %j', async (headers, message) => {
    const reply = await call(good, { headers });
    expect({ status: reply.status, body: reply.json() }).toMatchObject({
      status: 401,
      body: { error: { type: 'authentication_error', message } },
    });
  });

  it.each([
    ['', 'header is required'],
    ['2024-01-01', 'is not a valid version'],
  ])('refuses the version "%s"', async (version, message) => {
    const reply = await call(good, { headers: { 'anthropic-version': version } });
    expect({ status: reply.status, text: reply.text }).toMatchObject({
      status: 400,
      text: expect.stringContaining(message),
    });
  });

  it.each(['temperature', 'top_p', 'top_k'])(
    'refuses %s for the newest models, even at its default',
    async (field) => {
      const headers = { 'anthropic-version': '2026-10-21' };
      expect((await call({ ...good, [field]: 1 }, { headers })).json()).toMatchObject({
        error: { message: `${field}: Extra inputs are not permitted` },
      });
      expect(await call(good, { headers })).toMatchObject({ status: 200 });
    },
  );

  it('refuses an output limit in a token count', async () => {
    const path = '/v1/messages/count_tokens';
    expect((await call(good, { path })).json()).toMatchObject({
      error: { message: 'max_tokens: Extra inputs are not permitted' },
    });
    expect((await call({ model, messages: [user] }, { path })).json()).toEqual({ input_tokens: 3 });
  });

  it.each(['', '[]', '{"model":', '{"model":"a","model":"b"}'])(
    'refuses a body that is not one valid JSON object: %s',
    async (body) => {
      expect(await call(body)).toMatchObject({ status: 400 });
    },
  );

  it.each(Object.entries(messagesRefusals))('refuses with the scripted reply: %s', async (_, reply) => {
    vendor.script(model, { reply });
    const { status, headers, json } = await call(good);
    expect({ status, body: json() }).toEqual({ status: reply.status, body: reply.body });
    expect(Object.fromEntries(headers)).toMatchObject(reply.headers ?? {});
  });
});
