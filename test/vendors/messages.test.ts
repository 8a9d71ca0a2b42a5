/** The fake Anthropic accepts, refuses and replies as the real one does, with the same error messages. */
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callerOf, eventsOf, type Caller } from '../support/vendor/call.ts';
import { pixel } from '../support/vendor/improvise.ts';
import { messagesRefusals, startMessagesVendor, type MessagesRequest } from '../support/vendor/messages.ts';
import type { Stage } from '../support/vendor/stage.ts';

const model = 'claude-sonnet-4-5';
const user = { role: 'user', content: 'Hello!' };
const good = { model, max_tokens: 100, messages: [user] };
const tool = { name: 'find', input_schema: { type: 'object', properties: {} } };
const use = (id: string, more: object = {}) => ({ type: 'tool_use', id, name: 'find', input: {}, ...more });
const result = (id: string, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'x',
  ...more,
});
const assistant = (...content: object[]) => ({ role: 'assistant', content });
const answers = (...content: object[]) => ({ role: 'user', content });
const said = (...messages: object[]) => ({ messages: [user, ...messages] });
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more });
const mark = (ttl?: string) => ({ cache_control: { type: 'ephemeral', ...(ttl ? { ttl } : {}) } });
const image = (source: object) => said(answers({ type: 'image', source }));
const schema = (facts: object) => ({ output_config: { format: { type: 'json_schema', schema: facts } } });

let vendor: Stage<MessagesRequest>;
let call: Caller;
beforeAll(async () => {
  vendor = await startMessagesVendor({ models: { 'claude-ahead': { fields: ['new_field'] } } });
  call = callerOf(vendor, '/v1/messages', { 'x-api-key': vendor.key, 'anthropic-version': '2023-06-01' });
});
afterEach(() => vendor.unscript());
afterAll(() => vendor.close());

