import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { readEvents } from '../support/vendor/call.ts';
import {
  model,
  user,
  good,
  use,
  result,
  assistant,
  answer,
  say,
  text,
  mark,
  vendor,
  call,
  useAnthropic,
} from './messages-requests.ts';

useAnthropic();

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
    const request = say(
      assistant(text('a')),
      assistant(use('a'), use('b')),
      answer(result('b')),
      answer(result('a')),
      user,
    );
    expect(await call({ ...good, ...request })).toMatchObject({ status: 200 });
  });

  it('accepts system messages between turns if the model does', async () => {
    expect(
      await call({
        ...good,
        model: 'claude-opus-4-8',
        ...say(assistant(text('a')), { role: 'system', content: 'x' }, user),
      }),
    ).toMatchObject({ status: 200 });
  });
});

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

  it('streams the events of Anthropic in their order', async () => {
    vendor.script(model, { text: ['a', 'b'], toolCalls: [{ name: 'f' }] });
    const { text: stream, headers } = await call({ ...good, stream: true });
    const events = readEvents(stream);
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
    const events = readEvents((await call({ ...good, max_tokens: 3, stream: true })).text);
    expect(events.map(({ name }) => name)).not.toContain('content_block_stop');
    expect(JSON.parse(events.at(-2)?.data ?? '')).toMatchObject({
      delta: { stop_reason: 'max_tokens' },
      usage: { output_tokens: 3 },
    });
  });

  it('reports why it stopped', async () => {
    const ask = async (change: object): Promise<unknown> => (await call({ ...good, ...change })).json();
    expect(await ask({ max_tokens: 2 })).toMatchObject({
      stop_reason: 'max_tokens',
      content: [{ text: 'Hello from' }],
    });
    expect(await ask({ stop_sequences: ['this', ', '] })).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: ', ',
      content: [{ text: `Hello from ${model}` }],
    });
    vendor.script(model, { refusal: 'I would rather not.' });
    expect(await ask({})).toMatchObject({ stop_reason: 'refusal', stop_details: { type: 'refusal' } });
  });

  it('replies with a search, its results and their citations', async () => {
    const { content, usage } = await createClient()
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
      messages: [answer(text('four five', mark()), text('six'))],
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
    const events = readEvents((await call({ ...good, stream: true })).text);
    expect(events.at(-1)).toMatchObject({
      name: 'error',
      data: expect.stringContaining('"overloaded_error"'),
    });
    expect(events).toHaveLength(5);
  });
});