/** Changes to a valid request, with the message of the 400. */
const bad: Record<string, [change: object, message: string | RegExp]> = {
  'no max_tokens': [{ max_tokens: undefined }, 'max_tokens: Field required'],
  'no messages': [{ messages: [] }, 'messages: List should have at least 1 item after validation'],
  'an unknown field': [{ provider: { order: [] } }, 'provider: Extra inputs are not permitted'],
  'a field of chat-completions': [{ n: 1 }, 'n: Extra inputs are not permitted'],
  'an unknown field of a message': [
    { messages: [{ ...user, name: 'Ann' }] },
    'messages.0.name: Extra inputs are not permitted',
  ],
  'an unknown field of a block': [
    said(answers(text('a', { at: 1 }))),
    /^messages\.1\.content\.0\.at: Extra inputs/,
  ],
  'an unknown field of a tool': [
    { tools: [{ ...tool, parameters: {} }] },
    /^tools\.0\.parameters: Extra inputs/,
  ],
  'a field of a beta that was not named': [
    { context_management: {} },
    'context_management: Extra inputs are not permitted',
  ],
  'max_tokens as text': [{ max_tokens: '5' }, 'max_tokens: Input should be a valid number'],
  'more tokens than the model has': [
    { max_tokens: 64_001 },
    `max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for ${model}`,
  ],
  'a temperature above one': [{ temperature: 1.5 }, 'temperature: Input should be less than or equal to 1'],
  'temperature beside top_p': [{ temperature: 0.5, top_p: 0.5 }, /cannot both be specified/],
  'a temperature for a model that takes none': [
    { model: 'claude-sonnet-5', temperature: 0.5 },
    /`temperature` is not supported/,
  ],
  'top_k for a model that takes none': [{ model: 'claude-sonnet-5', top_k: 5 }, /`top_k` is not supported/],
  'an unknown role': [{ messages: [{ role: 'tool', content: 'x' }] }, /^messages\.0\.role: /],
  'an assistant turn first': [
    { messages: [assistant(text('a'))] },
    'messages: first message must use the "user" role',
  ],
  'a system message between turns': [
    said(assistant(text('a')), { role: 'system', content: 'x' }, user),
    "messages.2.role: Input should be 'user' or 'assistant'",
  ],
  'an empty text block': [said(answers(text(''))), 'messages: text content blocks must be non-empty'],
  'a text block of spaces': [
    said(answers(text(' \n'))),
    'messages: text content blocks must contain non-whitespace text',
  ],
  'an empty text in a tool result': [
    said(assistant(use('a')), answers(result('a', { content: [text('')] }))),
    'messages: text content blocks must be non-empty',
  ],
  'a message without content': [
    { messages: [{ role: 'user', content: [] }] },
    /^messages\.0: all messages must have non-empty content/,
  ],
  'a prefill for a model that takes none': [
    { model: 'claude-opus-4-6', ...said(assistant(text('a'))) },
    /does not support assistant message prefill/,
  ],
  'a prefill that ends in a space': [
    said(assistant(text('a '))),
    'messages: final assistant content cannot end with trailing whitespace',
  ],
  'a tool id longer than 64': [
    said(assistant(use('x'.repeat(65))), answers(result('x'.repeat(65)))),
    /^messages\.1\.content\.0\.id: String should have at most 64/,
  ],
  'a tool id outside the charset': [
    said(assistant(use('call.1')), answers(result('call.1'))),
    "messages.1.content.0.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  ],
  'a call without a result': [
    said(assistant(use('a'), use('b')), answers(result('a'))),
    /^messages\.1: `tool_use` ids were found without `tool_result` blocks immediately after: b\./,
  ],
  'a call without a result at the end': [
    said(assistant(use('a'))),
    /ids were found without `tool_result` blocks/,
  ],
  'a result without a call': [
    said(answers(result('a'))),
    /unexpected `tool_use_id` found in `tool_result` blocks: a/,
  ],
  'a result one turn late': [
    said(assistant(use('a')), user, assistant(text('b')), answers(result('a'))),
    /^messages\.1: `tool_use` ids/,
  ],
  'a result given twice': [
    said(assistant(use('a')), answers(result('a'), result('a'))),
    /must have a single result/,
  ],
  'a result after a text': [said(assistant(use('a')), answers(text('so'), result('a'))), /must come first/],
  'two calls of one id': [
    said(assistant(use('a')), answers(result('a')), assistant(use('a')), answers(result('a'))),
    /ids must be unique/,
  ],
  'an error with an image': [
    said(
      assistant(use('a')),
      answers(
        result('a', {
          is_error: true,
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } }],
        }),
      ),
    ),
    /all content must be type `text` if `is_error` is true/,
  ],
  'arguments as text': [
    said(assistant(use('a', { input: '{}' })), answers(result('a'))),
    'messages.1.content.0.input: Input should be a valid dictionary',
  ],
  'a forged signature': [
    said(
      assistant(
        { type: 'thinking', thinking: 'Hm.', signature: Buffer.from('forged').toString('base64') },
        text('a'),
      ),
      user,
    ),
    'messages.1.content.0: Invalid `signature` in `thinking` block',
  ],
  'forged redacted thinking': [
    said(assistant({ type: 'redacted_thinking', data: 'AAAA' }, text('a')), user),
    'messages.1.content.0: Invalid `data` in `redacted_thinking` block',
  ],
  'thoughts without a signature': [
    said(assistant({ type: 'thinking', thinking: 'Hm.' }, text('a')), user),
    'messages.1.content.0.signature: Field required',
  ],
  'a tool loop that lost its thoughts': [
    {
      thinking: { type: 'enabled', budget_tokens: 1024 },
      max_tokens: 2000,
      ...said(assistant(use('a')), answers(result('a'))),
    },
    /^messages\.1\.content\.0\.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`/,
  ],
  'a budget below the least': [
    { thinking: { type: 'enabled', budget_tokens: 1000 }, max_tokens: 2000 },
    'thinking.budget_tokens: Input should be greater than or equal to 1024',
  ],
  'a budget as large as the limit': [
    { thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 2000 },
    /^`max_tokens` must be greater than `thinking\.budget_tokens`/,
  ],
  'a forced tool while thinking': [
    {
      thinking: { type: 'enabled', budget_tokens: 1024 },
      max_tokens: 2000,
      tools: [tool],
      tool_choice: { type: 'any' },
    },
    'Thinking may not be enabled when tool_choice forces tool use.',
  ],
  'a temperature while thinking': [
    { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000, temperature: 0.5 },
    /may only be set to 1 when thinking is enabled/,
  ],
  'a budget for a model that thinks by itself': [
    { model: 'claude-sonnet-5', thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000 },
    /^`thinking\.type\.enabled` is not supported/,
  ],
  'adaptive thinking for a model with a budget': [
    { thinking: { type: 'adaptive' } },
    'adaptive thinking is not supported on this model',
  ],
  'thinking off for a model that always thinks': [
    { model: 'claude-fable-5', thinking: { type: 'disabled' } },
    /disabled` is not supported/,
  ],
  'an effort the model does not have': [
    { model: 'claude-opus-4-6', output_config: { effort: 'xhigh' } },
    "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
  ],
  'an effort for a model without': [
    { output_config: { effort: 'low' } },
    'This model does not support the effort parameter.',
  ],
  'five cache marks': [
    { messages: [answers(...['a', 'b', 'c', 'd', 'e'].map((word) => text(word, mark())))] },
    'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  ],
  'a mark of an hour after one of minutes': [
    { messages: [answers(text('a', mark()), text('b', mark('1h')))] },
    /must not come after a ttl='5m'/,
  ],
  'a lifetime that does not exist': [
    { messages: [answers(text('a', mark('2h')))] },
    "messages.0.content.0.cache_control.ttl: Input should be '5m' or '1h'",
  ],
  'a mark on thoughts': [
    said(assistant({ type: 'thinking', thinking: 'a', signature: 'a', ...mark() }, text('a')), user),
    /cache_control: Extra inputs/,
  ],
  'base64 of the other alphabet': [
    image({ type: 'base64', media_type: 'image/png', data: '_-8=' }),
    /Invalid base64 data/,
  ],
  'base64 with its prefix': [
    image({ type: 'base64', media_type: 'image/png', data: `data:image/png;base64,${pixel}` }),
    /Invalid base64 data/,
  ],
  'a picture under another name': [
    image({ type: 'base64', media_type: 'image/jpeg', data: pixel }),
    /the image appears to be a image\/png image/,
  ],
  'a picture that is none': [
    image({ type: 'base64', media_type: 'image/png', data: 'AAAA' }),
    /Could not process image/,
  ],
  'a picture of another kind': [
    image({ type: 'base64', media_type: 'image/tiff', data: pixel }),
    /media_type: Input should be 'image\/jpeg'/,
  ],
  'a picture without TLS': [
    image({ type: 'url', url: 'http://example.com/a.png' }),
    /url: String should match/,
  ],
  'a document that is no PDF': [
    said(
      answers({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } }),
    ),
    /The PDF specified was not valid/,
  ],
  'an image by the assistant': [
    said(assistant({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }), user),
    /messages\.1\.content\.0/,
  ],
  'a tool name with a dot': [
    { tools: [{ ...tool, name: 'a.b' }] },
    /^tools\.0\.name: String should match pattern/,
  ],
  'two tools of one name': [{ tools: [tool, tool] }, 'tools: Tool names must be unique.'],
  'a tool whose schema is no object': [
    { tools: [{ name: 'f', input_schema: { type: 'string' } }] },
    "tools.0.input_schema.type: Input should be 'object'",
  ],
  'a tool without a schema': [{ tools: [{ name: 'f' }] }, /^tools\.0\.input_schema: Field required/],
  'a schema that is a choice': [
    { tools: [{ name: 'f', input_schema: { type: 'object', anyOf: [] } }] },
    /does not support oneOf, allOf, or anyOf at the top level/,
  ],
  'a strict tool left open': [
    { tools: [{ ...tool, strict: true }] },
    /'additionalProperties' must be explicitly set to false/,
  ],
  'a choice without tools': [
    { tool_choice: { type: 'auto' } },
    /may only be specified while providing tools/,
  ],
  'a choice of a tool that is not there': [
    { tools: [tool], tool_choice: { type: 'tool', name: 'g' } },
    "Tool 'g' not found in provided tools",
  ],
  'a parallel switch where no tool may be called': [
    { tools: [tool], tool_choice: { type: 'none', disable_parallel_tool_use: true } },
    /disable_parallel_tool_use: Extra inputs/,
  ],
  'an answer schema left open': [
    schema({ type: 'object', properties: {} }),
    /^output_config\.format\.schema: For 'object' type, 'additionalProperties'/,
  ],
  'an answer schema with a range': [
    schema({
      type: 'object',
      properties: { a: { type: 'integer', minimum: 1 } },
      additionalProperties: false,
    }),
    /properties minimum are not supported/,
  ],
  'an answer schema for an old model': [
    { model: 'claude-sonnet-4-0', ...schema({ type: 'object', additionalProperties: false }) },
    /not supported by this model/,
  ],
  'a stop sequence of spaces': [{ stop_sequences: ['\n'] }, /must contain non-whitespace/],
  'more than the model holds': [
    { messages: [{ role: 'user', content: 'a '.repeat(200_001) }] },
    /^prompt is too long: \d+ tokens > 200000 maximum/,
  ],
};

describe('the fake Anthropic, asked something wrong', () => {
  it.each(Object.entries(bad))('refuses %s', async (_, [change, message]) => {
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
  });

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

describe('the fake Anthropic, asked something unusual', () => {
  it('accepts unknown betas, the fields of known betas, and fields of a newer model', async () => {
    const headers = { 'anthropic-beta': 'no-such-thing-2027-01-01,context-management-2025-06-27' };
    expect(await call({ ...good, context_management: { edits: [] } }, { headers })).toMatchObject({
      status: 200,
    });
    expect(await call({ ...good, model: 'claude-ahead', new_field: 1 })).toMatchObject({ status: 200 });
  });

  it('accepts a key as a bearer token, and the query that old SDKs add', async () => {
    expect(
      await call(good, {
        path: '/v1/messages?beta=true',
        headers: { 'x-api-key': '', authorization: `Bearer ${vendor.key}` },
      }),
    ).toMatchObject({ status: 200 });
  });

  it('accepts consecutive messages of one role, with tool results in several of them', async () => {
    const request = said(
      assistant(text('a')),
      assistant(use('a'), use('b')),
      answers(result('b')),
      answers(result('a')),
      user,
    );
    expect(await call({ ...good, ...request })).toMatchObject({ status: 200 });
  });

  it('accepts system messages between turns if the model does', async () => {
    expect(
      await call({
        ...good,
        model: 'claude-opus-4-8',
        ...said(assistant(text('a')), { role: 'system', content: 'x' }, user),
      }),
    ).toMatchObject({ status: 200 });
  });
});

describe('the fake Anthropic, asked something right', () => {
  const client = (): Anthropic => new Anthropic({ apiKey: vendor.key, baseURL: vendor.url, maxRetries: 0 });
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
    const whole = await client().messages.create({ ...thinking, messages: [question], tools });
    const streamed = await client()
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
      const second = await client().messages.create({ ...thinking, tools, messages });
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
    const { content } = await client().messages.create({ ...thinking, messages: [question] });
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

  it('streams the events of Anthropic in their order', async () => {
    vendor.script(model, { text: ['a', 'b'], toolCalls: [{ name: 'f' }] });
    const { text: stream, headers } = await call({ ...good, stream: true });
    const events = eventsOf(stream);
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(events.map(({ name }) => name)).toEqual([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(events.every(({ name, data }) => JSON.parse(data).type === name)).toBe(true);
    // Empty arguments are one empty delta.
    expect(JSON.parse(events[7]?.data ?? '')).toMatchObject({
      delta: { type: 'input_json_delta', partial_json: '' },
    });
  });

  it('leaves a call unfinished that the output limit cut', async () => {
    vendor.script(model, { toolCalls: [{ name: 'f', arguments: ['{"a"', ':1', '}'] }] });
    const events = eventsOf((await call({ ...good, max_tokens: 3, stream: true })).text);
    expect(events.map(({ name }) => name)).not.toContain('content_block_stop');
    expect(JSON.parse(events.at(-2)?.data ?? '')).toMatchObject({
      delta: { stop_reason: 'max_tokens' },
      usage: { output_tokens: 3 },
    });
  });

  it('reports why it stopped', async () => {
    const ends = async (change: object): Promise<unknown> => (await call({ ...good, ...change })).json();
    expect(await ends({ max_tokens: 2 })).toMatchObject({
      stop_reason: 'max_tokens',
      content: [{ text: 'Hello from' }],
    });
    expect(await ends({ stop_sequences: ['this', ', '] })).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: ', ',
      content: [{ text: `Hello from ${model}` }],
    });
    vendor.script(model, { refusal: 'I would rather not.' });
    expect(await ends({})).toMatchObject({ stop_reason: 'refusal', stop_details: { type: 'refusal' } });
  });

  it('replies with a search, its results and their citations', async () => {
    const { content, usage } = await client()
      .messages.stream({
        ...good,
        messages: [question],
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      })
      .finalMessage();
    expect(content).toMatchObject([
      { type: 'server_tool_use', name: 'web_search', input: { query: 'high water' } },
      { type: 'web_search_tool_result', content: [{ url: 'https://tides.example/whitby' }] },
      {
        type: 'text',
        text: 'High water is at 14:05',
        citations: [{ type: 'web_search_result_location', url: 'https://tides.example/whitby' }],
      },
      { type: 'text', text: ', says the harbour.' },
    ]);
    expect(usage.server_tool_use).toMatchObject({ web_search_requests: 1 });
  });

  it('reports input tokens without the cached ones', async () => {
    const request = {
      ...good,
      system: [text('one two three', mark('1h'))],
      messages: [answers(text('four five', mark()), text('six'))],
    };
    const usage = async (): Promise<unknown> => (await call(request)).json();
    const first = await usage();
    const creation = {
      ephemeral_1h_input_tokens: expect.any(Number),
      ephemeral_5m_input_tokens: expect.any(Number),
    };
    expect(first).toMatchObject({ usage: { cache_read_input_tokens: 0, cache_creation: creation } });
    expect(await usage()).toMatchObject({
      usage: { cache_creation_input_tokens: 0, cache_read_input_tokens: expect.any(Number) },
    });
    expect(vendor.journal.at(-1)?.billed?.prompt).toBe(vendor.journal.at(-2)?.billed?.prompt);
  });

  it('sends an error in the middle of a stream, and nothing after it', async () => {
    vendor.script(model, { text: ['a', 'b'], fail: { after: 4 } });
    const events = eventsOf((await call({ ...good, stream: true })).text);
    expect(events.at(-1)).toMatchObject({
      name: 'error',
      data: expect.stringContaining('"overloaded_error"'),
    });
    expect(events).toHaveLength(5);
  });
});
